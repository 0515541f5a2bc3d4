"""Stages beside the scratch of a persistent kernel's results, and what the kernel then computes, without a race."""

from pathlib import Path

import numpy as np

from tests.emulated_kernels import run, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).parents[1] / "persistent_dots.py"


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
