"""A stage buffer holds tiles until the MMAs that read them are waited for, which may be in flight in the next iteration."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run, scheduled_kernel
from tileiras_build.ir.casting import as_op
from tileiras_build.pipeline.analysis.buffer_liveness import LiveRange

KERNELS, NAME, STEPS = Path(__file__).with_name("tiles_in_flight.py"), "largest_totals", 4


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_reduction_leaves_the_tiles_of_a_dot_in_flight(sm):
    rng = np.random.default_rng(0)
    x, y, z = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((64, 256), (256, 128), (64, 256)))
    places = np.array([2, 0, 3, 1], np.int32)
    outs = [np.full((64, columns), np.nan, np.float32) for columns in (128, 1)]
    found = run(KERNELS, NAME, sm, [places, x, y, z, *outs])[4:]
    x, y, z = (values.astype(np.float32) for values in (x, y, z))
    moved = x.reshape(64, STEPS, 64)[:, places].reshape(64, -1)
    totals = z.reshape(64, STEPS, 64).sum(axis=2).max(axis=1, keepdims=True)
    np.testing.assert_array_equal(found[0], moved @ y)
    np.testing.assert_array_equal(found[1], np.maximum(totals, 0))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_range_covers_the_rest_of_an_iteration(sm):
    ops = list(scheduled_kernel(KERNELS, NAME, sm).walk())
    rings = [as_op(op) for op in ops if op.name == "nv_tileas.alloc_tensor"]
    [reduction] = [op for op in ops if op.name == "nv_tileas.reduce"]
    assert rings and all(LiveRange.of(ring).covers(reduction) for ring in rings)
