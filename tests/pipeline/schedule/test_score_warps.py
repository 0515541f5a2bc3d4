"""Warps, CTAs per SM and registers of kernels whose dots compute left operands of others by mma.sync."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, run, scheduled_kernel
from tests.pairwise import alternate
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).with_name("score_kernels.py")
QUERIES, LENGTH, WIDTH = 64, 256, 128


@pytest.mark.parametrize("sm", ["sm_80", "sm_120"])
def test_a_warp_has_whole_rows_of_scores(sm):
    assert scheduled_kernel(KERNELS, "attention", sm).num_warps == 4


@pytest.mark.parametrize("sm", ["sm_80", "sm_120"])
def test_an_accumulator_beside_the_dots_takes_registers(sm):
    kernel = scheduled_kernel(KERNELS, "apart", sm)
    assert (kernel.num_warps, schedule_of(kernel).occupancy) == (8, 1)


def test_a_warpgroup_multiplies_only_where_shared_memory_has_stages_for_tensor_memory():
    """Otherwise registers hold accumulators, of which four warps have too few."""
    kernels = {name: scheduled_kernel(KERNELS, name, "sm_100") for name in ("stages_fit", "no_stage_fits")}
    assert {name: kernel.num_warps for name, kernel in kernels.items()} == {"stages_fit": 4, "no_stage_fits": 16}
    assert {name: set(schedule_of(kernel).mma) for name, kernel in kernels.items()} == {
        "stages_fit": {"tcgen05"},
        "no_stage_fits": {"mma_sync"},
    }


def test_producer_threads_release_registers_where_scores_need_them():
    assert scheduled_kernel(KERNELS, "apart", "sm_120").partition_registers is not None


@pytest.mark.parametrize("name, sm", [("attention", "sm_80"), ("attention", "sm_120")])
def test_nothing_is_spilled_to_local_memory(name, sm):
    [kernel] = assembled(KERNELS, name, sm).manifest["kernels"].values()
    assert kernel["resources"]["spill_stores"] == kernel["resources"]["spill_loads"] == 0


@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
def test_warps_beyond_the_rows_divide_columns(sm):
    dots = [as_op(op) for op in walk(scheduled_kernel(KERNELS, "few_queries", sm)) if op.name == "nv_tileas.dot"]
    assert {tuple(dot.warps) for dot in dots} == {(1, 8, 1)}


@pytest.mark.parametrize(
    ("name", "sm"), alternate(["attention", "apart", "few_queries"], ["sm_80", "sm_90", "sm_120", "sm_100"])
)
def test_results(name, sm):
    check(name, sm, 8 if name == "few_queries" else 2, WIDTH)


def test_columns_that_one_instruction_has_no_registers_for_at_launch_leave_one_cta_per_sm():
    assert schedule_of(scheduled_kernel(KERNELS, "deep", "sm_90")).occupancy == 1
    check("deep", "sm_90", 2, 256)


def check(name, sm, blocks, width):
    random = np.random.default_rng(7)
    q, k, v = (random.normal(size=(rows, width)).astype(np.float16) / 4 for rows in (2 * QUERIES, LENGTH, LENGTH))
    actual = run(KERNELS, name, sm, [q, k, v, np.zeros_like(q)], grid=(blocks, 1, 1))[3]
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
    expected = powers @ v.astype(np.float64) / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=1e-2, atol=2e-3)


def test_results_in_tensor_memory_are_not_live_together():
    """Threads read one after the other, and of a tile that a branch masks only the result is live behind it."""
    assert schedule_of(scheduled_kernel(KERNELS, "masked", "sm_100")).occupancy == 2
    [kernel] = assembled(KERNELS, "masked", "sm_100").manifest["kernels"].values()
    assert kernel["resources"]["spill_stores"] == kernel["resources"]["spill_loads"] == 0


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_with_a_mask(sm):
    random = np.random.default_rng(9)
    q, k, v = (random.normal(size=(2 * QUERIES, WIDTH)).astype(np.float16) / 4 for _ in range(3))
    actual = run(KERNELS, "masked", sm, [q, k, v, np.zeros_like(q)], grid=(2, 1, 1))[3]
    scores = np.tril(np.exp2(q.astype(np.float64) @ k.astype(np.float64).T))
    expected = scores @ v.astype(np.float64) / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize(("name", "ctas"), [("biased", 1), ("biased_by_halves", 2)])
def test_a_tile_that_is_added_to_scores_takes_registers_of_a_second_cta(name, ctas):
    assert (schedule_of(scheduled_kernel(KERNELS, name, "sm_90")).occupancy or 1) == ctas


@pytest.mark.parametrize(
    ("name", "in_tmem"),
    [("biased_wide", False), ("biased_by_wide_halves", True), ("biased_of_wide_values", False)],
)
def test_a_tile_that_is_added_to_scores_takes_registers_of_their_row(name, in_tmem):
    assert bool(schedule_of(scheduled_kernel(KERNELS, name, "sm_100")).tmem_accumulators) == in_tmem


@pytest.mark.parametrize(("name", "sm"), [("biased", "sm_90"), ("biased_wide", "sm_100")])
def test_results_with_a_bias(name, sm):
    random = np.random.default_rng(8)
    q, k, v = (random.normal(size=(128, 64)).astype(np.float16) / 4 for _ in range(3))
    bias = random.normal(size=(128, 128)).astype(np.float32)
    actual = run(KERNELS, name, sm, [q, k, v, bias, np.zeros_like(q)], grid=(1, 1, 1))[4]
    scores = q.astype(np.float64) @ k.astype(np.float64).T + bias
    powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
    expected = powers @ v.astype(np.float64) / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=1e-2, atol=2e-3)
