"""Warps of a kernel whose results are live with other tiles around its loop (``registers_of_epilogues``)."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("rotated_matmuls.py")


@pytest.mark.parametrize(("name", "warps"), [("wide", 8), ("narrow", 4)])
def test_two_warpgroups_hold_the_tiles_of_an_epilogue(name, warps):
    """Two results and two other tiles: 256 registers of a thread of one warpgroup, 128 of narrow ones."""
    assert f"num_warps = {warps} : i32" in compiled(KERNELS, name, "sm_90").tileas


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize(("name", "columns"), [("wide", 64), ("narrow", 32)])
def test_matmuls_are_rotated(name, columns, sm):
    rng = np.random.default_rng(7)
    x, w = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 128), (128, 2 * columns)))
    c, s = (rng.integers(-2, 3, (128, columns)).astype(np.float32) for _ in range(2))
    found = run(KERNELS, name, sm, [x, w, c, s, np.zeros((128, 2 * columns), np.float16)])[4]
    first, second = np.hsplit(x.astype(np.float32) @ w.astype(np.float32), 2)
    np.testing.assert_array_equal(found, np.hstack((first * c - second * s, second * c + first * s)).astype(np.float16))
