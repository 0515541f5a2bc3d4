"""Dot products that float64 may not represent, in native code: exact and rounded once, for all exponents."""

import numpy as np
import pytest

from tests.simulate.emulator.matmul.test_matmul import bits, random_codes, reference
from tests.simulate.emulator.native.gates import use_kernels
from tileiras_build.simulate.emulator.matmul import matmul
from tileiras_build.simulate.emulator.matmul.gemm import MagnitudeRatios
from tileiras_build.simulate.emulator.matmul.operand_value_ranges import MatmulOperand


def by_code(a: np.ndarray, b: np.ndarray, kind: str, monkeypatch) -> np.ndarray:
    """A (stack, m, k) times the columns (stack, n, k) of B by native code, with the given error bounds."""
    use_kernels(monkeypatch)
    errors = matmul.native_error_bounds([(MatmulOperand(a, kind), MatmulOperand(b, kind))], len(a))
    assert errors is not None and errors.all()
    return matmul.multiply(MatmulOperand(a, kind), MatmulOperand(b, kind))


def test_magnitude_ratios_of_groups(monkeypatch):
    use_kernels(monkeypatch)
    values = np.zeros((2, 2, 4, 8))
    values[0, 0, 1:3, 3:7] = [[3, -0.5, 0, -20], [0.75, 1, 2, 0]]  # multiples of a 16th, if they have four bits
    values[0, 1, 1, 2], values[1, 0, 0, 3] = -1.5 * 2.0**60, 2.0**-140
    ratios = MagnitudeRatios(values, 4)
    ratios.measure()
    assert ratios.out.tolist() == [[320, 12], [8, 0]]


@pytest.mark.parametrize(("kind", "k"), [("bf16", 16), ("tf32", 8), ("bf16", 32)])
def test_values_of_all_exponents(kind, k, monkeypatch):
    rng = np.random.default_rng(k)
    a, b = random_codes(rng, kind, (2, 8, k)), random_codes(rng, kind, (2, 16, k))
    assert bits(by_code(a, b, kind, monkeypatch)) == [bits(reference(x, y)) for x, y in zip(a, b)]


@pytest.mark.parametrize("apart", [20, 40, 60])
def test_cancellation_to_a_midpoint(apart, monkeypatch):
    """Terms that cancel, half of a last place, and some that are ``apart`` powers of two smaller: of any sign, zero, or cancelled."""
    rng = np.random.default_rng(apart)
    tail = np.float32(2.0**-apart)
    a, b = np.zeros((1, 64, 16), np.float32), np.ones((1, 8, 16), np.float32)
    a[0, :, :4] = np.array([2.0**60, -(2.0**60), 2.0**24, 1])
    a[0, :, 4:7] = rng.choice(np.array([-1, 0, 1], np.float32) * tail, (64, 3))
    a[0, :, 7] = rng.choice(np.array([-1, 0, 1], np.float32) * tail * tail, 64)
    b[0, 1::2] = -1
    for row in a[0]:
        rng.shuffle(row)
    result = by_code(a, b, "bf16", monkeypatch)
    assert bits(result) == [bits(reference(a[0], b[0]))]
    assert len(np.unique(result)) == 4  # 2^24 and 2^24 + 2, of both signs


def test_sums_outside_the_range_of_float32(monkeypatch):
    """Above its largest value, and between its subnormals."""
    a, b = np.zeros((1, 4, 16), np.float32), np.ones((1, 8, 16), np.float32)
    a[0, 0, :3] = 2.0**127, 2.0**127, -(2.0**103)
    a[0, 1, :3] = 2.0**127, 2.0**127, -(2.0**104)
    a[0, 2, :3] = 2.0**-133, 2.0**-133, 0
    b[0, 1] = 2.0**-17
    assert bits(by_code(a, b, "bf16", monkeypatch)) == [bits(reference(a[0], b[0]))]
