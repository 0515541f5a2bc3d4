"""Bytes that lie along m or n comes to warpgroup dots through registers, as their left operand."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run
from tileiras_build.simulate.emulator import Counters

KERNELS = Path(__file__).with_name("swapped_dots.py")
VALUES = {"float8_e4m3fn": (ml_dtypes.float8_e4m3fn, -3, 4), "int8": (np.int8, -128, 128), "uint8": (np.uint8, 0, 256)}
EXCHANGED = ("square", "square_f16", "shallow", "deep", "wide", "large", "tall", "in_halves")
INTEGERS = ("integers", "unsigned_right", "unsigned_left")
LEFT = ("left", "left_tall")
TRANSPOSED = ("both", "narrow")  # right operands that threads transpose


def arguments(name):
    return cases(KERNELS)[name].arguments


def operands(name, m, n, k):
    """Small integers, whose results are exact, in the order of each array."""
    rng = np.random.default_rng(m + n + k)
    left, right, result = arguments(name)[:3]
    orders = ["F" if array.unit_stride == 0 else "C" for array in (left, right)]
    values = []
    for array, shape, order in zip((left, right), ((m, k), (k, n)), orders):
        dtype, least, end = VALUES[array.dtype]
        values.append(np.array(rng.integers(least, end, shape).astype(dtype), order=order))
    return *values, np.full((m, n), -1, result.dtype)


def check(name, m, n, k, grid, counters=None):
    a, b, out = operands(name, m, n, k)
    found = run(KERNELS, name, "sm_90", [a, b, out], grid, counters)[2]
    np.testing.assert_array_equal(found.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


COUNTED = ("square", "shallow", "deep", "wide", "left")


@pytest.mark.parametrize("name", [name for name in (*EXCHANGED, *LEFT, *INTEGERS, *TRANSPOSED) if name not in COUNTED])
def test_results(name):
    m, n, k = arguments(name)[3:]
    check(name, m, n, 3 * k, (1, 1, 1))


@pytest.mark.parametrize("name", ["square", "wide", "left"])
def test_results_at_the_ends_of_arrays(name):
    m, n, k = arguments(name)[3:]
    check(name, 2 * m - 16, 2 * n - 48, 2 * k + 16, (2, 2, 1))


@pytest.mark.parametrize("name", [*EXCHANGED, *LEFT, *INTEGERS, *TRANSPOSED])
def test_warpgroups_multiply_and_threads_read_pairs(name):
    ptx = compiled(KERNELS, name, "sm_90").ptx
    assert "wgmma.mma_async" in ptx and "mma.sync.aligned.m16" not in ptx
    assert ".trans.shared.b16" in ptx and "ld.shared.u8" not in ptx and "ld.shared.b8" not in ptx


@pytest.mark.parametrize("name", COUNTED)
def test_results_and_no_bank_conflicts_where_operands_are_read(name):
    counters = Counters()
    m, n, k = arguments(name)[3:]
    check(name, m, n, 3 * k, (1, 1, 1), counters)
    reads = [where for where in counters.accesses if "ldmatrix" in where[1]]
    assert reads and not any(counters.bank_conflicts.get(where) for where in reads)


@pytest.mark.parametrize("name, by_columns", [("chained", False), ("chained_by_columns", True)])
def test_a_dot_of_a_dot(name, by_columns):
    """Warpgroups multiply a left operand that is computed, too: threads transpose the right one where it does not lie along k."""
    ptx = compiled(KERNELS, name, "sm_90").ptx
    assert "wgmma.mma_async" in ptx and "mma.sync.aligned.m16" not in ptx
    assert (".trans.shared.b16" in ptx) != by_columns
    rng = np.random.default_rng(8)
    dtype = VALUES["float8_e4m3fn"][0]
    a, b, c = (rng.integers(-2, 3, shape).astype(dtype) for shape in ((128, 128), (384, 128), (384, 64)))
    c = np.asfortranarray(c) if by_columns else c
    out = run(KERNELS, name, "sm_90", [a, b, c, np.zeros((128, 64), np.float32)])[3]
    a, b, c = (values.astype(np.float32) for values in (a, b, c))
    expected = (a @ b.T * 0.125).astype(dtype).astype(np.float32) @ c
    np.testing.assert_array_equal(out, expected)
