"""Stages beside the scratch of a persistent kernel's results, and what the kernel then computes, without a race."""

from pathlib import Path

import numpy as np

from tests.emulated_kernels import assembled, run, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).parents[1] / "persistent_dots.py"
BESIDE_RESULTS = Path(__file__).with_name("beside_results.py")
SHARE_OF_TWO = 168  # registers of a thread where two CTAs of five warps share an SM


def test_results_go_through_small_chunks_where_a_third_stage_then_fits():
    """Two stages of 32 KiB would fit beside a result of 32 KiB, with two CTAs per SM."""
    schedule = schedule_of(scheduled_kernel(KERNELS, "deep_of_two", "sm_90"))
    assert (schedule.num_stages, schedule.conversion_chunk_bytes) == (3, 8192)
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((200, 336), (336, 144)))
    found = run(KERNELS, "deep_of_two", "sm_90", [a, b, np.zeros((200, 144), np.float16)], (2, 1, 1))[2]
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


def test_results_whose_loop_has_three_stages_stay_whole():
    schedule = schedule_of(scheduled_kernel(KERNELS, "of_two", "sm_90"))
    assert schedule.num_stages >= 3 and schedule.conversion_chunk_bytes is None


def test_ctas_that_share_an_sm_have_registers_for_as_many_as_their_stages():
    """ptxas gives each thread more than its share, for the result and its squares, and one CTA alone would have two stages."""
    func = scheduled_kernel(BESIDE_RESULTS, "adds_and_squares", "sm_100")
    assert (func.num_warps, schedule_of(func).num_stages, func.ctas_of_stages) == (4, 2, 2)
    [kernel] = assembled(BESIDE_RESULTS, "adds_and_squares", "sm_100").manifest["kernels"].values()
    assert kernel["resources"]["registers"] <= SHARE_OF_TWO
    rng = np.random.default_rng(3)
    a, b, added = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((200, 144), (144, 136), (200, 136)))
    values = [a, b, added, np.zeros_like(added), np.zeros((200, 2), np.float32)]
    result, squares = run(BESIDE_RESULTS, "adds_and_squares", "sm_100", values, (2, 2, 1))[3:]
    expected = added + a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(result, expected)
    halves = [(expected[:, columns] ** 2).sum(axis=1) for columns in (slice(0, 128), slice(128, None))]
    np.testing.assert_array_equal(squares, np.stack(halves, axis=1))
