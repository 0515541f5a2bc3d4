"""Warps and CTAs per SM of kernels with several dots, by the tiles that are live at once (``analysis/peak_registers.py``)."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run, scheduled_kernel
from tileiras_build.ir.casting import as_op
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).with_name("gradient_kernels.py")
BLOCKS, ROWS, COLUMNS, WIDTH = 2, 256, 64, 64


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_two_warpgroups_share_what_exceeds_the_registers_of_one(sm):
    assert scheduled_kernel(KERNELS, "gradients", sm).num_warps == 8


def test_two_warpgroups_hold_whole_tiles_rather_than_one_a_slice_after_the_other():
    kernel = scheduled_kernel(KERNELS, "tall_gradients", "sm_90")
    assert (kernel.num_warps, schedule_of(kernel).tile_slices) == (8, None)


def test_one_warpgroup_has_tiles_that_cannot_be_sliced_while_it_holds_what_is_live_at_once():
    kernel = scheduled_kernel(KERNELS, "short_gradients", "sm_90")
    assert (kernel.num_warps, schedule_of(kernel).tile_slices) == (4, None)


def test_requested_warps_are_not_given_up_for_whole_tiles():
    tileas = compiled(KERNELS, "tall_gradients", "sm_90", schedule='{"schedule": {"num_warps": 4}}').tileas
    assert "tile_slices = 2" in tileas


@pytest.mark.parametrize("requested", [False, True])
def test_no_dot_is_an_iteration_behind_where_another_overlaps_the_conversion_of_its_left_operand(requested):
    schedule = '{"schedule": {"rotate": true}}' if requested else None
    tileas = compiled(KERNELS, "tall_gradients", "sm_90", schedule=schedule).tileas
    assert ("rotate = true" in tileas) == requested
    assert ("nv_tileas.if" in tileas) == requested  # behind the loop: the last dot of the last iteration


# One iteration behind: where threads exchange what they compute, where that overwrites scores, and where it takes less than MMAs.
@pytest.mark.parametrize(
    ("name", "is_rotated"),
    [
        ("square_gradients", True),
        ("transposed_square_gradients", True),
        ("transposed_narrow_tiles", True),
        ("transposed_narrow_tiles_of_window", False),
        ("transposed_gradients", False),
    ],
)
def test_last_dot_of_tensor_memory_is_an_iteration_behind_unless_others_overlap_its_left_operand(name, is_rotated):
    assert bool(schedule_of(scheduled_kernel(KERNELS, name, "sm_100")).rotate) == is_rotated


def test_no_second_cta_takes_registers_of_live_tiles():
    assert schedule_of(scheduled_kernel(KERNELS, "shared_sm", "sm_100")).occupancy == 1


@pytest.mark.parametrize(
    ("name", "sm"), [("gradients", "sm_90"), ("gradients", "sm_100"), ("group_gradients", "sm_100")]
)
def test_nothing_is_spilled_to_local_memory(name, sm):
    [kernel] = assembled(KERNELS, name, sm).manifest["kernels"].values()
    assert kernel["resources"]["spill_stores"] == kernel["resources"]["spill_loads"] == 0


def test_keys_and_values_stay_in_shared_memory_where_tensor_memory_is_full():
    """No dot has a slower instruction, and TMA loads what does not fit."""
    built = compiled(KERNELS, "wide_gradients", "sm_100")
    assert 'mma = ["tcgen05", "tcgen05", "tcgen05", "tcgen05"]' in built.tileas
    before_loops = built.tileas[built.tileas.index("agent_switch") :].split("nv_tileas.for")[0]
    assert before_loops.count("tiled_tma_load") == 1
    _producer, issuer, _threads = built.tileas[built.tileas.index("agent_switch") :].split("nv_tileas.for ")[1:]
    issued_ahead = re.findall(r"nv_tileas\.if [^{]*\{[^}]* lhs_stage\(", issuer)
    assert len(issued_ahead) == 1  # the scores of the next iteration


def test_computed_operands_overwrite_scores_where_accumulators_fill_tensor_memory():
    """So shared memory holds two stages of queries and output gradients beside keys and values."""
    built = compiled(KERNELS, "square_gradients", "sm_100")
    assert 'mma = ["tcgen05", "tcgen05", "tcgen05", "tcgen05"], mma_warp = true, num_stages = 2' in built.tileas
    assert "parts = 2 : i32" in built.tileas


@pytest.mark.parametrize(
    ("name", "sm"),
    [("query_gradients", "sm_100"), ("narrow_query_gradients", "sm_100"), ("narrow_query_gradients", "sm_90")],
)
def test_a_tile_that_the_dot_of_the_previous_iteration_still_reads_has_a_third_stage(name, sm):
    kernel = scheduled_kernel(KERNELS, name, sm)
    assert schedule_of(kernel).num_stages == 2
    pipelines = [as_op(op) for op in kernel.walk() if op.name == "nv_tileas.async.pipeline.create"]
    assert [stages for op in pipelines if op.bytes and (stages := op.results[0].type.stages.data) > 1] == [3, 2]


def test_queries_stay_in_shared_memory_where_threads_would_write_what_the_last_dot_reads():
    kernel = scheduled_kernel(KERNELS, "query_gradients", "sm_100")
    assert not [op for op in kernel.walk() if op.name == "nv_tileas.local_store"]


CASES = [
    ("gradients", "sm_90", (BLOCKS, ROWS, COLUMNS, WIDTH)),
    ("gradients", "sm_100", (BLOCKS, ROWS, COLUMNS, WIDTH)),
    ("wide_gradients", "sm_100", (1, 256, 128, 128)),
    ("tall_gradients", "sm_90", (1, 256, 128, 64)),
    ("square_gradients", "sm_100", (1, 256, 128, 128)),
    ("transposed_gradients", "sm_100", (2, 128, 64, 128)),
    ("transposed_gradients", "sm_100", (2, 384, 64, 128)),
    ("transposed_narrow_tiles_of_window", "sm_100", (2, 128, 64, 128)),
    ("transposed_gradients", "sm_90", (2, 128, 64, 128)),
]


@pytest.mark.parametrize(
    ("name", "sm", "rows", "trips"),
    # The first three of four iterations fill the stages, and the fourth uses one again.
    [
        ("query_gradients", "sm_100", 128, 2),
        ("narrow_query_gradients", "sm_100", 64, 4),
        ("narrow_query_gradients", "sm_90", 64, 4),
    ],
)
def test_results_of_a_dot_behind_the_others(name, sm, rows, trips):
    random = np.random.default_rng(3)
    shapes = (rows, trips * rows, trips * rows, rows)
    q, k, v, d_out = ((random.normal(size=(count, 128)) / 8).astype(np.float16) for count in shapes)
    *_, d_q = run(KERNELS, name, sm, [q, k, v, d_out, np.zeros((rows, 128), np.float32)])
    wide_q, wide_k, wide_v, wide_out = (operand.astype(np.float64) for operand in (q, k, v, d_out))
    expected = np.exp2(wide_q @ wide_k.T) * (wide_out @ wide_v.T) @ wide_k
    np.testing.assert_allclose(d_q, expected, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("heads", [1, 2])
def test_results_of_keys_that_heads_share(heads):
    """The second block of keys is seen by half of the first tile of queries, and all of the others."""
    random = np.random.default_rng(3)
    q, d_out = ((random.normal(size=(heads, 384, 128)) / 8).astype(np.float16) for _ in range(2))
    k, v = ((random.normal(size=(128, 128)) / 8).astype(np.float16) for _ in range(2))
    totals = random.normal(size=(heads, 384)).astype(np.float32)
    zeros = np.zeros((128, 128), np.float32)
    values = [q, k, v, d_out, totals, zeros, zeros.copy()]
    *_, d_k, d_v = run(KERNELS, "group_gradients", "sm_100", values, grid=(2, 1, 1))
    wide_q, wide_k, wide_v, wide_out = (operand.astype(np.float64) for operand in (q, k, v, d_out))
    powers = np.exp2(wide_q @ wide_k.T - totals[..., None]) * (np.arange(384)[:, None] >= np.arange(128))
    inner = powers * (wide_out @ wide_v.T - totals[..., None])
    np.testing.assert_allclose(d_v, (powers.swapaxes(1, 2) @ wide_out).sum(axis=0), rtol=2e-3, atol=5e-2)
    np.testing.assert_allclose(d_k, (inner.swapaxes(1, 2) @ wide_q).sum(axis=0), rtol=2e-3, atol=5e-2)


@pytest.mark.parametrize(("name", "sm", "shape"), CASES)
def test_results(name, sm, shape):
    blocks, queries, columns, width = shape
    random = np.random.default_rng(3)
    shapes = (queries, blocks * columns, blocks * columns, queries)
    q, k, v, d_out = ((random.normal(size=(rows, width)) / 8).astype(np.float16) for rows in shapes)
    zeros = np.zeros((blocks * columns, width), np.float32)
    *_, d_k, d_v = run(KERNELS, name, sm, [q, k, v, d_out, zeros, zeros.copy()], grid=(blocks, 1, 1))
    wide_q, wide_k, wide_v, wide_out = (operand.astype(np.float64) for operand in (q, k, v, d_out))
    powers = np.exp2(wide_q @ wide_k.T)
    np.testing.assert_allclose(d_v, powers.T @ wide_out, rtol=2e-3, atol=2e-2)
    np.testing.assert_allclose(d_k, (powers * (wide_out @ wide_v.T)).T @ wide_q, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("wanted", [0, 1])
@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_overwrite_what_a_branch_has_loaded(sm, wanted):
    """Its loop has no iteration, so that threads have waited for no MMA that reads it: only the issuer knows that the tile has arrived."""
    q, keys = np.zeros((128, 128), np.float16)[:0], np.ones((128, 128), np.float16)
    values = [q, keys, keys, q, *(np.full((128, 128), np.nan, np.float32) for _ in range(2)), wanted]
    found = run(KERNELS, "chosen_gradients", sm, values)
    assert not found[4].any() and not found[5].any()
    assert sm != "sm_100" or "mma_warp = true" in compiled(KERNELS, "chosen_gradients", sm).tileas
