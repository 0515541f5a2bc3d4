"""Float arithmetic against exact rationals: every rounding mode, NaN rules, flushing."""

from fractions import Fraction

import numpy as np
import pytest

from tests.pairwise import pairwise
from tests.simulate.emulator.ptx_kernels import bits, evaluate, exact_round

NAN32, NAN64 = 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF
MODES = ("rn", "rz", "rm", "rp")


def samples(fmt, count=60, seed=0):
    """Finite values over the whole range, with many near-ties and subnormals."""
    rng = np.random.default_rng(seed)
    dtype = {"f32": np.float32, "f64": np.float64}[fmt]
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    wild = rng.integers(0, 1 << (8 * unsigned.itemsize), count, dtype=unsigned).view(dtype)
    tame = rng.standard_normal(count).astype(dtype)
    small = rng.integers(1, 1 << 20, count).astype(unsigned).view(dtype)
    whole = rng.integers(-5, 6, count).astype(dtype)
    close = (1 + rng.integers(-4, 5, count) * np.finfo(dtype).eps).astype(dtype)
    out = np.concatenate([wild, tame, small, whole, close])
    out = out[np.isfinite(out)]
    rng.shuffle(out)
    return out[: 3 * count]


def compare(got, exact, fmt, mode, zero_sign=None):
    unsigned = got.dtype
    for i, value in enumerate(exact):
        if value is None:
            continue
        want = exact_round(value, fmt, mode)
        if want == 0:
            assert int(got[i]) << 1 & ((1 << 8 * unsigned.itemsize) - 1) == 0, (i, hex(got[i]))
            continue
        assert got[i] == bits([want], fmt)[0], (i, hex(got[i]), float(want))


def registers(fmt):
    return ("a", "b", "c") if fmt else ()


@pytest.mark.parametrize(("name", "fmt", "mode"), pairwise(["add", "sub", "mul"], ["f32", "f64"], MODES))
def test_two_operands(name, fmt, mode):
    a, b = samples(fmt, seed=1), samples(fmt, seed=2)
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    b[::7] = -a[::7]
    unsigned = f"u{a.dtype.itemsize}"
    got = evaluate(f"{name}.{mode}.{fmt} x, a, b;", a, b, out=unsigned)
    function = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}[name]
    exact = [function(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b)]
    compare(got, exact, fmt, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_fused_multiply_add(fmt, mode):
    a, b, c = (samples(fmt, seed=s) for s in (3, 4, 5))
    n = min(len(a), len(b), len(c))
    a, b, c = a[:n], b[:n], c[:n]
    with np.errstate(all="ignore"):
        c[::5] = -(a * b)[::5]  # cancellation: only the rounding error of a * b is left
        c[1::5] = (a * b)[1::5] * np.dtype(a.dtype).type(2.0**-24)
    keep = np.isfinite(c)
    a, b, c = a[keep], b[keep], c[keep]
    got = evaluate(f"fma.{mode}.{fmt} x, a, b, c;", a, b, c, out=f"u{a.dtype.itemsize}")
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c)]
    compare(got, exact, fmt, mode)


def test_fma_f32_is_not_rounded_twice():
    """a * b + c lies a hair off a tie; float64 alone would land on the tie and round to even."""
    a = np.array([1 + 2.0**-12, 1 + 2.0**-12, 2.0**-75], np.float32)
    b = np.array([1 + 2.0**-12, 1 + 2.0**-12, 2.0**-75], np.float32)
    c = np.array([2.0**-60, -(2.0**-60), 2.0**-149], np.float32)
    got = evaluate("fma.rn.f32 x, a, b, c;", a, b, c, out=np.uint32)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c)]
    assert [int(g) for g in got] == [int(bits([exact_round(e, "f32")], "f32")[0]) for e in exact]
    assert got[0] != got[1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_division_and_reciprocal(fmt, mode):
    a, b = samples(fmt, seed=6), samples(fmt, seed=7)
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    keep = b != 0
    a, b = a[keep], b[keep]
    out = f"u{a.dtype.itemsize}"
    got, inverse = evaluate(f"div.{mode}.{fmt} x, a, b; rcp.{mode}.{fmt} y, b;", a, b, out=(out, out))
    compare(got, [Fraction(float(x)) / Fraction(float(y)) for x, y in zip(a, b)], fmt, mode)
    compare(inverse, [1 / Fraction(float(y)) for y in b], fmt, mode)


def exact_sqrt(x: Fraction, fmt: str, mode: str) -> Fraction:
    """A rational that rounds like the square root: exact where possible, else within 2^-200, off any tie."""
    scale = 1 << 240
    root = int_sqrt(x.numerator * x.denominator * scale * scale)
    exact = root * root == x.numerator * x.denominator * scale * scale
    return Fraction(2 * root + (0 if exact else 1), 2 * x.denominator * scale)


def int_sqrt(n):
    import math

    return math.isqrt(n)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_square_root(fmt, mode):
    a = np.abs(samples(fmt, 60, seed=8))
    a[:5] = [0.25, 4, 9, 2, 1]
    got = evaluate(f"sqrt.{mode}.{fmt} x, a;", a, out=f"u{a.dtype.itemsize}")
    compare(got, [exact_sqrt(Fraction(float(x)), fmt, mode) for x in a], fmt, mode)


def test_nan_results_are_canonical():
    a = np.array([0x7FC00001, 0xFF800001, 0x7F800000, 0x7F800000, 0], np.uint32)
    b = np.array([0x3F800000, 0x3F800000, 0xFF800000, 0x00000000, 0x7F812345], np.uint32)
    x, y, z = evaluate("add.f32 x, a, b; mul.f32 y, a, b; fma.rn.f32 z, a, b, b;", a, b, out=(np.uint32,) * 3)
    assert [hex(v) for v in x] == [hex(v) for v in (NAN32, NAN32, NAN32, 0x7F800000, NAN32)]
    assert [hex(v) for v in y] == [hex(v) for v in (NAN32, NAN32, 0xFF800000, NAN32, NAN32)]
    assert int(z[0]) == NAN32
    wide = evaluate(
        "add.f64 x, a, b;", np.array([0x7FF8000000000001], np.uint64), np.array([0], np.uint64), out=np.uint64
    )
    assert int(wide[0]) == NAN64


def test_moves_keep_nan_payloads():
    a = np.array([0x7FC12345, 0xFFC00001, 0x7F812345], np.uint32)
    body = "mov.b32 f1, a; mov.f32 f2, f1; setp.eq.u32 p1, a, a; selp.f32 f3, f2, f1, p1; mov.b32 x, f3;"
    np.testing.assert_array_equal(evaluate(body, a, out=np.uint32), a)


def test_min_max():
    inf, nan = np.inf, np.nan
    a = np.array([1, -0.0, 0.0, nan, nan, 2, inf, -3], np.float32)
    b = np.array([2, 0.0, -0.0, 1, nan, nan, -inf, -3], np.float32)
    got = evaluate(
        "min.f32 x, a, b; max.f32 y, a, b; min.NaN.f32 z, a, b; max.NaN.f32 w, a, b;", a, b, out=(np.uint32,) * 4
    )
    f = lambda *v: [int(np.float32(x).view(np.uint32)) if not np.isnan(x) else NAN32 for x in v]
    assert [int(v) for v in got[0]] == f(1, -0.0, -0.0, 1, nan, 2, -inf, -3)
    assert [int(v) for v in got[1]] == f(2, 0.0, 0.0, 1, nan, 2, inf, -3)
    assert [int(v) for v in got[2]] == f(1, -0.0, -0.0, nan, nan, nan, -inf, -3)
    assert [int(v) for v in got[3]] == f(2, 0.0, 0.0, nan, nan, nan, inf, -3)


def test_min_max_variants():
    a = np.array([-1, 3, -2], np.float32)
    b = np.array([2, -1, -5], np.float32)
    c = np.array([0, 7, -9], np.float32)
    body = "min.f32 x, a, b, c; max.f32 y, a, b, c; max.xorsign.abs.f32 z, a, b; min.xorsign.abs.f32 w, a, b;"
    got = evaluate(body, a, b, c, out=(np.float32,) * 4)
    assert got[0].tolist() == [-1, -1, -9] and got[1].tolist() == [2, 7, -2]
    assert got[2].tolist() == [-2, -3, 5] and got[3].tolist() == [-1, -1, 2]


def test_flush_to_zero():
    tiny = np.float32(2.0**-130)
    a = np.array([tiny, -tiny, 2.0**-126, 1], np.float32)
    b = np.array([1, 1, 0.5, tiny], np.float32)
    x, y, z = evaluate(
        "add.ftz.f32 x, a, 0f00000000; mul.ftz.f32 y, a, b; mul.f32 z, a, b;", a, b, out=(np.uint32,) * 3
    )
    assert [hex(v) for v in x] == ["0x0", "0x0", hex(np.float32(2.0**-126).view(np.uint32)), hex(0x3F800000)]
    assert [hex(v) for v in y] == ["0x0", "0x80000000", "0x0", "0x0"]
    np.testing.assert_array_equal(z.view(np.float32), a * b)


def test_saturation():
    a = np.array([-1, 0.25, 2, np.nan, -np.inf, -0.0], np.float32)
    got = evaluate("add.sat.f32 x, a, 0f00000000; cvt.sat.f32.f32 y, a;", a, out=(np.uint32, np.uint32))
    for g in got:
        assert g.view(np.float32).tolist() == [0, 0.25, 1, 0, 0, 0] and (g[[0, 3, 4, 5]] == 0).all()


@pytest.mark.parametrize(
    "name, function, domain, bound",
    [
        ("ex2.approx.f32", np.exp2, (-100, 100), 2.0**-22),
        ("rcp.approx.ftz.f32", lambda x: 1 / x, (0.01, 1000), 2.0**-23),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), (0.01, 1000), 2.0**-22.9),
        ("sqrt.approx.f32", np.sqrt, (0.01, 1000), 2.0**-22),
        ("tanh.approx.f32", np.tanh, (-8, 8), 2.0**-11),
    ],
)
def test_approximations_relative(name, function, domain, bound):
    """Bounds of section 9.7.3."""
    a = np.linspace(*domain, 500, dtype=np.float32)
    got = evaluate(f"{name} x, a;", a, out=np.float32).astype(np.float64)
    want = function(a.astype(np.float64))
    assert (np.abs(got - want) <= bound * np.abs(want)).all()


@pytest.mark.parametrize(
    "name, function, domain, bound",
    [
        ("lg2.approx.f32", np.log2, (0.5, 2), 2.0**-22),
        ("sin.approx.f32", np.sin, (-3.14, 3.14), 2.0**-20.5),
        ("cos.approx.f32", np.cos, (-3.14, 3.14), 2.0**-20.5),
    ],
)
def test_approximations_absolute(name, function, domain, bound):
    a = np.linspace(*domain, 500, dtype=np.float32)
    got = evaluate(f"{name} x, a;", a, out=np.float32).astype(np.float64)
    assert (np.abs(got - function(a.astype(np.float64))) <= bound).all()


def test_approximations_at_the_edges():
    inf, nan = np.inf, np.nan
    a = np.array([-inf, -0.0, 0.0, inf, nan, -1], np.float32)
    body = "ex2.approx.f32 x, a; lg2.approx.f32 y, a; rsqrt.approx.f32 z, a; rcp.rn.f32 w, a;"
    got = evaluate(body, a, out=(np.float32,) * 4)
    np.testing.assert_array_equal(got[0], np.array([0, 1, 1, inf, nan, 0.5], np.float32))
    np.testing.assert_array_equal(got[1], np.array([nan, -inf, -inf, inf, nan, nan], np.float32))
    np.testing.assert_array_equal(got[2], np.array([nan, -inf, inf, 0, nan, nan], np.float32))
    np.testing.assert_array_equal(got[3], np.array([-0.0, -inf, inf, 0, nan, -1], np.float32))


def test_division_variants():
    a = np.linspace(-5, 5, 101, dtype=np.float32)
    b = np.full(101, 3, np.float32)
    got = evaluate("div.approx.f32 x, a, b; div.full.f32 y, a, b;", a, b, out=(np.float32,) * 2)
    for g in got:
        np.testing.assert_allclose(g, a / b, rtol=2.0**-22)


def test_sign_operations():
    a = np.array([1.5, -2.5, 0.0, -0.0, np.inf], np.float32)
    b = np.array([-1, 1, -1, 1, -0.0], np.float32)
    got = evaluate("neg.f32 x, a; abs.f32 y, a; copysign.f32 z, b, a;", a, b, out=(np.uint32,) * 3)
    np.testing.assert_array_equal(got[0], (-a).view(np.uint32))
    np.testing.assert_array_equal(got[1], np.abs(a).view(np.uint32))
    np.testing.assert_array_equal(got[2], np.copysign(a, b).view(np.uint32))


def test_testp():
    a = np.array([1, np.inf, np.nan, 2.0**-130, 0.0, -(2.0**-126)], np.float32)
    want = {
        "finite": "100111",
        "infinite": "010000",
        "number": "110111",
        "notanumber": "001000",
        "normal": "100001",
        "subnormal": "000100",
    }
    for name, row in want.items():
        got = evaluate(f"testp.{name}.f32 p1, a; selp.u32 x, 1, 0, p1;", a, out=np.uint32)
        assert "".join(map(str, got)) == row, name


def test_packed_f32x2():
    rng = np.random.default_rng(1)
    a, b, c = (rng.standard_normal(200).astype(np.float32) for _ in range(3))
    body = "add.rn.f32x2 x, a, b; mul.rn.f32x2 y, a, b; fma.rn.f32x2 z, a, b, c;"
    wide = [v.view(np.uint64) for v in (a, b, c)]
    got = evaluate(body, *wide, out=(np.uint64,) * 3)
    np.testing.assert_array_equal(got[0].view(np.float32), a + b)
    np.testing.assert_array_equal(got[1].view(np.float32), a * b)
    exact = [
        exact_round(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)), "f32") for x, y, z in zip(a, b, c)
    ]
    np.testing.assert_array_equal(got[2].view(np.uint32), bits(exact, "f32"))


def test_reciprocal_of_f64_keeps_the_high_word():
    a = np.linspace(0.1, 50, 100)
    x, y = evaluate("rcp.approx.ftz.f64 x, a; rsqrt.approx.ftz.f64 y, a;", a, out=(np.uint64,) * 2)
    assert (x & np.uint64(0xFFFFFFFF) == 0).all()
    np.testing.assert_allclose(x.view(np.float64), 1 / a, rtol=2.0**-19)
    np.testing.assert_allclose(y.view(np.float64), 1 / np.sqrt(a), rtol=2.0**-19)


def test_mad_rounds_once():
    """mad.f32 is fma since sm_20: one rounding, not one for the multiplication and one for the addition."""
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 512)).astype(np.float32)
    c[:256] = -(a[:256] * b[:256])
    got = evaluate("mad.rn.f32 x, a, b, c;", a.view(np.uint32), b.view(np.uint32), c.view(np.uint32), out=np.float32)
    for i in range(512):
        assert got[i] == np.float32(
            exact_round(Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i])), "f32")
        )


HALVES = np.array([-np.inf, -2, -0.0, 0.0, 6e-8, 1, 65504, np.inf, np.nan], np.float16)


@pytest.mark.parametrize("form", ["", ".NaN"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_extrema_of_halves(name, form):
    """A number wins over NaN unless .NaN asks for it; -0 is less than +0."""
    a, b = (grid.reshape(-1).copy() for grid in np.meshgrid(HALVES, HALVES))
    got = evaluate(f"{name}{form}.f16 x, a, b;", a.view(np.uint16), b.view(np.uint16), out=np.float16)
    choose = np.minimum if name == "min" else np.maximum
    keys = [np.where(np.signbit(v) & (v == 0), np.float32(-1e-9), v.astype(np.float32)) for v in (a, b)]
    first = choose(*keys) == keys[0]
    expected = np.where(first, a, b)
    unordered = np.isnan(a) | np.isnan(b)
    expected = np.where(unordered, np.nan if form else np.where(np.isnan(a), b, a), expected).astype(np.float16)
    np.testing.assert_array_equal(got, expected)
    ordered = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[ordered]), np.signbit(expected[ordered]))
