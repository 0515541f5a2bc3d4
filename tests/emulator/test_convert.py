"""cvt between all pairs of types, against ml_dtypes, Python integers and rationals."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from ptx_kernels import bits, evaluate, exact_round

INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
NARROW = {
    "e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2, "e2m1x2": ml_dtypes.float4_e2m1fn,
    "e2m3x2": ml_dtypes.float6_e2m3fn, "e3m2x2": ml_dtypes.float6_e3m2fn,
}  # fmt: skip


def register_bits(type_):
    return max(int(type_[1:]), 16)


def limits(type_):
    width = int(type_[1:])
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if type_[0] == "s" else (0, (1 << width) - 1)


def interesting(type_):
    low, high = limits(type_)
    values = {
        low,
        low + 1,
        high,
        high - 1,
        0,
        1,
        5,
        100,
        127,
        128,
        255,
        256,
        -1,
        -128,
        -129,
        32767,
        32768,
        65535,
        65536,
        2**31,
        2**32,
    }
    return sorted(v for v in values if low <= v <= high)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("to", INTEGERS)
def test_integer_to_integer(to, source):
    values = interesting(source)
    width = register_bits(source)
    a = np.array([v & ((1 << width) - 1) for v in values], f"u{width // 8}")
    out = register_bits(to)
    mask = (1 << int(to[1:])) - 1
    low, high = limits(to)
    got = evaluate(f"cvt.{to}.{source} x, a; cvt.sat.{to}.{source} y, a;", a, out=(f"u{out // 8}",) * 2)
    for i, v in enumerate(values):
        for g, w in ((got[0][i], v & mask), (got[1][i], min(max(v, low), high))):
            if w > high:
                w -= 1 << int(to[1:])
            assert int(g) == w & ((1 << out) - 1), (v, g)


FLOAT_VALUES = [
    0,
    -0.0,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    0.49,
    -0.51,
    1e3,
    -1e3,
    127.5,
    255.5,
    3e9,
    -3e9,
    1e19,
    -1e19,
    1e30,
    np.inf,
    -np.inf,
    np.nan,
]


def reference_round(v, mode):
    import math

    f = Fraction(v)
    floor = f.numerator // f.denominator
    if mode == "rmi":
        return floor
    if mode == "rpi":
        return -((-f.numerator) // f.denominator)
    return math.trunc(f) if mode == "rzi" else round(f)


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("to", INTEGERS)
def test_float_to_integer_saturates(to, source, mode):
    a = np.array(FLOAT_VALUES, {"f32": np.float32, "f64": np.float64}[source])
    out = register_bits(to)
    got = evaluate(f"cvt.{mode}.{to}.{source} x, a;", a, out=f"u{out // 8}")
    low, high = limits(to)
    for v, g in zip(a.tolist(), got.tolist()):
        if np.isnan(v):
            want = 1 << 63 if to.endswith("64") else 0
        elif np.isinf(v):
            want = high if v > 0 else low
        else:
            want = min(max(reference_round(v, mode), low), high)
        assert g == want & ((1 << out) - 1), v


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("to", ["f32", "f64"])
@pytest.mark.parametrize("source", ["u32", "s32", "u64", "s64"])
def test_integer_to_float(source, to, mode):
    width = int(source[1:])
    rng = np.random.default_rng(2)
    values = interesting(source) + [
        int(v) for v in rng.integers(*limits(source), 100, dtype=f"{'i' if source[0] == 's' else 'u'}{width // 8}")
    ]
    values += [(1 << 24) + 1, (1 << 25) + 2] if width == 32 else [(1 << 53) + 1, (1 << 54) + 2, (1 << 63) - 1]
    a = np.array([v & ((1 << width) - 1) for v in values], f"u{width // 8}")
    got = evaluate(f"cvt.{mode}.{to}.{source} x, a;", a, out={"f32": np.uint32, "f64": np.uint64}[to])
    np.testing.assert_array_equal(got, bits([exact_round(Fraction(v), to, mode) for v in values], to))


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_f64_to_f32(mode):
    rng = np.random.default_rng(3)
    a = np.concatenate([rng.standard_normal(200), rng.standard_normal(50) * 1e-42, [1e300, -1e300, 1 + 2.0**-24, 0.0]])
    got = evaluate(f"cvt.{mode}.f32.f64 x, a;", a, out=np.uint32)
    np.testing.assert_array_equal(got, bits([exact_round(Fraction(v), "f32", mode) for v in a.tolist()], "f32"))


@pytest.mark.parametrize("fmt", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_f32_to_16_bits(fmt, mode):
    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[fmt]
    rng = np.random.default_rng(4)
    a = np.concatenate(
        [rng.standard_normal(300), rng.standard_normal(60) * 1e-6, [1e6, -1e6, 65519, 65520, 3.3e38]]
    ).astype(np.float32)
    got = evaluate(f"cvt.{mode}.{fmt}.f32 x, a;", a, out=np.uint16)
    for v, g in zip(a.tolist(), got):
        want = np.copysign(float(exact_round(Fraction(v), fmt, mode)), v)
        assert g == want.astype(dtype).view(np.uint16), v
    wide = evaluate(f"cvt.f32.{fmt} x, a;", got, out=np.float32)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(wide, got.view(dtype).astype(np.float32))


def test_pairs_put_the_first_operand_high():
    a = np.array([1.5, np.nan, -2], np.float32)
    b = np.array([2.5, 1e6, -0.5], np.float32)
    body = "cvt.rn.f16x2.f32 x, a, b; cvt.rn.bf16x2.f32 y, a, b; cvt.rn.relu.f16x2.f32 z, a, b; cvt.rn.satfinite.f16x2.f32 w, a, b;"
    got = evaluate(body, a, b, out=(np.uint32,) * 4)
    assert [hex(v) for v in got[0]] == ["0x3e004100", "0x7fff7c00", "0xc000b800"]
    assert [hex(v) for v in got[1]] == ["0x3fc04020", "0x7fff4974", "0xc000bf00"]
    assert [hex(v) for v in got[2]] == ["0x3e004100", "0x7fff7c00", "0x0"]
    assert [hex(v) for v in got[3]] == ["0x3e004100", "0x7fff7bff", "0xc000b800"]


def test_tf32():
    a = np.array([1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-23, 1 + 3 * 2.0**-11, -1 - 2.0**-12, np.nan, np.inf], np.float32)
    x, y, z = evaluate("cvt.rna.tf32.f32 x, a; cvt.rn.tf32.f32 y, a; cvt.rz.tf32.f32 z, a;", a, out=(np.uint32,) * 3)
    f = lambda *v: [np.float32(i).view(np.uint32) for i in v]
    ulp = 2.0**-10
    assert list(x[:4]) == f(1 + ulp, 1 + ulp, 1 + 2 * ulp, -1)
    assert list(y[:4]) == f(1, 1 + ulp, 1 + 2 * ulp, -1)
    assert list(z[:4]) == f(1, 1, 1 + ulp, -1)
    for v in (x, y, z):
        assert v[4] == 0x7FFFFFFF and v[5] == 0x7F800000


def codes(values, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(values, np.float32).astype(dtype).view(np.uint8)


@pytest.mark.parametrize("name", NARROW)
def test_to_narrow(name):
    """Against ml_dtypes, in range; beyond it .satfinite keeps the largest value."""
    dtype = NARROW[name]
    largest = float(ml_dtypes.finfo(dtype).max)
    rng = np.random.default_rng(5)
    a, b = (np.clip(rng.standard_normal(400) * largest / 3, -largest, largest).astype(np.float32) for _ in range(2))
    a[:4] = [largest * 10, -largest * 10, 0, -0.0]
    b[:50] *= 0.01
    out = np.uint8 if name == "e2m1x2" else np.uint16
    body = f"cvt.rn.satfinite.{name}.f32 {'e1' if out is np.uint8 else 'x'}, a, b;"
    body += "cvt.u32.u8 x, e1;" if out is np.uint8 else ""
    got = evaluate(body, a, b, out=np.uint32 if out is np.uint8 else out)
    high, low = (codes(np.clip(v, -largest, largest), dtype).astype(np.uint32) for v in (a, b))
    shift = 4 if name == "e2m1x2" else 8
    np.testing.assert_array_equal(got, (high << shift | low).astype(got.dtype))


@pytest.mark.parametrize("name", NARROW)
def test_from_narrow(name):
    dtype = NARROW[name]
    width = 4 if name == "e2m1x2" else 8
    count = 1 << ml_dtypes.finfo(dtype).bits
    first = np.arange(count)
    second = first[::-1].copy()
    packed = first << width | second
    if width == 4:
        got = evaluate(f"cvt.u8.u32 e1, a; cvt.rn.f16x2.{name} x, e1;", packed.astype(np.uint32), out=np.uint32)
    else:
        got = evaluate(f"cvt.rn.f16x2.{name} x, a;", packed.astype(np.uint16), out=np.uint32)
    pair = got[:, None].view(np.float16)
    for column, source in ((1, first), (0, second)):
        want = source.astype(np.uint8).view(dtype).astype(np.float32)
        np.testing.assert_array_equal(pair[:, column].astype(np.float32), want)


def test_narrow_nan_infinity_and_relu():
    a = np.array([np.nan, np.inf, -1, 500], np.float32)
    b = np.zeros(4, np.float32)
    x, y, z = evaluate(
        "cvt.rn.satfinite.e4m3x2.f32 x, b, a; cvt.rn.satfinite.e5m2x2.f32 y, b, a; cvt.rn.satfinite.relu.e4m3x2.f32 z, b, a;",
        a, b, out=(np.uint16,) * 3,
    )  # fmt: skip
    assert x.tolist() == [0x7F, 0x7E, 0xB8, 0x7E]
    assert y.tolist() == [0x7F, 0x7B, 0xBC, 0x60]
    assert z.tolist() == [0x7F, 0x7E, 0x00, 0x7E]


def test_narrow_from_f16_pairs():
    pair = np.array([1.5, -3.0], np.float16).view(np.uint32)
    x, y = evaluate(
        "cvt.rn.satfinite.e4m3x2.f16x2 x, a; cvt.rn.satfinite.e5m2x2.f16x2 y, a;", pair, out=(np.uint16,) * 2
    )
    assert x[0].tobytes() == codes([1.5, -3.0], ml_dtypes.float8_e4m3fn).tobytes()
    assert y[0].tobytes() == codes([1.5, -3.0], ml_dtypes.float8_e5m2).tobytes()


def test_scale_format():
    """ue8m0 holds powers of two: rz rounds down, rp up; NaN is 0xff."""
    a = np.array([1, 1.5, 3, np.nan, 2.0**-127, 0], np.float32)
    b = np.ones(6, np.float32)
    x, y = evaluate(
        "cvt.rz.satfinite.ue8m0x2.f32 x, b, a; cvt.rp.satfinite.ue8m0x2.f32 y, b, a;", a, b, out=(np.uint16,) * 2
    )
    assert [v & 0xFF for v in x.tolist()] == [127, 127, 128, 255, 0, 0]
    assert [v & 0xFF for v in y.tolist()] == [127, 128, 129, 255, 0, 0]
    back = evaluate("cvt.rn.bf16x2.ue8m0x2 x, a;", np.array([127 | 130 << 8], np.uint16), out=np.uint32)
    assert back.view(ml_dtypes.bfloat16).astype(float).tolist() == [1.0, 8.0]


def test_round_to_whole_floats():
    a = np.array([0.5, 1.5, -0.5, -1.2, 2.7, -0.0], np.float32)
    got = evaluate(
        "cvt.rni.f32.f32 x, a; cvt.rmi.f32.f32 y, a; cvt.rpi.f32.f32 z, a; cvt.rzi.f32.f32 w, a;",
        a,
        out=(np.uint32,) * 4,
    )
    for g, function in zip(got, (np.rint, np.floor, np.ceil, np.trunc)):
        np.testing.assert_array_equal(g, function(a).view(np.uint32))


def test_pack_integers():
    a = np.array([300, -5, 70000], np.int32)
    b = np.array([-300, 7, -70000], np.int32)
    c = np.array([0, 0x1234, 0xFFFF], np.uint32)
    body = "cvt.pack.sat.u8.s32.b32 x, a, b, c; cvt.pack.sat.s16.s32 y, a, b;"
    x, y = evaluate(body, a.view(np.uint32), b.view(np.uint32), c, out=(np.uint32,) * 2)
    assert [hex(v) for v in x] == ["0xff00", "0x12340007", "0xffffff00"]
    assert [hex(v) for v in y] == ["0x12cfed4", "0xfffb0007", "0x7fff8000"]


def test_stochastic_rounding_is_truncation_after_adding_the_random_bits():
    a = np.array([1 + 2.0**-11, 1 + 2.0**-11], np.float32)
    b = np.zeros(2, np.float32)
    c = np.array([0, 0xFFFF_FFFF], np.uint32)
    got = evaluate("cvt.rs.f16x2.f32 x, a, b, c;", a, b, c, out=np.uint32)
    assert [v >> 16 for v in got.tolist()] == [0x3C00, 0x3C01]
