"""fp8 accumulation of the tensor cores of sm_90: truncated to 13 fraction bits."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import tests.simulate.emulator.isa.test_isa_wgmma as wgmma
from tests.simulate.emulator.native.gates import use
from tileiras_build.simulate.emulator.matmul import fp8_accumulation
from tileiras_build.simulate.emulator.matmul.operand_value_ranges import MatmulOperand

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
TYPES = {"e4m3": E4M3, "e5m2": E5M2}
LOWEST = {"e4m3": -6, "e5m2": -14, "f32": -126, "f16": -14}


@pytest.fixture(autouse=True, params=[True, False], ids=["kernels", "numpy"])
def process(request, monkeypatch):
    use(monkeypatch, kernels=request.param)


def one_sum(old, a, b, a_type, b_type, type_):
    """The formula of ``fp8_accumulation`` for one element, with exact fractions."""
    terms = [(Fraction(float(old)), exponent(old, LOWEST[type_]))]
    for x, y in zip(a.tolist(), b.tolist()):
        terms.append((Fraction(x) * Fraction(y), exponent(x, LOWEST[a_type]) + exponent(y, LOWEST[b_type])))
    largest = max([-126, *(e for value, e in terms if value)])
    unit = Fraction(2) ** (largest - 13)
    total = sum(math.trunc(value / unit) * unit for value, _ in terms)
    if type_ == "f16":
        return float(np.float64(float(total)).astype(np.float16))
    unit = Fraction(2) ** (exponent(total, -126) - 13)
    return float(math.trunc(total / unit) * unit)


def exponent(value, lowest):
    return max(math.frexp(float(value))[1] - 1, lowest) if value else lowest


def random_factor(rng, shape, type_):
    """Values over the whole range of a type, including zeros and subnormals."""
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 4, shape)
    return (values * (rng.random(shape) < 0.9)).astype(TYPES[type_]).astype(np.float32)


@pytest.mark.parametrize("type_", ["f32", "f16"])
@pytest.mark.parametrize("a_type, b_type", [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e5m2")])
def test_the_formula(a_type, b_type, type_):
    rng = np.random.default_rng(7)
    a, b = random_factor(rng, (2, 24, 32), a_type), random_factor(rng, (1, 8, 32), b_type)
    old = rng.standard_normal((2, 24, 8)) * 2.0 ** rng.integers(-12, 12, (2, 24, 8))
    old = old.astype(np.float16 if type_ == "f16" else np.float32)
    out = old.astype(np.float32)
    fp8_accumulation.accumulate_fp8(out, MatmulOperand(a, a_type), MatmulOperand(b, b_type), type_)
    for number, row, column in np.ndindex(2, 24, 8):
        expected = one_sum(old[number, row, column], a[number, row], b[0, column], a_type, b_type, type_)
        got = out[number, row, column]
        assert (float(got.astype(np.float16)) if type_ == "f16" else float(got)) == expected


def through_ptx(a, b, start, d="f32", a_type="e4m3", b_type="e4m3", scale="scale", matmul_rounding="exact", times=1):
    """Accumulate the product of matrices (64, 32) and (8, 32) onto ``start`` (64, 8), ``times`` times."""
    image = np.zeros(65536, np.uint8)
    wgmma.place(image, a, wgmma.A_AT, 32, 16, 256)
    wgmma.place(image, b, wgmma.B_AT, 32, 16, 256)
    layouts = wgmma.descriptor(wgmma.A_AT, 32, 16, 256), wgmma.descriptor(wgmma.B_AT, 32, 16, 256)
    text = f"{wgmma.opcode(8, 32, d, a_type, b_type)} {{D}}, da, db, {scale}, 1, 1;\n" * times
    return wgmma.execute(text, image, 8, d, *layouts, start=start, matmul_rounding=matmul_rounding)


def test_random_wgmma_in_ptx():
    rng = np.random.default_rng(3)
    a, b = random_factor(rng, (64, 32), "e4m3"), random_factor(rng, (8, 32), "e5m2")
    start = rng.standard_normal((64, 8)).astype(np.float32)
    out = through_ptx(a.astype(E4M3), b.astype(E5M2), start, b_type="e5m2")
    expected = [[one_sum(start[i, j], a[i], b[j], "e4m3", "e5m2", "f32") for j in range(8)] for i in range(64)]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("sign", [1, -1])
def test_zero_products_truncate_the_accumulator(sign):
    zeros = np.zeros((64, 32), E4M3)
    out = through_ptx(zeros, zeros[:8], np.full((64, 8), sign * (1 + 2.0**-13 + 2.0**-14), np.float32))
    assert (out == sign * (1 + 2.0**-13)).all()


def test_tiny_accumulator_with_zero_products():
    zeros, small = np.zeros((64, 32), E4M3), 2.0**-60 * (1 + 2.0**-13)
    assert (through_ptx(zeros, zeros[:8], np.full((64, 8), small, np.float32)) == small).all()


def test_small_products_are_lost_next_to_a_large_one():
    a, b = np.full((64, 32), 2.0**-6, E4M3), np.full((8, 32), 1, E4M3)
    a[:, 0] = 256
    assert (through_ptx(a, b, np.zeros((64, 8))) == 256).all()
    a[:, 0] = 128
    assert (through_ptx(a, b, np.zeros((64, 8))) == 128 + 31 * 2.0**-6).all()


def test_scale_d_excludes_the_accumulator():
    a, b = np.full((64, 32), 2.0**-6, E4M3), np.full((8, 32), 1, E4M3)
    assert (through_ptx(a, b, np.full((64, 8), 2.0**20)) == 2.0**20).all()
    assert (through_ptx(a, b, np.full((64, 8), 2.0**20), scale="0") == 0.5).all()


def test_sums_of_f16_are_rounded_to_nearest():
    a, b = np.zeros((64, 32), E4M3), np.full((8, 32), 1, E4M3)
    a[:, 0], a[:, 1] = 1.5, 2.0**-6 * 0.125
    out = through_ptx(a, b, np.full((64, 8), 1 - 2.0**-11), d="f16")
    # 1.5 + 2^-9 + (1 - 2^-11 as a multiple of 2^-13), and the next f16 up
    assert (out == np.float16(1.5 + 2.0**-9 + 1 - 2.0**-11)).all()


def test_infinities_and_nans():
    a, b = np.full((64, 32), 1, E5M2), np.full((8, 32), 1, E5M2)
    a[0, 3], a[1, 3], a[2, 3] = np.inf, np.nan, -np.inf
    start = np.zeros((64, 8), np.float32)
    start[2], start[3] = np.inf, -np.inf
    out = through_ptx(a, b, start, a_type="e5m2", b_type="e5m2")
    assert (out[0] == np.inf).all() and np.isnan(out[1:3]).all() and (out[3] == -np.inf).all() and (out[4:] == 32).all()


def test_zero_times_infinity_is_a_nan():
    a, b = np.zeros((64, 32), E5M2), np.zeros((8, 32), E5M2)
    b[2, 5], b[3, 6] = np.inf, np.nan
    out = through_ptx(a, b, np.ones((64, 8), np.float32), a_type="e5m2", b_type="e5m2")
    assert np.isnan(out[:, 2:4]).all() and (out[:, :2] == 1).all() and (out[:, 4:] == 1).all()


def test_each_accumulation_truncates():
    rng = np.random.default_rng(5)
    a, b = random_factor(rng, (64, 32), "e4m3"), random_factor(rng, (8, 32), "e4m3")
    start = rng.standard_normal((64, 8)).astype(np.float32)
    once = through_ptx(a.astype(E4M3), b.astype(E4M3), start)
    twice = through_ptx(a.astype(E4M3), b.astype(E4M3), start, times=2)
    np.testing.assert_array_equal(twice, through_ptx(a.astype(E4M3), b.astype(E4M3), once))


def test_zero_results_are_positive():
    zeros = np.zeros((64, 32), E4M3)
    assert not np.signbit(through_ptx(-zeros, zeros[:8], np.full((64, 8), -0.0))).any()


def test_blas_adds_in_f32():
    a, b = np.full((64, 32), 2.0**-6, E4M3), np.full((8, 32), 1, E4M3)
    for d, start in (("f32", 256.0), ("f16", 0.25)):
        assert (through_ptx(a, b, np.full((64, 8), start), d=d, matmul_rounding="blas") == start + 0.5).all()
        assert (through_ptx(a, b, np.full((64, 8), start), d=d, matmul_rounding="blas", scale="0") == 0.5).all()
