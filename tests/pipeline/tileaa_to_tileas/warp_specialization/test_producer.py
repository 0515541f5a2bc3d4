"""Scales that warps of their own load: correct results and no race, whatever a loop's length; who does it, and what proves it."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import assembled, compiled, scheduled_case
from tests.pipeline.tileaa_to_tileas.partition_orders import shuffle_partitions
from tests.pipeline.tileaa_to_tileas.scaled_operands import KERNELS, expected, operands, padded, run_any, sizes
from tileiras_build.core.errors import InternalError
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse, render
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.target import sass_listing
from tileiras_build.target.targets import TARGETS

PERSISTENT = (
    "mxfp4_bytes_persistent",
    "nvfp4_bytes_persistent",
    "nvfp4_bytes_persistent_tall",
    "nvfp4_bytes_deep",
)
ALONE = ("e4m3_grouped", "mxfp4_bytes_grouped", "nvfp4_bytes_grouped")
APART = (*PERSISTENT, *ALONE, "e4m3_triangular")


def check(name, tiles, steps, grid, sm="sm_100", more=(0, 0), seed=0):
    """The dot of so many tiles down and across, and ``more`` rows and columns, against NumPy."""
    m, n, k, _ = sizes(name)
    shape = (tiles[0] * m + more[0], tiles[1] * n + more[1], steps * k)
    a, a_scale, b, b_scale, out = operands(name, shape, seed)
    scales = padded(a_scale), padded(b_scale.T)
    given = [a, scales[0], b.T, scales[1], out] if name.startswith("e4m3") else [a, scales[0], b, scales[1].T, out]
    return run_any(name, sm, given, grid), expected(name, a, a_scale, b, b_scale)


def partitions(name, sm="sm_100"):
    [switch] = [op for op in scheduled_case(KERNELS, name, sm).walk() if op.name == "nv_tileas.agent_switch"]
    return switch.regions


# ---- results -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "steps"), [*zip(PERSISTENT, (3, 1, 7, 2)), ("mxfp4_bytes_persistent", 9)])
def test_tiles_of_one_block(name, steps):
    """The groups of one tile are seldom whole: those of the next use the stages after them."""
    found, wanted = check(name, (2, 2), steps, (1, 1, 1), seed=steps)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("sm", ["sm_103", "sm_107", "sm_110"])
def test_the_other_targets(sm):
    found, wanted = check("mxfp4_bytes_persistent", (1, 3), 3, (2, 1, 1), sm)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["mxfp4_bytes_persistent", "nvfp4_bytes_persistent_tall"])
def test_tiles_that_stick_out(name):
    found, wanted = check(name, (1, 1), 3, (1, 1, 1), more=(34, 16))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("tiles", [1, 10])
def test_loops_of_every_length(tiles):
    """Tile i has i steps: none, whole groups, and parts of one."""
    m, n, k, _ = sizes("e4m3_triangular")
    a, a_scale, b, b_scale, out = operands("e4m3_triangular", (tiles * m, n, max(tiles, 8) * k))
    given = [a, padded(a_scale), b.T, padded(b_scale.T), out]
    found = run_any("e4m3_triangular", "sm_100", given)
    for row in range(tiles):
        lines, used = slice(row * m, (row + 1) * m), row * k
        parts = a[lines, :used], a_scale[lines, : used // 32], b[:used], b_scale[: used // 32]
        np.testing.assert_array_equal(found[lines], expected("e4m3_triangular", *parts))


@pytest.mark.parametrize("steps", [1, 9])
def test_accumulators_that_start_from_a_tile(steps):
    """They are issued by a thread of those that compute, which all write the scales."""
    found, wanted = check("nvfp4_bytes_onto", (1, 1), steps, (1, 1, 1))
    np.testing.assert_array_equal(found, 7 + wanted)
    assert "copy_scales" not in compiled(KERNELS, "nvfp4_bytes_onto", "sm_100").tileas


@pytest.mark.parametrize(("name", "seed"), [("mxfp4_bytes_persistent", 0), ("nvfp4_bytes_persistent_tall", 1)])
def test_any_order_of_partitions(name, seed, monkeypatch):
    shuffle_partitions(monkeypatch, seed)
    found, wanted = check(name, (3, 1), 3, (1, 1, 1), seed=seed)
    np.testing.assert_array_equal(found, wanted)


def _tail(find, producers):
    """Where the producer partition, or one that copies scales, waits for the last stages at its end."""
    tails = find("async.pipeline.producer_tail")
    return next(tail for tail in tails if bool(tail.operands[0].owner.attributes.get("producers")) == bool(producers))


def without_fence(ptx):
    """Without what makes a copying warp's stores seen by tensor cores."""
    found, count = re.subn(r"fence\.proxy\.async\.shared::cta;(\s+//[^\n]*\s+bar\.warp\.sync)", r"\1", ptx)
    assert count == 4  # each of two warps tells of two groups
    return found


@pytest.mark.parametrize(
    ("change", "edit", "message"),
    [
        (lambda find: None, without_fence, "no fence.proxy.async before this operation"),
        (lambda find: _erase(_acquire(find)), str, "with no barrier before this write"),
        (lambda find: _erase(find("async.umma_release")[0]), str, "deadlock"),
        (lambda find: _erase(_tail(find, 0)), str, "a CTA exits before this arrives"),
        (lambda find: _erase(_tail(find, 1)), str, "a CTA exits before this arrives"),
    ],
)
def test_the_emulator_sees_what_is_missing(change, edit, message, monkeypatch):
    name = "nvfp4_bytes_persistent"
    artifacts = compiled(KERNELS, name, "sm_100")
    module = parse(artifacts.tileas.encode())
    change(lambda kind: [op for op in module.walk() if op.name == f"nv_tileas.{kind}"])
    ptx = lower(render(module), "tileas", "ptx", Job(TARGETS["sm_100"]))[".ptx"].decode()
    changed = SimpleNamespace(ptx=edit(ptx), manifest=artifacts.manifest)
    monkeypatch.setattr("tests.emulated_kernels.compiled", lambda *_: changed)
    with pytest.raises(EmulatorFault, match=message):
        check(name, (2, 1), 9, (1, 1, 1))


def test_scales_that_columns_are_short_for():
    """96 for the scales of an iteration beside 256 of the accumulator: two stages."""
    found, wanted = check("nvfp4_bytes_of_32", (1, 1), 3, (1, 1, 1))
    np.testing.assert_array_equal(found, wanted)
    copied = next(op for op in partitions("nvfp4_bytes_of_32")[1].walk() if op.name == "nv_tileas.async.copy_scales")
    assert copied.operands[0].type.stages.data == 2


def test_loops_with_and_without_groups_share_no_scales():
    found, wanted = check("mxfp4_bytes_split", (1, 1), 11, (1, 1, 1))
    np.testing.assert_array_equal(found, wanted)


# ---- who does it ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", APART)
def test_computing_warps_are_not_in_the_loop(name):
    fetch, issue, left, right, compute = partitions(name)
    names = [
        {op.name.removeprefix("nv_tileas.") for op in region.walk()} for region in (fetch, issue, left, right, compute)
    ]
    assert "async.tiled_tma_load" in names[0] and {"async.copy_scales", "async.umma"} <= names[1]
    assert all({"store_scales", "tiled_load"} <= these for these in names[2:4])
    assert not names[4] & {"tiled_load", "async.umma", "async.tiled_tma_load", "store_scales"}


@pytest.mark.parametrize("name", ["nvfp4_bytes_persistent", "e4m3_grouped"])
def test_scales_are_copied_to_tensor_memory(name):
    ptx = compiled(KERNELS, name, "sm_100").ptx
    assert "tcgen05.cp.cta_group::1.32x128b.warpx4" in ptx and "cp.async.c" not in ptx
    assert ptx.count("tcgen05.st.") <= 1  # the zeros of an accumulator of nothing
    assert ptx.count("ld.global.v4") + ptx.count("ld.global.nc.v4") > 0


def test_accumulators_of_a_loop_over_tiles_have_two_buffers():
    """Where there is no such loop, one is enough."""
    for name, buffers in (("nvfp4_bytes_persistent", 2), ("nvfp4_bytes_grouped", 1)):
        module = scheduled_case(KERNELS, name, "sm_100")
        acquired = [op for op in partitions(name)[1].walk() if op.name == "nv_tileas.async.umma_acquire"]
        assert module and acquired[0].operands[0].type.stages.data == buffers


def test_no_register_is_spilled():
    """A warp that copies has registers for what it loads; bytes stay in their words."""
    artifacts = assembled(KERNELS, "nvfp4_bytes_persistent", "sm_100")
    [listing] = sass_listing.read_listings(sass_listing.disassemble(artifacts.cubin))
    assert not listing.count(*sass_listing.SPILL) and not listing.count("PRMT")


# ---- what proves it ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*APART, "nvfp4_bytes_onto"])
def test_pipelines_are_accepted(name):
    assert verify_pipelines(scheduled_case(KERNELS, name, "sm_100")) >= 2


def broken(name, change):
    module = scheduled_case(KERNELS, name, "sm_100")
    change(lambda kind: [op for op in module.walk() if op.name == f"nv_tileas.{kind}"])
    with pytest.raises(InternalError) as error:
        verify_pipelines(module)
    return error.value.message


def _acquire(find):
    """Of the first stage that a copying warp fills."""
    return next(op for op in find("async.umma_acquire") if op.parent is find("store_scales")[0].parent)


def _erase(op):
    op.detach()
    op.erase()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda find: _erase(find("async.umma_release")[0]), "waits forever"),
        (lambda find: _erase(find("async.copy_scales")[0]), "which are not there"),
        (lambda find: _erase(find("async.pipeline.producer_commit")[0]), "filled"),
        (lambda find: _erase(_acquire(find)), "scales are written to stage 0, which is not acquired"),
        (
            lambda find: find("async.umma")[0].attributes.update(scale_steps=IntegerAttr(4, i32)),
            "which is already released",
        ),
    ],
)
def test_a_broken_ring_of_scales_is_found(change, what):
    assert what in broken("nvfp4_bytes_persistent", change)


def test_scales_that_all_threads_write_are_accepted():
    """They meet before a dot reads them, and write no place that one may read."""

    def meets(find):
        stores = [op for op in find("tmem_store") if "line_dim" in op.attributes]
        _erase(next(op for op in find("barrier") if op.parent is stores[0].parent))

    def other_parity(find):
        [turn] = [op for op in find("async.umma")[0].parent.ops if op.name == "arith.remui"]
        turn.operands[1].owner.properties["value"] = IntegerAttr(2, i32)

    assert "before all threads have written" in broken("nvfp4_bytes_onto", meets)
    assert "are overwritten while MMA" in broken("nvfp4_bytes_onto", other_parity)
