"""16-bit float arithmetic, scalar and packed, against exact rationals."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import evaluate, exact_round

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
NAN = 0x7FFF


def samples(fmt, count, seed):
    rng = np.random.default_rng(seed)
    wild = rng.integers(0, 1 << 16, count, np.uint16)
    tame = rng.standard_normal(count).astype(TYPES[fmt]).view(np.uint16)
    out = np.concatenate([wild, tame])
    with np.errstate(invalid="ignore"):  # signalling NaNs
        out = out[np.isfinite(out.view(TYPES[fmt]).astype(np.float64))]
    rng.shuffle(out)
    return out[:count]


def rational(codes, fmt):
    return [Fraction(float(v)) for v in codes.view(TYPES[fmt]).astype(np.float64)]


def code(value, fmt):
    return int(np.array(float(value)).astype(TYPES[fmt]).view(np.uint16))


def agree(got, exact, fmt):
    for g, e in zip(got.tolist(), exact):
        want = exact_round(e, fmt)
        assert (g & 0x7FFF == 0) if want == 0 else g == code(want, fmt), (hex(g), float(e))


@pytest.mark.parametrize("fmt", TYPES)
def test_scalar_arithmetic(fmt):
    a, b, c = (samples(fmt, 300, s) for s in (1, 2, 3))
    body = f"add.{fmt} x, a, b; mul.{fmt} y, a, b; fma.rn.{fmt} z, a, b, c; sub.{fmt} w, a, b;"
    got = evaluate(body, a, b, c, out=(np.uint16,) * 4)
    x, y, z = (rational(v, fmt) for v in (a, b, c))
    agree(got[0], [p + q for p, q in zip(x, y)], fmt)
    agree(got[1], [p * q for p, q in zip(x, y)], fmt)
    agree(got[2], [p * q + r for p, q, r in zip(x, y, z)], fmt)
    agree(got[3], [p - q for p, q in zip(x, y)], fmt)


def test_bf16_fma_rounds_once():
    """The product is a tie of bf16; only the far smaller addend breaks it."""
    one = code(1 + 2.0**-4, "bf16")
    square = Fraction(1 + 2.0**-4) ** 2  # 1.12890625 = a tie between bf16 neighbours
    assert exact_round(square, "bf16") != square
    tiny = [code(2.0**-100, "bf16"), code(-(2.0**-100), "bf16")]
    a = np.full(2, one, np.uint16)
    got = evaluate("fma.rn.bf16 x, a, a, b;", a, np.array(tiny, np.uint16), out=np.uint16)
    assert got[0] == got[1] + 1


@pytest.mark.parametrize("fmt", TYPES)
def test_packed_is_scalar_twice(fmt):
    a, b, c = (samples(fmt, 256, s) for s in (4, 5, 6))
    scalar = evaluate(f"add.{fmt} x, a, b; fma.rn.{fmt} y, a, b, c; min.{fmt} z, a, b;", a, b, c, out=(np.uint16,) * 3)
    words = [v.view(np.uint32) for v in (a, b, c)]
    packed = evaluate(
        f"add.{fmt}x2 x, a, b; fma.rn.{fmt}x2 y, a, b, c; min.{fmt}x2 z, a, b;", *words, out=(np.uint32,) * 3
    )
    for s, p in zip(scalar, packed):
        np.testing.assert_array_equal(p.view(np.uint16), s)


@pytest.mark.parametrize("fmt", TYPES)
def test_nan_rules(fmt):
    nan = np.array([0x7F81 if fmt == "bf16" else 0x7C01], np.uint16)
    one = np.array([code(1, fmt)], np.uint16)
    got = evaluate(f"add.{fmt} x, a, b; min.{fmt} y, a, b; min.NaN.{fmt} z, a, b;", nan, one, out=(np.uint16,) * 3)
    assert got[0][0] == NAN and got[1][0] == one[0] and got[2][0] == NAN


def test_relu_sat_ftz():
    a = np.array([code(v, "f16") for v in (-2, 0.5, 3)] + [1, NAN], np.uint16)
    one = np.full(5, code(1, "f16"), np.uint16)
    zero = np.zeros(5, np.uint16)
    body = "fma.rn.relu.f16 x, a, b, c; fma.rn.sat.f16 y, a, b, c; fma.rn.ftz.f16 z, a, b, c;"
    x, y, z = evaluate(body, a, one, zero, out=(np.uint16,) * 3)
    assert x.tolist() == [0, code(0.5, "f16"), code(3, "f16"), 1, NAN]
    assert y.tolist() == [0, code(0.5, "f16"), code(1, "f16"), 1, 0]
    assert z[3] == 0


def test_sign_and_special_functions():
    a = np.linspace(-3, 3, 64).astype(np.float16)
    x, y, z, w = evaluate(
        "neg.f16 x, a; abs.f16 y, a; ex2.approx.f16 z, a; tanh.approx.f16 w, a;", a, out=(np.float16,) * 4
    )
    np.testing.assert_array_equal(x, -a)
    np.testing.assert_array_equal(y, np.abs(a))
    np.testing.assert_allclose(z.astype(float), np.exp2(a.astype(float)), rtol=2.0**-9.9)
    np.testing.assert_allclose(w.astype(float), np.tanh(a.astype(float)), atol=2.0**-10.9)


def test_bf16_functions_flush_and_pack():
    a = np.linspace(-4, 4, 64).astype(ml_dtypes.bfloat16)
    got = evaluate("ex2.approx.ftz.bf16x2 x, a; tanh.approx.bf16x2 y, a;", a.view(np.uint32), out=(np.uint32,) * 2)
    want = a.astype(np.float64)
    np.testing.assert_allclose(got[0].view(ml_dtypes.bfloat16).astype(float), np.exp2(want), rtol=2.0**-7)
    np.testing.assert_allclose(got[1].view(ml_dtypes.bfloat16).astype(float), np.tanh(want), rtol=2.0**-8)


def test_comparisons():
    a = np.array([code(v, "f16") for v in (1, 2, 3)] + [NAN], np.uint16)
    b = np.full(4, code(2, "f16"), np.uint16)
    got = evaluate(
        "setp.lt.f16 p1, a, b; selp.u32 x, 1, 0, p1; setp.geu.f16 p2, a, b; selp.u32 y, 1, 0, p2;",
        a,
        b,
        out=(np.uint32,) * 2,
    )
    assert got[0].tolist() == [1, 0, 0, 0] and got[1].tolist() == [0, 1, 1, 1]
    words = np.array([int(a[0]) | int(a[2]) << 16], np.uint32)
    both = np.array([int(b[0]) | int(b[0]) << 16], np.uint32)
    got = evaluate(
        "setp.lt.f16x2 p1|p2, a, b; selp.u32 x, 1, 0, p1; selp.u32 y, 1, 0, p2;", words, both, out=(np.uint32,) * 2
    )
    assert (got[0][0], got[1][0]) == (1, 0)


def test_mixed_precision():
    """16-bit operands in a float32 operation."""
    a = np.array([1.5, -2.25, 0.0999], np.float16)
    b = np.array([3, 0.5, 7], np.float16)
    c = np.array([1e-3, 100, -5], np.float32)
    body = "add.f32.f16 x, a, c; sub.rn.f32.f16 y, a, c; fma.rn.f32.f16 z, a, b, c;"
    x, y, z = evaluate(body, a, b, c, out=(np.float32,) * 3)
    wide = a.astype(np.float32)
    np.testing.assert_array_equal(x, wide + c)
    np.testing.assert_array_equal(y, wide - c)
    np.testing.assert_array_equal(z, (a.astype(np.float64) * b + c).astype(np.float32))
