"""Tiles outside of their arrays: padding is loaded and nothing is stored, below zero, past the end and where integers end.

Only the arrays are mapped: the emulator stops at an access beside them.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pairwise import pairwise

KERNELS = Path(__file__).with_name("out_of_bounds_kernels.py")
# Below zero, past the end, and indices whose first elements have no number of 32 bits: times 64 they would be 0 or 64.
FIRSTS = (-1, 1, -(1 << 31), (1 << 26) - (1 << 31) + 1, 1 << 26)


COPIES = {"sm_80": "cp.async.cg.shared.global", **dict.fromkeys(("sm_90", "sm_100"), "cp.async.bulk.tensor.2d.shared")}


def taken(x: np.ndarray, first: int, tiles: int, size: int) -> np.ndarray:
    """``tiles`` tiles of ``size`` rows from tile ``first`` on, zeros where x has none."""
    found = np.zeros((tiles * size, *x.shape[1:]), x.dtype)
    for row in range(tiles * size):
        if 0 <= (source := first * size + row) < len(x):
            found[row] = x[source]
    return found


def placed(out: np.ndarray, x: np.ndarray, first: int, size: int) -> None:
    """Write tiles of ``size`` rows as tile ``first`` and following ones, as far as out has them."""
    for row in range(len(x)):
        if 0 <= (target := first * size + row) < len(out):
            out[target] = x[row]


@pytest.mark.parametrize("first", FIRSTS)
@pytest.mark.parametrize("name, size, length", [("rows_1", 1, 2), ("rows_16", 16, 32), ("rows_64", 64, 128), ("rows_ragged", 16, 40)])  # fmt: skip
def test_rows(name, size, length, first):
    x = np.arange(1.0, 64 * length + 1, dtype=np.float32).reshape(length, 64)
    out = np.full((2, length, 64), 7, np.float32)
    expected, grid = out.copy(), -(-length // size) + 2
    placed(expected[0], taken(x, first, grid, size), 0, size)
    placed(expected[1], taken(x, 0, grid, size), first, size)
    np.testing.assert_array_equal(run(KERNELS, name, "sm_80", [x, out, first], grid=(grid, 1, 1))[1], expected)


@pytest.mark.parametrize("first", FIRSTS)
@pytest.mark.parametrize("name, size, length, sm", [
    ("line_1", 1, 3, "sm_80"), ("line_64", 64, 128, "sm_80"), ("line_ragged", 64, 100, "sm_80"),
    ("divided", 64, 128, "sm_90"), ("divided_ragged", 64, 100, "sm_90"),
])  # fmt: skip
def test_lines(name, size, length, sm, first):
    x, out = np.arange(1.0, length + 1, dtype=np.float32), np.full(length, 7, np.float32)
    expected, factor = out.copy(), 2 if name.startswith("divided") else 1
    placed(expected, taken(x, first, 4, size) * factor, first, size)
    np.testing.assert_array_equal(run(KERNELS, name, sm, [x, out, first], grid=(4, 1, 1))[1], expected)


SHAPES = {"matmul": (64, 64), "matmul_ragged": (72, 56)}  # rows of the left operand, and its columns


@pytest.mark.parametrize(("sm", "name", "first"), pairwise(["sm_80", "sm_90", "sm_100"], SHAPES, [-1, 1 << 26]))
def test_matmuls(sm, name, first):
    rows, depth = SHAPES[name]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((rows, depth), (depth, 64)))
    out = np.full((rows, 64), 7, np.float32)
    expected = out.copy()
    placed(expected, (taken(a, first, 3, 64).astype(np.float32) @ b.astype(np.float32)), first, 64)
    found = run(KERNELS, name, sm, [a, b, out, first, 5], grid=(3, 2, 1))[2]
    np.testing.assert_array_equal(found, expected)
    assert COPIES[sm] in compiled(KERNELS, name, sm).ptx


def test_a_loop_of_copies_asks_of_its_own_index_only():
    """A row that is the same in all iterations is compared before the loop: ptxas leaves in it what it finds there."""
    ptx = compiled(KERNELS, "matmul", "sm_90").ptx
    before, copies = ptx[: ptx.rindex(COPIES["sm_90"])].rsplit("mbarrier.try_wait", 1)
    assert "min.u32" in before
    assert copies.count("min.u32") == 2  # the step's, for each factor


@pytest.mark.parametrize("first", [-1, 1])
@pytest.mark.parametrize("name, length", [("summed", 128), ("summed_ragged", 100)])
def test_reductions(name, length, first):
    x, out = np.arange(3.0 * length, dtype=np.float32).reshape(3, length), np.full((3, 64), 7, np.float32)
    padded = np.zeros((3, 128), np.float32)
    padded[:, :length] = x
    expected = taken(padded[:, :64] + padded[:, 64:], first, 3, 1)
    np.testing.assert_array_equal(run(KERNELS, name, "sm_80", [x, out, first, 5], grid=(5, 1, 1))[1], expected)


@pytest.mark.parametrize("first", [0, -1, 1])
@pytest.mark.parametrize("weighted", [64, 192])
def test_rows_with_weights(weighted, first):
    """Both versions of the loop: the weights may be fewer than the columns, a row may be outside."""
    x, out = np.arange(1.0, 3 * 192 + 1, dtype=np.float32).reshape(3, 192), np.full((3, 192), 7, np.float32)
    weights = np.zeros(192, np.float32)
    weights[:weighted] = np.arange(weighted)
    expected = out.copy()
    placed(expected, taken(x * weights, first, 4, 1), first, 1)
    values = [x, weights[:weighted], out, first]
    np.testing.assert_array_equal(run(KERNELS, "scaled", "sm_80", values, grid=(4, 1, 1))[2], expected)


@pytest.mark.parametrize("name", ["line_64", "line_ragged"])
def test_an_array_without_elements_has_no_tiles(name):
    empty = np.zeros(1, np.float32)[:0]
    run(KERNELS, name, "sm_80", [empty, empty, 0], grid=(2, 1, 1))


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100"])
def test_a_factor_without_elements_is_zeros(sm):
    """An extent of 0 is 1 for a tensor map."""
    a, b = np.ones((64, 64), np.float16)[:0], np.ones((64, 64), np.float16)
    out = np.full((64, 64), 7, np.float32)
    found = run(KERNELS, "matmul", sm, [a, b, out, 0, 2], grid=(1, 1, 1))[2]
    np.testing.assert_array_equal(found, np.zeros((64, 64)))
