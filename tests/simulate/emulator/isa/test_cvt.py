"""cvt between all pairs of types, against ml_dtypes, Python integers and rationals."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import SCRATCH, bits, evaluate, exact_round, kernel, run

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


def reverse(bits):
    return int(f"{bits:016b}"[::-1], 2)


@pytest.mark.parametrize("name, residue", [("e4m3x4", 4), ("e5m2x4", 5), ("e3m2x4", 5), ("e2m3x4", 4), ("e2m1x4", 6)])
def test_stochastic_rounding_of_four(name, residue):
    """1 + m / 65536 of a unit in the last place rounds up exactly if m plus the value's random bits overflows."""
    dtype = NARROW[name.replace("x4", "x2")]
    rng = np.random.default_rng(9)
    extra = rng.integers(0, 1 << 16, (200, 4))
    random = rng.integers(0, 1 << 32, 200).astype(np.uint32)
    values = (np.uint32(0x3F800000) | (extra << residue).astype(np.uint32)).view(np.float32)
    out = np.uint16 if name == "e2m1x4" else np.uint32
    packed = np.ascontiguousarray(values).view(np.complex128).reshape(-1)
    lines = "".join(f"ld.global.f32 f{i}, [u12+{4 * i}];" for i in range(4))
    body = f"mad.lo.u64 u12, u10, 16, u0; {lines} cvt.rs.satfinite.{name}.f32 {'h1' if out is np.uint16 else 't9'}, {{f0, f1, f2, f3}}, b; "
    body += "cvt.u32.u16 x, h1;" if out is np.uint16 else "mov.b32 x, t9;"
    got = evaluate_wide(body, packed, random)
    one = int(np.array(1, np.float32).astype(dtype).view(np.uint8))
    width = 4 if name == "e2m1x4" else 8
    for i, word in enumerate(random.tolist()):
        halves = (word >> 16, word & 0xFFFF)
        if name == "e2m1x4":
            halves = tuple(
                (h0 & 0xFF00) | (h1 >> 8) if j == 0 else (h0 & 0xFF) << 8 | (h1 & 0xFF)
                for j, (h0, h1) in enumerate([halves] * 2)
            )
        shares = (reverse(halves[0]), halves[0], reverse(halves[1]), halves[1])
        want = 0
        for m, share in zip(extra[i].tolist(), shares):
            want = want << width | (one + (m + share >= 1 << 16))
        assert got[i] == want


def evaluate_wide(body, rows, words):
    """``evaluate`` of u32 results, one row of 16 bytes (at u0) and one word (in b) per element."""
    out = np.zeros(len(words), np.uint32)
    lines = f"""mov.u32 t0, %ctaid.x; mov.u32 t1, %tid.x; mad.lo.u32 t2, t0, 64, t1; setp.ge.u32 p7, t2, {len(words)}; @p7 exit; cvt.u64.u32 u10, t2;
    mad.lo.u64 u11, u10, 4, u1; ld.global.b32 b, [u11]; {body} mad.lo.u64 u11, u10, 4, u2; st.global.b32 [u11], x;"""
    run(kernel(lines, 3, 64, declare=SCRATCH + " .reg .b32 b, x;"), rows, words, out, grid=-(-len(words) // 64))
    return out


@pytest.mark.parametrize("name", NARROW)
def test_scaled_pairs_to_bf16(name):
    """Each element times 2^(code - 127) of its own scale byte; 0xff is NaN; .satfinite keeps the largest bf16."""
    dtype, bits = NARROW[name], ml_dtypes.finfo(NARROW[name]).bits
    rng = np.random.default_rng(10)
    pair = rng.integers(0, 1 << bits, (500, 2)).astype(np.uint8)
    scale = rng.integers(0, 256, (500, 2)).astype(np.uint8)
    width = 4 if name == "e2m1x2" else 8
    words = (pair[:, 0].astype(np.uint32) | pair[:, 1].astype(np.uint32) << width).astype(np.uint32)
    source = "cvt.u8.u32 e1, a; " if width == 4 else "cvt.u16.u32 h1, a; "
    register = "e1" if width == 4 else "h1"
    scales = scale.view(np.uint16)[:, 0].astype(np.uint32)
    body = (
        source
        + f"cvt.u16.u32 h2, b; cvt.rn.scaled::n2::ue8m0.bf16x2.{name} x, {register}, h2; cvt.rn.satfinite.relu.scaled::n2::ue8m0.bf16x2.{name} y, {register}, h2;"
    )
    x, y = evaluate(body, words, scales, out=(np.uint32,) * 2)
    with np.errstate(all="ignore"):
        exact = pair.view(dtype).astype(np.float64) * np.where(scale == 255, np.nan, np.exp2(scale - 127.0))
        plain = exact.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    largest = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    got = [v.view(ml_dtypes.bfloat16).astype(np.float64).reshape(-1, 2) for v in (x, y)]
    np.testing.assert_array_equal(got[0], plain)
    np.testing.assert_array_equal(got[1], np.clip(np.where(exact < 0, 0, plain), 0, largest))


def test_extreme_scale_factors():
    """Values that a power of two cannot hold: NaN, or with .satfinite 2^127; the magnitude is rounded."""
    a = np.array([np.inf, 3.4e38, -3.0, 2.0**-130, 1.1754942e-38], np.float32)
    body = "cvt.rp.ue8m0x2.f32 x, a, a; cvt.rp.satfinite.ue8m0x2.f32 y, a, a; cvt.rz.ue8m0x2.f32 z, a, a;"
    x, y, z = evaluate(body, a, out=(np.uint16,) * 3)
    assert [v >> 8 for v in x.tolist()] == [255, 255, 129, 0, 1]
    assert [v >> 8 for v in y.tolist()] == [254, 254, 129, 0, 1]
    assert [v >> 8 for v in z.tolist()] == [255, 254, 128, 0, 0]


def test_narrow_from_bf16_pairs():
    pair = np.array([1.5, -3.0], ml_dtypes.bfloat16).view(np.uint32)
    body = "cvt.rn.satfinite.e4m3x2.bf16x2 x, a; cvt.rn.satfinite.relu.e3m2x2.bf16x2 y, a; cvt.rn.satfinite.e2m1x2.bf16x2 e1, a; cvt.u16.u8 z, e1;"
    x, y, z = evaluate(body, pair, out=(np.uint16,) * 3)
    assert x[0].tobytes() == codes([1.5, -3.0], ml_dtypes.float8_e4m3fn).tobytes()
    assert y[0].tobytes() == codes([1.5, 0.0], ml_dtypes.float6_e3m2fn).tobytes()
    low, high = codes([1.5, -3.0], ml_dtypes.float4_e2m1fn)
    assert z[0] == (int(low) & 15) | (int(high) & 15) << 4
