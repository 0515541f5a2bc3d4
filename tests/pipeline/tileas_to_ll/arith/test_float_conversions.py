"""Conversions run in the emulator: every code of the small formats both ways, against ml_dtypes and NumPy.

sm_80 converts fp8 with integer code, sm_90 with instructions; both saturate, as ``cvt.satfinite`` does.
"""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run

KERNELS = Path(__file__).with_name("conversion_kernels.py")
TARGETS = ("sm_80", "sm_90")
F8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e8m0": ml_dtypes.float8_e8m0fnu}
CODES = np.arange(256, dtype=np.uint8)


def launch(name, sm, x, out_dtype=None, ratio=1):
    """The output of a case on x, whole blocks of 256 elements of x."""
    dtype = out_dtype or cases(KERNELS)[name].launch_arguments[1].dtype
    out = np.zeros(int(x.size * ratio), np.dtype(dtype))
    return run(KERNELS, name, sm, [x, out], grid=(x.size // 256, 1, 1))[1]


def assert_same(actual, expected):
    """Equal as values, NaN where NaN is due, and the sign of zero kept."""
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(actual, expected)
    ordered = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[ordered]), np.signbit(expected[ordered]))


def all_halves():
    return np.arange(65536, dtype=np.uint16).view(np.float16)


def awkward_floats(dtype=np.float32):
    """Around every f8 value: the value, its neighbors, the midpoints to the next and their neighbors; and extremes."""
    values = np.unique(np.concatenate([CODES.view(F8[name]).astype(dtype) for name in ("e4m3", "e5m2")]))
    values = np.sort(values[np.isfinite(values)])
    middles = (values[1:] + values[:-1]) / 2
    exact = np.concatenate([values, middles]).astype(dtype)
    near = [np.nextafter(exact, dtype(sign)) for sign in (np.inf, -np.inf)]
    special = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, -1e-30, 0.0, -0.0], dtype)
    found = np.concatenate([exact, *near, special]).astype(dtype)
    return np.concatenate([found, np.zeros(-found.size % 256, dtype)])


def saturated(x, dtype):
    """x rounded to nearest even in dtype, its largest number where x is larger."""
    largest = float(ml_dtypes.finfo(dtype).max)
    with np.errstate(invalid="ignore"):
        return np.clip(x.astype(np.float64), -largest, largest).astype(dtype)


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("name", ["e4m3_to_f32", "e5m2_to_f32", "e8m0_to_f32", "e4m3_to_f16", "e5m2_to_bf16"])
def test_every_code_widens_exactly(name, sm):
    x = CODES.view(F8[name[:4]])
    actual = launch(name, sm, x)
    assert_same(actual, x.astype(np.float64).astype(actual.dtype))


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("name", ["f16_to_e4m3", "f16_to_e5m2"])
def test_every_half_narrows_to_nearest_even(name, sm):
    x = all_halves()
    assert_same(launch(name, sm, x), saturated(x, F8[name[-4:]]))


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("name", ["f32_to_e4m3", "f32_to_e5m2"])
def test_floats_near_ties_narrow_to_nearest_even(name, sm):
    x = awkward_floats()
    assert_same(launch(name, sm, x), saturated(x, F8[name[-4:]]))


@pytest.mark.parametrize("sm", TARGETS)
def test_between_small_formats(sm):
    x = CODES.view(F8["e4m3"])
    assert_same(launch("e4m3_to_e5m2", sm, x), saturated(x, F8["e5m2"]))


def f4_bytes():
    """Every pair of f4 codes, and again."""
    return CODES


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("name", ["f4_to_f32", "f4_to_f16"])
def test_every_pair_of_f4_widens(name, sm):
    x = f4_bytes()
    codes = np.stack([x & 15, x >> 4], axis=1).reshape(-1)
    actual = launch(name, sm, x, ratio=2)
    assert_same(actual, codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64))


@pytest.mark.parametrize("sm", TARGETS)
def test_f4_narrows_to_nearest_even(sm):
    values = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    exact = np.unique(np.concatenate([values, (values[:, None] + values[None, :]).reshape(-1) / 2]))
    near = [np.nextafter(exact, np.float32(sign)) for sign in (np.inf, -np.inf)]
    x = np.concatenate([exact, *near, np.array([7, 100, -100, -0.0, 0.2, 0.25, 0.3], np.float32)]).astype(np.float32)
    x = np.concatenate([x, np.zeros(-x.size % 256, np.float32)])
    packed = launch("f32_to_f4", sm, x, ratio=0.5)
    codes = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1).view(ml_dtypes.float4_e2m1fn)
    assert_same(codes, np.clip(x, -6, 6).astype(ml_dtypes.float4_e2m1fn))


def powers_and_neighbors():
    exponents = np.arange(-140, 128)
    powers = np.ldexp(1.0, exponents).astype(np.float32)
    x = np.concatenate([powers, np.nextafter(powers, np.float32(np.inf)), powers * np.float32(1.5)])
    return np.concatenate([x, np.ones(-x.size % 256, np.float32)])


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("mode", ["up", "zero"])
def test_scales_round_to_a_power_of_two(mode, sm):
    """The exponent of the smallest power not below x, or of the largest not above; at least 2 ** -127."""
    x = powers_and_neighbors()
    x = x[np.isfinite(x)]
    x = np.concatenate([x, np.ones(-x.size % 256, np.float32)])
    rounded = np.ceil(np.log2(x.astype(np.float64))) if mode == "up" else np.floor(np.log2(x.astype(np.float64)))
    codes = np.clip(rounded + 127, 0, 254).astype(np.uint8)
    actual = launch(f"f32_to_e8m0_{mode}", sm, x).view(np.uint8)
    np.testing.assert_array_equal(actual, codes)


def rounded_to_tf32(x, rint):
    """x with 11 bits of precision; below the normal range of f32 the spacing stays what it is at its end."""
    exact = x.astype(np.float64)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(exact)[1], -125)
        result = np.ldexp(rint(np.ldexp(exact, 11 - exponent)), exponent - 11).astype(np.float32)
    return np.where(np.isfinite(x), result, x)


def rint_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


TF32 = {"f32_to_tf32": np.rint, "f32_to_tf32_zero": np.trunc, "f32_to_tf32_away": rint_away}


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize(("name", "rint"), TF32.items())
def test_tf32_keeps_ten_bits(name, rint, sm):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**32, 4096, dtype=np.uint32).view(np.float32)
    x[:8] = [np.inf, -np.inf, np.nan, 1 + 2.0**-11, 1 + 3 * 2.0**-11, -0.0, 3.4e38, 1e-40]
    # NaN whose payload is in the bits that tf32 cuts off, or overflows into the sign where half an ulp is added.
    x.view(np.uint32)[4090:] = [0x7F800001, 0xFF801000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F7FFFFF, 0xFF7FF000]
    x[8:2056] = (1 + np.arange(2048) * 2.0**-11) * rng.choice([-1, 1], 2048)  # every other one is a tie
    assert_same(launch(name, sm, x), rounded_to_tf32(x, rint))


@pytest.mark.parametrize("name", ["f32_to_bool", "f64_to_bool", "e5m2_to_bool"])
def test_what_differs_from_zero_is_true(name):
    """Halves and NaN too, which are no integer, and multiples of 2 ** 32."""
    dtype = np.dtype(cases(KERNELS)[name].launch_arguments[0].dtype)
    x = np.array([0, -0.0, 0.5, -0.25, 1, 2, 256, np.nan, np.inf, 1024, 5e-5], np.float64).astype(dtype)
    x = np.concatenate([x, np.zeros(256 - x.size, dtype)])
    np.testing.assert_array_equal(launch(name, "sm_80", x).astype(bool), ~(x.astype(np.float64) == 0))


FLOATS = ["f32_to_f16", "f32_to_bf16", "f16_to_bf16", "bf16_to_f16", "f64_to_f16", "f64_to_f32"]


@pytest.mark.parametrize("name", FLOATS)
def test_ordinary_floats(name):
    argument = cases(KERNELS)[name].launch_arguments[0]
    if argument.dtype in ("float16", "bfloat16"):
        x = np.arange(65536, dtype=np.uint16).view(np.dtype(argument.dtype))
    else:
        x = awkward_floats(np.dtype(argument.dtype).type)
    actual = launch(name, "sm_80", x)
    with np.errstate(all="ignore"):
        assert_same(actual, x.astype(actual.dtype))


@pytest.mark.parametrize("name", ["f64_to_bf16", "f64_to_e4m3"])
def test_f64_is_rounded_once(name):
    """Just above a tie of the narrow format, by less than f32 can tell."""
    dtype = np.dtype(cases(KERNELS)[name].launch_arguments[1].dtype)
    ulp = float(ml_dtypes.finfo(dtype).eps)
    x = np.array([1 + ulp / 2, 1 + ulp / 2 + 2.0**-40, 1 + ulp * 1.5, 1 + ulp * 1.5 - 2.0**-40] * 64)
    expected = np.array([1, 1 + ulp, 1 + 2 * ulp, 1 + ulp] * 64)
    np.testing.assert_array_equal(launch(name, "sm_90", x).astype(np.float64), expected)


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_whole_words_of_bytes_are_subtracted_as_halves(half):
    ptx = compiled(KERNELS, f"i8_times_{half}", "sm_90").ptx
    assert f"{half}x2 " in ptx and not re.search(r"cvt\.rn\.b?f16\.s(8|16)", ptx)
    x = np.resize(CODES.view(np.int8), (128, 64))
    unit = np.eye(64, dtype=np.float16 if half == "f16" else ml_dtypes.bfloat16)
    found = run(KERNELS, f"i8_times_{half}", "sm_90", [x, unit, np.zeros((128, 64), np.float32)])[2]
    np.testing.assert_array_equal(found, x)


INTEGERS = ["i8_to_f16", "u8_to_bf16", "i32_to_f16", "i64_to_f32", "u64_to_f64", "i32_to_i8", "i8_to_i64", "u8_to_i32"]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    source = np.dtype(cases(KERNELS)[name].launch_arguments[0].dtype)
    limits = np.iinfo(source)
    rng = np.random.default_rng(1)
    x = rng.integers(limits.min, limits.max, 512, dtype=source, endpoint=True)
    x[:6] = [limits.min, limits.max, 0, 1, limits.max // 2, limits.max - 1]
    actual = launch(name, "sm_80", x)
    with np.errstate(all="ignore"):
        assert_same(actual, x.astype(actual.dtype)) if actual.dtype.kind != "i" else np.testing.assert_array_equal(
            actual, x.astype(actual.dtype)
        )


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize(("name", "shift"), [("i32_to_bf16", 0), ("u64_to_bf16", 20)])
def test_integers_are_rounded_once(name, shift, sm):
    """Just above and below a tie of bf16, by less than f32 can tell."""
    dtype = np.dtype(cases(KERNELS)[name].launch_arguments[0].dtype)
    ties = np.array([0x01010000, 0x01030000], dtype) << dtype.type(shift)
    x = np.concatenate([ties, ties + dtype.type(1), ties - dtype.type(1), ties[:1] * 0]).astype(dtype)
    expected = np.array([0x0100, 0x0104, 0x0102, 0x0104, 0x0100, 0x0102, 0], np.float64) * 2.0 ** (16 + shift)
    x, expected = np.resize(x, 256), np.resize(expected, 256)
    np.testing.assert_array_equal(launch(name, sm, x).astype(np.float64), expected)


@pytest.mark.parametrize("sm", TARGETS)
def test_integers_to_f8_saturate(sm):
    x = np.arange(-600, 680, 5, dtype=np.int32)
    assert_same(launch("i32_to_e4m3", sm, x[:256]), saturated(x[:256], F8["e4m3"]))


@pytest.mark.parametrize("name", ["f16_to_i8", "f32_to_i32", "f32_to_u8", "f64_to_i64"])
def test_floats_to_integers_go_toward_zero(name):
    source, target = (np.dtype(argument.dtype) for argument in cases(KERNELS)[name].launch_arguments)
    low, high = (0, 250) if target.kind == "u" else (-120, 120)
    x = np.linspace(low, high, 256).astype(source)
    np.testing.assert_array_equal(launch(name, "sm_80", x), np.trunc(x).astype(target))
