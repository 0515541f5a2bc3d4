"""Tiles that loops carry have the layouts of the dots that add to them."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run, scheduled_case
from tileiras_build.ir.dialects.nv_tileas.ops import ConvertLayoutOp

KERNELS = Path(__file__).with_name("dots_of_two_families.py")


def test_accumulators_are_converted_between_loops_of_two_families():
    """In the second loop they would be read from tensor memory, converted twice and written back in each iteration."""
    loops = [op for op in scheduled_case(KERNELS, "skipped", "sm_100").walk() if op.name == "nv_tileas.for"]
    dots = [op for op in loops[-1].walk() if op.name == "nv_tileas.async.umma"]
    assert len(dots) == 1, "the last loop has the second dot alone"
    assert not [op for op in loops[-1].walk() if isinstance(op, ConvertLayoutOp)]


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results(sm):
    rng = np.random.default_rng(0)
    a, b, d = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 160), (160, 64), (64, 320)))
    found = run(KERNELS, "skipped", sm, [a, b, d, np.zeros((128, 64), np.float32), 3])[3]
    left, right, weights = (array.astype(np.float32) for array in (a, b, d))
    steps = [slice(k, k + 32) for k in range(0, 160, 32)]
    dots = [left[:, step] @ right[step] for step in steps]
    first = sum(dots[k] @ -weights[:, 64 * k : 64 * k + 64] for k in (0, 2))
    np.testing.assert_array_equal(found, first + dots[3] + dots[4])
