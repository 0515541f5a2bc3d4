"""Which kernels get variants for some grids: those that clusters divide, and those of few tile programs; what they promise."""

from functools import cache

import numpy as np
import pytest

from tests.compiled_once import compiled, once
from tests.emulated_kernels import aligned, cases
from tests.pipeline.test_variants import exported as with_arrays
from tests.pipeline.tileaa_to_tileas.test_cluster_grid import KERNELS, MULTICAST, PAIR, K, M, N
from tileiras_build.core.warning_classes import WARNINGS
from tileiras_build.driver import explain_schedule
from tileiras_build.frontend.argument_names_in_producer import PRODUCER
from tileiras_build.frontend.export_cutile import export_point, export_with_variants, pack_arguments
from tileiras_build.frontend.portable_source_names import rewrite_strings
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.drop_equal_variants import _ENTRY, _without_names
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.reports.compiler_warnings import of_tileas
from tileiras_build.reports.optimization_remarks import collect
from tileiras_build.simulate import emulator
from tileiras_build.target.targets import find_target

CLUSTERED = "__cluster2"
CHAINED = KERNELS.with_name("rotated_dots.py")


@cache
def exported():
    return once(("cluster variants", KERNELS), lambda: export_with_variants(KERNELS))


def kernels(name, sm, **options):
    return compiled(exported()[name], sm, **options).manifest["kernels"]


@pytest.mark.parametrize(
    ("name", "sm", "shared"),
    [("by_rows", "sm_90", MULTICAST), ("by_rows", "sm_100", PAIR), ("by_columns", "sm_90", MULTICAST)],
)
def test_a_variant_where_neighbours_share_loads(name, sm, shared):
    found = kernels(name, sm)
    variant = found[name + CLUSTERED]
    assert list(found) == [name + CLUSTERED, name] and variant["variant_of"] == name
    assert variant["grid"]["cluster"] == 2 and "cluster" not in found[name]["grid"]
    clustered, general = compiled(exported()[name], sm).ptx.split(".visible .entry ")[1:]
    assert shared in clustered and shared not in general


@pytest.mark.parametrize(
    ("name", "sm", "options"),
    [
        ("triangular", "sm_90", {}),  # one of both loads more tiles
        ("chosen", "sm_90", {}),  # a branch decides which tiles
        ("leaving", "sm_90", {}),  # a program may return early
        ("by_columns", "sm_100", {}),  # no pair has the same rows, and L2 does not bind
        ("by_rows", "sm_80", {}),
        ("by_rows", "sm_120", {}),  # no fast multicast
        ("by_rows", "sm_90", {"variants": 0}),
        ("by_rows", "sm_90", {"opt_level": 0}),
        ("by_rows", "sm_90", {"persistent": 1}),
        ("by_rows", "sm_90", {"schedule": '{"schedule": {"num_warps": 4}}'}),
    ],
)
def test_no_variant(name, sm, options):
    assert list(kernels(name, sm, **options)) == [name]


@cache
def by_nvcc():
    """The bytecode of ``by_rows`` as nvcc writes it: it names no arguments; launchers infer them."""
    version = b"Cuda compilation tools, release 13.5, V13.5.37"
    return rewrite_strings(exported()["by_rows"], lambda text: version if text.startswith(PRODUCER.encode()) else text)


def test_kernels_of_nvcc_have_variants_too():
    found = compiled(by_nvcc(), "sm_90").manifest["kernels"]
    assert list(found) == ["by_rows" + CLUSTERED, "by_rows"] and found["by_rows" + CLUSTERED]["variant_of"] == "by_rows"
    assert found["by_rows"]["arguments"][0] == {"name": "arg0", "kind": "array", "rank": 2, "param": 0}
    assert list(compiled(by_nvcc(), "sm_90", variants=0).manifest["kernels"]) == ["by_rows"]


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_variants_of_kernels_of_nvcc_compute_the_same(sm):
    rng = np.random.default_rng(2)
    values = [rng.integers(-3, 4, (2 * M, 2 * K)), rng.integers(-3, 4, (2 * K, N)), np.zeros((2 * M, N))]
    a, b, out = (aligned(value.astype(np.float16)) for value in values)
    memory = emulator.Memory()
    for array in (a, b, out):
        memory.map(array.ctypes.data, array.nbytes)
    parameters = pack_arguments(cases(KERNELS)["by_rows"], [a, b, out])
    emulator.launch(
        compiled(by_nvcc(), sm), "by_rows" + CLUSTERED, (2, 1, 1), parameters, memory=memory, check_races=True
    )
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


def test_the_explanation_has_both_kernels_and_the_reason():
    clustered, general = explain_schedule(exported()["by_rows"], "tilebc", Job(find_target("sm_90")))
    assert clustered["schedule"]["grid_cluster"] == 2 and clustered["cost"]["clocks"] < general["cost"]["clocks"]
    [refused] = [row for row in general["schedules"] if row["schedule"].get("grid_cluster")]
    assert "no multiple of 2" in refused["refused"] and "variants=1" in refused["remedy"]


def test_the_remark_says_what_the_cluster_is_and_only_the_kernel_has_warnings():
    text = compiled(exported()["by_rows"], "sm_90").tileas.encode()
    found = [one for one in collect(parse(text), find_target("sm_90")) if one.name == "RemarkMemoryCluster"]
    assert [(one.function, one.message) for one in found] == [
        ("by_rows" + CLUSTERED, "CTA cluster used: neighbouring tile blocks share loads")
    ]
    assert not any(CLUSTERED in one.message for one in of_tileas(text, "sm_90", tuple(WARNINGS)))


# ---- split-K ---------------------------------------------------------------------------------------
def split_kernels(data, sm, **options):
    return compiled(data, sm, **options).manifest["kernels"]


@pytest.mark.parametrize(("sm", "most"), [("sm_90", {"split4": 33, "split2": 66}), ("sm_100", {"split4": 37})])
def test_variants_for_as_many_tile_programs_as_leave_an_sm_to_each_part(sm, most):
    found = split_kernels(with_arrays()["matmul"], sm, variants=2)
    split = {name: row for name, row in found.items() if "__split" in name}
    assert list(split) == [f"matmul__aligned__{name}" for name in most]
    assert all(row["variant_of"] == "matmul" and row["cluster"] == [int(name[-1]), 1, 1] for name, row in split.items())
    for row, last in zip(split.values(), most.values()):
        few = row["grid"]["programs"][0]
        assert few["most"] == last and few["minimum"] in (512, 1024)
        assert row["params"][few["param"]]["name"] == "a_shape_1"


@pytest.mark.parametrize(("sm", "sms", "parts"), [("sm_90", 132, 2), ("sm_100", 148, 4)])
def test_variants_for_a_few_more_tile_programs_than_sms(sm, sms, parts):
    found = split_kernels(exported()["by_rows"], sm, variants=2)
    grids = found[f"by_rows__split{parts}"]["grid"]["programs"]
    [one] = [row for row in grids if row["least"] == sms + 1]
    assert one["most"] == sms * 5 // 4 and one["minimum"] > grids[0]["minimum"]


@pytest.mark.parametrize(
    ("name", "sm", "options"),
    [
        ("leaving", "sm_90", {"variants": 2}),
        ("by_rows", "sm_80", {"variants": 2}),
        ("by_rows", "sm_90", {}),
    ],
)
def test_no_split_variant(name, sm, options):
    assert not any("__split" in one for one in split_kernels(exported()[name], sm, **options))


def test_only_the_kernel_of_parts_has_warnings():
    text = compiled(with_arrays()["matmul"], "sm_90", variants=2).tileas.encode()
    assert not any("__split" in one.message for one in of_tileas(text, "sm_90", tuple(WARNINGS)))


def asked_later(ctas):
    """``by_rows`` as a launcher exports it that has variants compiled when a launch asks for them."""
    note = f'"variants": true, "later": {ctas}'.encode()
    return rewrite_strings(exported()["by_rows"], lambda text: text.replace(b'"variants": true', note))


def code(artifacts, name):
    [text] = (entry["text"] for entry in _ENTRY.finditer(artifacts.ptx) if entry["name"] == name)
    return _without_names(name, text)


def test_a_variant_that_is_compiled_later_is_the_same():
    name = "by_rows__split4"
    at_once, later = compiled(exported()["by_rows"], "sm_90", variants=2), compiled(asked_later(4), "sm_90")
    stated = compiled(asked_later(1), "sm_90").manifest["kernels"]
    [row] = later.manifest["kernels"].values()
    grid = at_once.manifest["kernels"][name]["grid"]
    assert list(later.manifest["kernels"]) == [name] and row["grid"] == grid and row["cluster"] == [4, 1, 1]
    assert stated["by_rows"]["split_k"][0] == {"ctas": 4, "programs": grid["programs"]}
    assert list(stated) == ["by_rows" + CLUSTERED, "by_rows"] and "split_k" not in stated["by_rows" + CLUSTERED]
    assert code(later, name) == code(at_once, name)


def test_no_grids_without_variants():
    assert "split_k" not in compiled(asked_later(1), "sm_90", variants=0).manifest["kernels"]["by_rows"]


# ---- query tiles at once ---------------------------------------------------------------------------
AT_ONCE = "weighted_tall__query_tiles2"


@cache
def attention(name="weighted_tall"):
    return once(("query tiles", name), lambda: export_point(CHAINED, cases(CHAINED)[name], variants=True))


def test_a_variant_for_grids_that_leave_an_sm_to_each_tile_program():
    """Its registers are those of 256 rows; the kernel has 128 rows, and another CTA beside it."""
    found = split_kernels(attention(), "sm_100")
    variant, general = found[AT_ONCE], found["weighted_tall"]
    assert variant["variant_of"] == "weighted_tall" and variant["grid"]["programs"] == [{"least": 1, "most": 148}]
    assert variant["threads_per_cta"] > general["threads_per_cta"] and "programs" not in general["grid"]


@pytest.mark.parametrize(
    ("name", "sm", "options"),
    [
        ("weighted", "sm_100", {}),  # tiles of 128 rows
        ("squared_persistent_tall", "sm_100", {}),  # both at once for all grids
        ("weighted_tall", "sm_90", {}),  # no tensor memory
        ("weighted_tall", "sm_100", {"variants": 0}),
        ("weighted_tall", "sm_100", {"schedule": '{"schedule": {"query_tiles": 1}}'}),
    ],
)
def test_no_variant_of_query_tiles(name, sm, options):
    assert not any("query_tiles" in one for one in split_kernels(attention(name), sm, **options))


@pytest.mark.parametrize("name", [AT_ONCE, "weighted_tall"])
def test_both_compute_the_same(name):
    rng = np.random.default_rng(3)
    values = (rng.integers(-1, 2, (rows, 64)).astype(np.float16) for rows in (256, 192, 192))
    q, k, v, out = map(aligned, (*values, np.full((256, 64), np.nan, np.float32)))
    memory = emulator.Memory()
    for array in (q, k, v, out):
        memory.map(array.ctypes.data, array.nbytes)
    parameters = pack_arguments(cases(CHAINED)["weighted_tall"], [q, k, v, out])
    emulator.launch(compiled(attention(), "sm_100"), name, (1, 1, 1), parameters, memory=memory, check_races=True)
    scores = np.exp(q.astype(np.float64) @ k.T)
    np.testing.assert_allclose(out, scores @ v / scores.sum(axis=1, keepdims=True), rtol=5e-3, atol=2e-3)
