"""Loops whose threads wait for each dot: more CTAs share an SM than where dots only accumulate."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).with_name("nearest_rows.py")


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_three_ctas_share_an_sm(sm):
    """Their stages fit in a third of the shared memory of an SM, and there are three at least."""
    func = scheduled_kernel(KERNELS, "nearest", sm)
    assert func.shared_bytes <= find_target(sm).shared_memory_of(3)
    assert (schedule_of(func).num_stages or 0) >= 3


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results(sm):
    rng = np.random.default_rng(0)
    points, centers = (rng.integers(-2, 3, (rows, 64)).astype(np.float16) for rows in (128, 320))
    found = run(KERNELS, "nearest", sm, [points, centers, np.zeros(128, np.float32)])[2]
    wide = centers.astype(np.float32)
    expected = ((wide * wide).sum(axis=1)[None, :] - 2 * points.astype(np.float32) @ wide.T).min(axis=1)
    np.testing.assert_array_equal(found, expected)
