"""Loops over the iterations that a comparison of their counter allows: all, some, or none."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("guarded_loops.py")
SIZE, TILES, REACH, PROGRAMS = 64, 3, 1, 5


def transposed(own, _, tile):
    return (tile @ own).T @ tile


def of_two(own, first, tile):
    return own @ tile @ tile.T + first @ tile @ tile.T


@pytest.mark.parametrize(
    ("name", "of_tile", "sm"),
    [
        ("window", transposed, "sm_80"),
        ("window", transposed, "sm_90"),
        ("window", transposed, "sm_100"),
        ("shared_window", of_two, "sm_90"),
        ("shared_window", of_two, "sm_100"),
    ],
)
def test_windows_at_the_ends(name, of_tile, sm):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-1, 2, (rows * SIZE, SIZE)).astype(np.float16) for rows in (PROGRAMS, TILES))
    out = np.full((PROGRAMS * SIZE, SIZE), np.nan, np.float32)
    found = run(KERNELS, name, sm, [x, y, out], grid=(PROGRAMS, 1, 1))[2]
    own, other = (one.astype(np.float32).reshape(-1, SIZE, SIZE) for one in (x, y))
    for program, result in enumerate(found.reshape(-1, SIZE, SIZE)):
        near = other[max(0, program - REACH) : program + REACH + 1]
        expected = sum((of_tile(own[program], own[0], tile) for tile in near), np.zeros((SIZE, SIZE), np.float32))
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["window", "shared_window"])
def test_dots_use_asynchronous_mmas(name):
    ptx = compiled(KERNELS, name, "sm_100").ptx
    assert "tcgen05.mma.cta_group" in ptx and "\tmma.sync" not in ptx
