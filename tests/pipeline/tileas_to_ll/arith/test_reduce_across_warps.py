"""Partial results of warps go through shared memory by vectors of the results that a thread holds."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.arith.reduction_kernels import SHAPE

KERNELS = Path(__file__).with_name("reduction_kernels.py")


@pytest.mark.parametrize(
    "name, expected, dtype", [("middle_max", np.max, np.float16), ("middle_argmax", np.argmax, np.int32)]
)
def test_results(name, expected, dtype):
    x = np.random.default_rng(0).permutation(np.prod(SHAPE)).reshape(SHAPE).astype(np.float16)
    found = run(KERNELS, name, "sm_90", [x, np.zeros((SHAPE[0], SHAPE[2]), dtype)])[1]
    np.testing.assert_array_equal(found, expected(x, axis=1))


def test_each_access_has_as_many_neighbors_as_fit():
    """Each of 4 warps stores, and each thread loads from all of them, 2 rows of 8 neighboring halves."""
    text = compiled(KERNELS, "middle_max", "sm_90").ptx
    assert text.count("ld.shared.v4.b32") == 4 * 2
    pairs = compiled(KERNELS, "middle_argmax", "sm_90").ptx  # halves, and their positions of four bytes
    assert re.findall(r"ld\.shared\.\S*", pairs) == ["ld.shared.v2.b32", "ld.shared.v4.b32"] * (4 * 2 * 2)


def test_lanes_combine_many_results():
    """Each lane loads its 2 of 64 results from 4 warps; the warp then loads all 64 of its own place, 4 at a time."""
    text = compiled(KERNELS, "count_of_dot", "sm_100").ptx
    assert (text.count("ld.shared"), text.count("ld.shared.v4"), text.count("bar.warp.sync")) == (2 * 4 + 16, 16, 1)


def test_results_that_lanes_combine():
    x, y = (np.random.default_rng(0).integers(-4, 4, shape).astype(np.float16) for shape in ((128, 16), (16, 64)))
    found = run(KERNELS, "count_of_dot", "sm_100", [x, y, np.zeros(64, np.float32)])[2]
    np.testing.assert_array_equal(found, (x.astype(np.float32) @ y.astype(np.float32) > 0).sum(axis=0))
