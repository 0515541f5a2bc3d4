"""Correct rounding: against exact fractions, for every format and mode."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.pairwise import pairwise
from tests.simulate.emulator.ptx_kernels import exponent_of
from tileiras_build.ir.dialects.cuda_tile.enums import RoundingMode
from tileiras_build.simulate.interpreter.element_types import (
    BF16,
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    FORMATS,
    STORAGE_DTYPES,
    TF32,
    to_float64,
)
from tileiras_build.simulate.interpreter.ieee_rounding import compute, quantize

MODES = (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF)
OPERATIONS = {
    "add": lambda x, y, z: x + y,
    "sub": lambda x, y, z: x - y,
    "mul": lambda x, y, z: x * y,
    "div": lambda x, y, z: x / y,
    "fma": lambda x, y, z: x * y + z,
}
ARITY = {"fma": 3, "sqrt": 1}


def random_values(element, seed: int, count: int = 60) -> np.ndarray:
    random = np.random.default_rng(seed)
    scale = np.exp2(random.integers(-6, 7, count))
    values = (random.standard_normal(count) * scale).astype(np.float32).astype(STORAGE_DTYPES[element])
    return np.where(values == 0, np.ones((), STORAGE_DTYPES[element]), values)


def neighbors(exact: Fraction, element) -> tuple[float, float]:
    """The largest representable number that is not above an exact value and the smallest that is not below."""
    form = FORMATS[element]
    exponent = max(form.min_exponent, exponent_of(abs(exact))) if exact else form.min_exponent
    unit = Fraction(2) ** (exponent + 1 - form.precision)
    below = float(exact // unit * unit)
    return below, below if exact % unit == 0 else float((exact // unit + 1) * unit)


def expected(exact: Fraction, element, mode: RoundingMode) -> float:
    low, high = neighbors(exact, element)
    if mode is RoundingMode.NEGATIVE_INF or (mode is RoundingMode.ZERO and exact > 0):
        return low
    if mode is RoundingMode.POSITIVE_INF or mode is RoundingMode.ZERO:
        return high
    down, up = exact - Fraction(low), Fraction(high) - exact
    if down == up and low != high:
        unit = Fraction(high) - Fraction(low)
        return low if (Fraction(low) / unit) % 2 == 0 else high
    return low if down <= up else high


# NumPy has no such operation to the nearest.
ROUNDED = [*pairwise(OPERATIONS, (F16, BF16, F32, F64), MODES), ("fma", F64, RoundingMode.NEAREST_EVEN)]


@pytest.mark.parametrize(("kind", "element", "mode"), ROUNDED, ids=str)
def test_operation_is_rounded_once(kind, element, mode):
    operands = [random_values(element, seed) for seed in range(3)]
    result = compute(kind, element, mode, False, *operands[: ARITY.get(kind, 2)])
    for index, actual in enumerate(to_float64(result, element)):
        x, y, z = (Fraction(float(operand[index])) for operand in operands)
        exact = OPERATIONS[kind](x, y, z)
        if exact and abs(exact) < FORMATS[element].max_value:
            assert actual == expected(exact, element, mode), (x, y, z)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("element", (F16, BF16, F32, F64), ids=str)
def test_root_brackets_its_square(element, mode):
    values = np.abs(random_values(element, 5))
    roots = to_float64(compute("sqrt", element, mode, False, values), element)
    for value, root in zip(map(float, values), roots):
        low, high = Fraction(root) ** 2 <= Fraction(value), Fraction(root) ** 2 >= Fraction(value)
        if mode in (RoundingMode.ZERO, RoundingMode.NEGATIVE_INF):
            assert (
                low
                and Fraction(
                    float(np.nextafter(root, np.inf)) if element == F64 else root * (1 + FORMATS[element].epsilon)
                )
                ** 2
                > value
            )
        if mode is RoundingMode.POSITIVE_INF:
            assert high


@pytest.mark.parametrize("element", (F16, F32), ids=str)
def test_nearest_equals_hardware(element):
    x, y = random_values(element, 1, 500), random_values(element, 2, 500)
    assert (compute("mul", element, MODES[0], False, x, y) == x * y).all()
    assert (compute("add", element, MODES[0], False, x, y) == x + y).all()


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (F8E5M2, ml_dtypes.float8_e5m2),
        (F4E2M1, ml_dtypes.float4_e2m1fn),
        (F16, np.float16),
        (F8E4M3, ml_dtypes.float8_e4m3fn),
    ],
    ids=str,
)
def test_narrowing_equals_ml_dtypes_within_the_range(element, dtype):
    values = np.random.default_rng(3).uniform(-5, 5, 400).astype(np.float32)
    assert (quantize(values.astype(np.float64), FORMATS[element]) == values.astype(dtype).astype(np.float64)).all()


def test_ties_and_range_limits():
    tf32 = FORMATS[TF32]
    assert quantize(np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11]), tf32).tolist() == [1.0, 1 + 2.0**-9]
    assert quantize(np.array([1 + 2.0**-11]), tf32, RoundingMode.NEAREST_AWAY).tolist() == [1 + 2.0**-10]
    half = FORMATS[F16]
    assert quantize(np.array([1e6, -1e6]), half).tolist() == [np.inf, -np.inf]
    assert quantize(np.array([1e6, -1e6]), half, RoundingMode.ZERO).tolist() == [65504, -65504]
    assert quantize(np.array([1e6, -1e6]), half, RoundingMode.POSITIVE_INF).tolist() == [np.inf, -65504]
    assert quantize(np.array([1e6]), FORMATS[F8E4M3], saturate=True).tolist() == [448]


def test_zero_sums_have_the_ieee_sign():
    one = np.array([1.0, -0.0, 0.0], np.float32)
    for mode, signs in ((MODES[0], [False, True, False]), (MODES[2], [True, True, True])):
        total = compute("add", F32, mode, False, one, np.array([-1.0, -0.0, -0.0], np.float32))
        assert (total == 0).all() and np.signbit(total).tolist() == signs


def test_flush_to_zero_keeps_signs():
    tiny = np.array([1e-39, -1e-39], np.float32)
    total = compute("add", F32, MODES[0], True, tiny, np.zeros(2, np.float32))
    assert total.tolist() == [0, 0]
    product = compute("mul", F32, MODES[0], True, np.array([-1e-20], np.float32), np.array([1e-19], np.float32))
    assert product[0] == 0 and np.signbit(product[0])
