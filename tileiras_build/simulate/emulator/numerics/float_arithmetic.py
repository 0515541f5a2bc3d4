"""Float arithmetic with PTX's rounding, flushing and NaN rules, on NumPy arrays and scalars.

float32 and float64 add, mul, div and sqrt are NumPy's own (round to nearest even, subnormals kept). The rest is
built from error-free transformations: the exact result is a rounded value plus the sign of its error
(``directed_rounding.py`` uses it for other directions). 16-bit floats (``float_formats.py``) are computed in float32, which is exact
enough that rounding twice is harmless for + - * / sqrt (24 >= 2p + 2); fused multiply-add goes through float64 rounded to odd.
"""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np

from ..codegen.runtime_support import exporter
from ..native import elementwise_f32
from . import transcendentals
from .float_formats import f32, f64, halves, join_halves, narrow, u16, u32, u64, widen

NAN32 = u32(0x7FFFFFFF).view(f32)
NAN64 = u64(0x7FFFFFFFFFFFFFFF).view(f64)
TINY32 = f32(2.0**-126)

NAMESPACE: dict = {}
export = exporter(NAMESPACE)


# -- bits --------------------------------------------------------------------------------------------
@export
def bits32(x):
    """Bits of a float32 result with canonical NaNs (0x7fffffff)."""
    nan = np.isnan(x)
    if nan.any():
        x = np.where(nan, NAN32, x)
    return x.view(u32)


@export
def canonicalize_nans(x):
    """A float32 result with canonical NaNs."""
    return bits32(x).view(f32)


@export
def bits64(x):
    """Bits of a float64 result with canonical NaNs."""
    nan = np.isnan(x)
    if nan.any():
        x = np.where(nan, NAN64, x)
    return x.view(u64)


@export
def flush(x):
    """Replace subnormal float32 values by zeros of the same sign."""
    return x * (np.abs(x) >= TINY32)


@export
def saturate(x):
    """Clamp to [0, 1]; NaN becomes +0."""
    return np.fmin(np.fmax(x, x.dtype.type(0)), x.dtype.type(1)) + x.dtype.type(0)


# -- exact results -----------------------------------------------------------------------------------
def two_sum(a, b):
    """(s, e): s = RN(a + b), s + e exact."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a, b):
    """(p, e) for float64, by Dekker; valid away from overflow and underflow."""
    p = a * b
    c = f64(134217729.0)
    ah = a * c
    ah = ah - (ah - a)
    al = a - ah
    bh = b * c
    bh = bh - (bh - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def round_to_odd(s, e):
    """Round a float64 value s + e to odd: inexact values have the lowest bit set, so a later rounding is correct."""
    b = np.asarray(s).view(u64)
    fix = (e != 0) & ((b & u64(1)) == 0) & np.isfinite(s)
    away = (e > 0) == (s > 0)
    zero = s == 0
    moved = np.where(zero, np.copysign(f64(5e-324), e).view(u64), np.where(away, b + u64(1), b - u64(1)))
    return np.where(fix, moved, b).view(f64)


def add_to_odd(p, c):
    """p + c (float64) rounded to odd."""
    s, e = two_sum(p, c)
    return round_to_odd(s, np.where(np.isfinite(e), e, 0.0))


_LOW29, _HALF29 = u64(0x1FFFFFFF), u64(0x10000000)


@export
def fma32(a, b, c):
    """Correctly rounded float32 fused multiply-add (the product is exact in float64)."""
    if (by_code := elementwise_f32.try_apply("fma", a, b, c)) is not None:
        return by_code
    p = np.multiply(a, b, dtype=f64)
    s = p + c
    r = s.astype(f32)
    doubtful = (s.view(u64) & _LOW29) == _HALF29
    doubtful |= np.abs(r) < TINY32
    if doubtful.any():
        if np.ndim(r) == 0:
            return add_to_odd(p, f64(c)).astype(f32)[()]
        pick = np.nonzero(doubtful)
        cc = np.broadcast_to(c, r.shape)[pick].astype(f64)
        r[pick] = add_to_odd(np.broadcast_to(p, r.shape)[pick], cc).astype(f32)
    return r


_NEAREST = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "fma": fma32}


@export
def f32x2_operation(name: str, *values):
    """One half of an f32x2 operation that rounds to nearest even, with canonical NaNs."""
    by_code = elementwise_f32.try_apply(name, *values)  # never returns a NaN
    return canonicalize_nans(_NEAREST[name](*values)) if by_code is None else by_code


_libm = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
_libm.fma.restype = ctypes.c_double
_libm.fma.argtypes = [ctypes.c_double] * 3


@export
def fma64(a, b, c):
    """Correctly rounded float64 fused multiply-add (Boldo and Melquiond); extremes element by element in libm."""
    if np.ndim(a) == np.ndim(b) == np.ndim(c) == 0:
        return f64(_libm.fma(a, b, c))
    a, b, c = np.broadcast_arrays(a, b, c)
    ph, pl = two_product(a, b)
    th, tl = two_sum(c, pl)
    vh, vl = two_sum(ph, th)
    z = add_to_odd(tl, vl)
    r = vh + z
    size = np.abs(ph)
    safe = (size > 1e-250) & (size < 1e290) & (np.abs(a) < 1e290) & (np.abs(b) < 1e290) & (np.abs(c) < 1e290)
    if not safe.all():
        plain = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
        r = np.where(plain, a * b + c, r)
        index = np.nonzero(~safe & ~plain)
        if len(index[0]):
            r[index] = [_libm.fma(x, y, w) for x, y, w in zip(a[index].tolist(), b[index].tolist(), c[index].tolist())]
    return r[()]


# -- comparisons that select -------------------------------------------------------------------------
@export
def min_max(name: str, a, b, nan: bool = False, xorsign: bool = False):
    """min/max: a NaN loses (or, with .NaN, wins), -0 < +0; .xorsign.abs compares magnitudes, sign is the xor."""
    if xorsign:
        sign = np.signbit(a) != np.signbit(b)
        r = min_max(name, np.abs(a), np.abs(b), nan)
        return np.where(sign, -r, r)
    if a.dtype == f32 and (by_code := elementwise_f32.try_apply(name, a, b)) is not None:
        return by_code
    if nan:
        r = np.minimum(a, b) if name == "min" else np.maximum(a, b)
    else:
        r = np.fmin(a, b) if name == "min" else np.fmax(a, b)
        lost = np.isnan(r)
        if lost.any():  # fmin propagates signaling NaNs
            r = np.where(lost, np.where(np.isnan(a), b, a), r)
    zero = r == 0
    if zero.any():
        negative = (np.signbit(a) | np.signbit(b)) if name == "min" else (np.signbit(a) & np.signbit(b))
        r = np.where(zero & (a == b), np.where(negative, r.dtype.type(-0.0), r.dtype.type(0)), r)
    return r


@export
def reciprocal_sqrt(x):
    return (f64(1) / np.sqrt(x.astype(f64))).astype(x.dtype)


@export
def high_word(x):
    """A float64 with the low 32 bits of its pattern cleared; subnormals flushed."""
    r = (np.asarray(x).view(u64) & u64(0xFFFFFFFF00000000)).view(f64)
    return np.where(np.isnan(x), NAN64, np.where(np.abs(r) < 2.0**-1022, r * 0, r))[()]


@export
def approximate(name: str, x):
    """ex2, lg2, sin, cos, tanh of float32, and rcp, sqrt, rsqrt in the precision of x."""
    return _APPROXIMATE[name](x) if name in _APPROXIMATE else transcendentals.evaluate(name, x)


@export
def approximate_flushed(name: str, x):
    """Like ``approximate``, with .ftz."""
    if name == "ex2" and (by_code := elementwise_f32.try_apply("ex2.ftz", x)) is not None:
        return by_code
    return flush(approximate(name, flush(x)))


_APPROXIMATE = {
    "rcp": lambda x: x.dtype.type(1) / x, "sqrt": np.sqrt, "rsqrt": reciprocal_sqrt,
}  # fmt: skip


# -- 16-bit arithmetic -------------------------------------------------------------------------------
def _half_fma(a, b, c):
    return add_to_odd(np.multiply(a, b, dtype=f64), c.astype(f64))


_HALF_OPS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "fma": _half_fma,
}  # fmt: skip


@export
def half_arithmetic(name: str, fmt: str, packed: bool, flags: frozenset, *bits):
    """16-bit float arithmetic on codes: uint16 values, or pairs packed in uint32."""
    if packed:
        bits = [halves(b) for b in bits]
    else:
        bits = [np.asarray(b) for b in bits]
    if name in ("abs", "neg"):
        mask = u16(0x7FFF if name == "abs" else 0x8000)
        out = bits[0] & mask if name == "abs" else bits[0] ^ mask
        return join_halves(out) if packed else out[()]
    values = [widen(fmt, b) for b in bits]
    tiny = f32(2.0**-14) if fmt == "f16" else TINY32
    if "ftz" in flags:
        values = [v * (np.abs(v) >= tiny) for v in values]
    if name in ("min", "max"):
        r = values[0]
        for v in values[1:]:
            r = min_max(name, r, v, "NaN" in flags, "xorsign" in flags)
    elif name in _HALF_OPS:
        r = _HALF_OPS[name](*values)
    else:
        r = approximate(name, values[0])
    out = narrow(fmt, np.asarray(r))
    if flags & {"ftz", "sat", "relu"}:
        v = widen(fmt, out)
        if "ftz" in flags:
            v = v * (np.abs(v) >= tiny)
        if "sat" in flags:
            v = saturate(v)
        if "relu" in flags:
            v = np.where(v > 0, v, np.where(np.isnan(v), v, f32(0)))
        out = narrow(fmt, v)
    return join_halves(out) if packed else np.asarray(out)[()]


@export
def half_as_float32(fmt: str, bits):
    """float32 values of 16-bit codes, for setp."""
    return widen(fmt, np.asarray(bits))
