"""reports/optimization_remarks.py: selections match the artifact, and every reason is a true limit."""

from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import scheduled_case
from tileiras_build.core.errors import Location
from tileiras_build.driver import lower
from tileiras_build.ir.dialects.nv_tileas.ops import ConvertLayoutOp
from tileiras_build.pipeline.analysis.axis_info import AxisAnalysis
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.reports.optimization_remarks import Remark, collect, render_text, render_yaml, select, width_limits
from tileiras_build.target.targets import TARGETS

PREBUILT = Path(__file__).resolve().parents[2] / "examples" / "prebuilt"
STORES = Path(__file__).resolve().parents[1] / "pipeline" / "tileaa_to_tileas" / "tma_stored_tiles.py"
BEHIND_A_TILE = Path(__file__).with_name("scaled_behind_a_tile.py")
SCALED = STORES.with_name("block_scaled_dots.py")
VIEWS = ("nv_tileas.tiled_load", "nv_tileas.tiled_store", "nv_tileas.async_tiled_load")


@cache
def module(name: str, sm: str, strategy: str = "unspecialize"):
    """The artifact without tensor maps, as the command in the place of ``tileiras`` makes it."""
    data = (PREBUILT / f"{name}.tilebc").read_bytes()
    return parse(lower(data, "tilebc", "tileas", Job(TARGETS[sm], strategy=strategy))[".tileas"])


def remarks(name: str, sm: str, strategy: str = "unspecialize") -> dict[str, list[Remark]]:
    found: dict[str, list[Remark]] = {}
    for remark in collect(module(name, sm, strategy), TARGETS[sm]):
        found.setdefault(remark.name, []).append(remark)
    return found


def test_a_dot_on_tensor_cores():
    (mma,) = remarks("matmul_f16_nt", "sm_80")["RemarkTensorCoreMMA"]
    assert (mma.kind, mma.category, mma.function) == ("passed", "tensorcore", "matmul_f16_nt")
    assert dict(mma.notes)["Shape"] == "[16, 8, 16]"
    assert dict(mma.notes)["Instruction"] == "Tensor-core mma.sync.aligned.m16n8k16"
    assert mma.location.file.endswith("matmul.py") and mma.location.line == 29


@pytest.mark.parametrize("sm, better", [("sm_80", None), ("sm_90", "wgmma"), ("sm_100", "tcgen05"), ("sm_120", None)])
def test_a_better_mma_that_is_not_used(sm, better):
    missed = remarks("matmul_f16_nt", sm).get("RemarkTensorCoreMMAGeneration", [])
    assert [remark.message for remark in missed] == ([f"MMA operation does not use {better}"] if better else [])


def test_control_flow_that_rules_out_better_mmas():
    found = collect(scheduled_case(BEHIND_A_TILE, "scaled", "sm_100"), TARGETS["sm_100"])
    [remark] = [remark for remark in found if remark.name == "RemarkTensorCoreMMAGeneration"]
    [_, reason] = remark.reasons
    assert "the contents of a tile (line" in reason


@pytest.mark.parametrize(
    ("attribute", "kind", "expected"),
    [("num_ctas = 2 : i32", "passed", (("CTAs", "2"),)), ('num_ctas_declined = "a print"', "missed", ("a print",))],
)
def test_the_cluster_hint(attribute, kind, expected):
    text = f"nv_tileaa.func @k attributes {{num_warps = 4 : i32, {attribute}}} {{\n  nv_tileaa.return\n}}"
    [remark] = collect(parse(text.encode()), TARGETS["sm_90"])
    assert (remark.kind, remark.category, remark.name) == (kind, "memory", "RemarkMemoryCluster")
    assert expected in (remark.notes, remark.reasons)


@pytest.mark.parametrize(
    ("attribute", "kind", "name", "expected"),
    [
        ("grid_swizzle = 8 : i32", "passed", "RemarkMemoryTileOrder", (("Rows", "8"),)),
        ("grid_reversed = 1 : i32", "passed", "RemarkMemoryTileOrder", ()),
        ('grid_swizzle_declined = "a line"', "missed", "RemarkMemoryTileOrder", ("a line",)),
        ("persistent_axes = array<i32: 0>", "passed", "RemarkMemoryPersistent", ()),
        ('persistent_declined = "storage"', "missed", "RemarkMemoryPersistent", ("storage",)),
    ],
)
def test_grid_options(attribute, kind, name, expected):
    text = f"nv_tileaa.func @k attributes {{num_warps = 4 : i32, {attribute}}} {{\n  nv_tileaa.return\n}}"
    [remark] = collect(parse(text.encode()), TARGETS["sm_90"])
    assert (remark.kind, remark.category, remark.name) == (kind, "memory", name)
    assert expected in (remark.notes, remark.reasons)


def test_what_a_warp_of_its_own_fetches_is_named():
    found = remarks("matmul_f16_nt", "sm_90", "warp-specialize")
    instructions = [dict(remark.notes)["Instruction"] for remark in found["RemarkMemoryLoadInstructionSelected"]]
    assert instructions == ["Tensor copy to shared memory (cp.async.bulk.tensor)"] * 2
    (mma,) = found["RemarkTensorCoreMMA"]
    assert dict(mma.notes)["Instruction"] == "Tensor-core wgmma.mma_async.sync.aligned"
    assert "RemarkTensorCoreMMAGeneration" not in found and "RemarkMemoryTmaLoadFailed" not in found


def test_a_stride_that_tma_cannot_rely_on():
    """fp4 whose rows are multiples of 16 elements: 8 bytes, where 32 elements would do."""
    tileas = scheduled_case(SCALED, "fp4_pairs_large", "sm_100")
    failed = [remark for remark in collect(tileas, TARGETS["sm_100"]) if remark.name == "RemarkMemoryTmaLoadFailed"]
    known = "the stride of dimension 0 is aligned to 8 bytes only; TMA requires 16"
    assert sum(known in remark.reasons for remark in failed) == 1


def test_what_tma_stores_is_named():
    tileas = scheduled_case(STORES, "f16", "sm_90")
    found = {remark.name: remark for remark in collect(tileas, TARGETS["sm_90"])}
    notes = dict(found["RemarkMemoryStoreInstructionSelected"].notes)
    assert notes["Instruction"] == "Tensor copy from shared memory (cp.async.bulk.tensor)"
    assert notes["Width"] == f"{128 * 128 * 2} bytes"
    assert "RemarkMemoryTmaStoreFailed" not in found


def test_a_dot_without_tensor_cores():
    bare = module("matmul_f16_nt", "sm_80").clone()
    for mma in [op for op in bare.walk() if op.name == "nv_tileas.dot"]:  # the last step along k is one of its own
        del mma.attributes["mma"]
    (failed,) = [remark for remark in collect(bare, TARGETS["sm_80"]) if remark.category == "tensorcore"]
    assert failed.kind == "failed"
    assert failed.reasons == ("no Tensor Core instruction for f16 x f16 -> f32 on sm_80; using FMA",)


@pytest.mark.parametrize("name", ["vector_add_f32", "matmul_f16_nt"])
def test_the_least_limit_is_the_width(name):
    views = [op for op in module(name, "sm_90").walk() if op.name in VIEWS]
    assert views
    for op in views:
        limits = width_limits(op, AxisAnalysis())
        assert min(most for most, _ in limits) == op.attributes["vector"].value.data


def test_reasons_of_a_narrow_access():
    narrow = module("vector_add_f32", "sm_90").clone()
    for op in narrow.walk():
        if op.name in VIEWS:
            op.attributes.pop("has_boundary_tile", None)
            op.attributes["vector"] = IntegerAttr(1, i32)
    found = [remark for remark in collect(narrow, TARGETS["sm_90"]) if remark.name == "RemarkMemoryVectorWidth"]
    assert {remark.message for remark in found} == {
        "Load vectorized to 4 bytes (maximum 16)",
        "Store vectorized to 4 bytes (maximum 16)",
    }
    assert all("the extent of dimension 0 has no known divisibility" in remark.reasons[0] for remark in found)


def test_accesses_that_may_end_inside_say_so():
    selected = remarks("vector_add_f32", "sm_90")["RemarkMemoryStoreInstructionSelected"]
    has_boundary_tile = [
        op
        for op in module("vector_add_f32", "sm_90").walk()
        if op.name == VIEWS[1] and "has_boundary_tile" in op.attributes
    ]
    assert ["Boundary tiles" in dict(remark.notes) for remark in selected] == [bool(has_boundary_tile)]


def test_tensor_copies_are_named_where_the_gpu_has_them():
    assert "RemarkMemoryTmaLoadFailed" not in remarks("vector_add_f32", "sm_80")
    assert len(remarks("vector_add_f32", "sm_90")["RemarkMemoryTmaLoadFailed"]) == 2


def test_conversions_say_what_they_take():
    changed = module("vector_add_f32", "sm_90").clone()
    (sum,) = [op for op in changed.walk() if op.name == "nv_tileas.addf"]
    attributes = {"scratch_bytes": IntegerAttr(512, i32), "loc": sum.attributes["loc"]}
    conversion = ConvertLayoutOp.make([[sum.results[0]]], [sum.results[0].type], attributes)
    sum.parent.insert_op_after(conversion, sum)
    (remark,) = [remark for remark in collect(changed, TARGETS["sm_90"]) if remark.kind == "analysis"]
    assert remark.notes == (("SharedBytes", "512"), ("Tiles", "1")) and remark.location.line == 20


ONE = Remark("failed", "memory", "Name", "it's: so", "k", Location("k.py", 3, 4), (("Shape", "[1, 2]"),), ("because",))
TWO = Remark("passed", "tensorcore", "Other", "fine", "k", None)


def test_text_form():
    assert render_text([ONE, TWO]).splitlines() == [
        "in function: k:",
        "",
        "  category: Memory",
        "    remark[failed]: it's: so",
        '      --> "k.py":3:4',
        "       |",
        "       = name: Name",
        "       = note: Shape = [1, 2]",
        "       = reason: because",
        "",
        "",
        "  category: Tensor-core",
        "    remark[passed]: fine",
        "       |",
        "       = name: Other",
        "",
    ]


def test_yaml_form():
    assert render_yaml([ONE, TWO]) == (
        "--- !Failure\nPass:            Memory\nName:            Name\n"
        "DebugLoc:        { File: 'k.py', Line: 3, Column: 4 }\nFunction:        k\nArgs:\n"
        "  - RemarkId:    1\n  - Remark:      'it''s: so'\n  - Shape:       '[1, 2]'\n  - Reason:      because\n...\n"
        "--- !Passed\nPass:            Tensor-core\nName:            Other\nFunction:        k\nArgs:\n"
        "  - RemarkId:    2\n  - Remark:      fine\n...\n"
    )


def test_selection():
    assert select([ONE, TWO], {"failed": ("memory",), "passed": ("memory",)}) == [ONE]
    assert select([ONE, TWO], {"passed": ("all",)}) == [TWO]
    assert select([ONE, TWO], {}) == []
