"""Halves of a loaded tile are loaded by themselves: the same results, at the end of an array, too."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run, scheduled_kernel
from tileiras_build.ir.dialects.fast_xdsl import walk

KERNELS = Path(__file__).with_name("sliced_tiles.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")


def rotated(x, side=64):
    """By tiles; ``x`` is padded to whole ones."""
    padded = np.pad(x, [(0, -extent % side) for extent in x.shape]).astype(np.float32)
    first, second = np.split(padded.reshape(len(padded), -1, 2, side // 2), 2, axis=2)
    return np.concatenate([first - second, first + second], axis=2).reshape(padded.shape)


def values(*shape):
    return np.random.default_rng(shape[0]).integers(-2, 3, shape).astype(np.float16)


@pytest.mark.parametrize("sm", SMS)
def test_rows_whose_last_half_is_outside(sm):
    x = values(100, 88)
    found = run(KERNELS, "rows", sm, [x, np.full((128, 128), np.nan, np.float16)], (2, 1, 1))[1]
    np.testing.assert_array_equal(found, rotated(x))


def test_slices_of_two_shapes_with_equal_indices():
    x = values(64, 128)
    found = run(KERNELS, "of_two_shapes", "sm_90", [x, np.full((64, 128), np.nan, np.float16)], (2, 1, 1))[1]
    first, second = np.split(x.reshape(64, 2, 2, 32), 2, axis=2)
    np.testing.assert_array_equal(found, np.concatenate([first - second, first], axis=2).reshape(64, 128))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_operands_of_a_dot(sm):
    q, x = values(64, 64), values(128, 64)
    found = run(KERNELS, "dots", sm, [q, x, np.full((64, 64), np.nan, np.float32)])[2]
    parts = rotated(x).reshape(2, 64, 64)
    np.testing.assert_array_equal(found, sum(q.astype(np.float32) @ part.T for part in parts))


@pytest.mark.parametrize("name, exchanged", [("rows", 0), ("dots", 0), ("one_tile", 2)])
def test_what_is_exchanged(name, exchanged):
    ops = walk(scheduled_kernel(KERNELS, name, "sm_90"))
    assert sum(op.name == "nv_tileas.extract_slice" for op in ops) == exchanged
