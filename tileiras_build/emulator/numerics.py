"""Float arithmetic with PTX's rounding, flushing and NaN rules, on NumPy arrays and scalars.

float32 and float64 add, mul, div and sqrt are NumPy's own (round to nearest even, subnormals kept). The rest is
built from error-free transformations: the exact result is known as a rounded value plus the sign of its error.
16-bit floats are computed in float32, which is exact enough that rounding twice is harmless for + - * / sqrt
(24 >= 2p + 2); fused multiply-add goes through float64 rounded to odd.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from . import functions

f32, f64, u16, u32, u64 = np.float32, np.float64, np.uint16, np.uint32, np.uint64

NAN32 = u32(0x7FFFFFFF).view(f32)
NAN64 = u64(0x7FFFFFFFFFFFFFFF).view(f64)
TINY32 = f32(2.0**-126)

NAMESPACE: dict = {}


def export(function):
    NAMESPACE[function.__name__] = function
    return function


# -- bits --------------------------------------------------------------------------------------------
@export
def bits32(x):
    """Bits of a float32 result, NaNs canonical (0x7fffffff)."""
    nan = np.isnan(x)
    if nan.any():
        x = np.where(nan, NAN32, x)
    return x.view(u32)


@export
def bits64(x):
    """Bits of a float64 result, NaNs canonical."""
    nan = np.isnan(x)
    if nan.any():
        x = np.where(nan, NAN64, x)
    return x.view(u64)


@export
def flush(x):
    """Subnormal float32 values become zeros of the same sign."""
    return x * (np.abs(x) >= TINY32)


@export
def saturate(x):
    """Clamp to [0, 1]; NaN becomes +0."""
    return np.fmin(np.fmax(x, x.dtype.type(0)), x.dtype.type(1)) + x.dtype.type(0)


# -- small formats -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Format:
    """A float format: ``mantissa`` explicit bits; ``finite``: no infinity; ``nan``: the canonical NaN code or None."""

    name: str
    bits: int
    exponent: int
    mantissa: int
    bias: int
    infinity: bool
    nan: int | None
    max_code: int

    def __post_init__(self):
        assert self.bits in (self.exponent + self.mantissa + 1, self.exponent + self.mantissa)

    @property
    def maximum(self) -> float:
        return float(decode_codes(self, np.array([self.max_code]))[0])


FORMATS = {
    f.name: f
    for f in (
        Format("f16", 16, 5, 10, 15, True, 0x7FFF, 0x7BFF),
        Format("bf16", 16, 8, 7, 127, True, 0x7FFF, 0x7F7F),
        Format("tf32", 19, 8, 10, 127, True, 0x3FFFF, 0x3FBFF),
        Format("e4m3", 8, 4, 3, 7, False, 0x7F, 0x7E),
        Format("e5m2", 8, 5, 2, 15, True, 0x7F, 0x7B),
        Format("e3m2", 6, 3, 2, 3, False, None, 0x1F),
        Format("e2m3", 6, 2, 3, 1, False, None, 0x1F),
        Format("e2m1", 4, 2, 1, 1, False, None, 0x7),
    )
}


def decode_codes(fmt: Format, codes: np.ndarray) -> np.ndarray:
    """float64 values of codes."""
    codes = np.asarray(codes).astype(np.int64)
    sign = np.where(codes >> (fmt.bits - 1) & 1, -1.0, 1.0)
    exponent = codes >> fmt.mantissa & (1 << fmt.exponent) - 1
    fraction = codes & (1 << fmt.mantissa) - 1
    scale = np.where(exponent == 0, 1, exponent) - fmt.bias - fmt.mantissa
    value = np.ldexp(np.where(exponent == 0, fraction, fraction + (1 << fmt.mantissa)).astype(f64), scale)
    if fmt.infinity:
        top = exponent == (1 << fmt.exponent) - 1
        value = np.where(top, np.where(fraction == 0, np.inf, np.nan), value)
    elif fmt.nan is not None:
        value = np.where((codes & (1 << fmt.bits - 1) - 1) == fmt.nan, np.nan, value)
    return sign * value


_TABLES: dict = {}


def table(name: str) -> np.ndarray:
    """float32 value of every code of a format of at most 16 bits."""
    found = _TABLES.get(name)
    if found is None:
        fmt = FORMATS[name]
        found = _TABLES[name] = decode_codes(fmt, np.arange(1 << fmt.bits)).astype(f32)
    return found


_ROUND = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil,
          "rna": lambda x: np.trunc(x + np.copysign(0.5, x))}  # fmt: skip


def encode(name: str, x, mode: str = "rn", satfinite: bool = False, relu: bool = False) -> np.ndarray:
    """Codes (int64) of float64 values in a format. Without ``satfinite``, overflow gives infinity (or NaN)."""
    fmt = FORMATS[name]
    x = np.asarray(x, f64)
    if relu:
        x = np.where(x > 0, x, np.where(np.isnan(x), x, 0.0))
    finite = np.where(np.isfinite(x), x, 0.0)
    _, e = np.frexp(finite)
    low = 1 - fmt.bias
    e = np.where(finite == 0, low, np.maximum(e - 1, low))
    m = np.abs(_ROUND[mode](np.ldexp(finite, fmt.mantissa - e))).astype(np.int64)
    carry = m >> (fmt.mantissa + 1)
    m, e = np.where(carry, m >> 1, m), e + carry
    one = 1 << fmt.mantissa
    code = np.where(m < one, m, (e + fmt.bias) * one + (m - one))
    code = overflow(fmt, x, code, mode, satfinite)
    sign = np.where(np.signbit(x), 1 << (fmt.bits - 1), 0)
    code = code | sign
    if fmt.nan is not None:
        return np.where(np.isnan(x), fmt.nan, code)
    return np.where(np.isnan(x), fmt.max_code, code)


def overflow(fmt: Format, x, code, mode: str, satfinite: bool):
    """Replace codes above the largest finite one."""
    high = np.isinf(x) | (code > fmt.max_code)
    if satfinite or not (fmt.infinity or fmt.nan is not None):
        return np.where(high, fmt.max_code, code)
    top = ((1 << fmt.exponent) - 1) << fmt.mantissa if fmt.infinity else fmt.nan
    toward_zero = {"rz": True, "rm": ~np.signbit(x), "rp": np.signbit(x)}.get(mode, False)
    return np.where(high, np.where(toward_zero & np.isfinite(x), fmt.max_code, top), code)


@export
def widen(name: str, bits):
    """float32 values of 16-bit codes."""
    if name == "bf16":
        return (bits.astype(u32) << u32(16)).view(f32)
    if name == "f16":
        return bits.view(np.float16).astype(f32)
    return table(name)[bits]


@export
def narrow(name: str, x, mode: str = "rn", satfinite: bool = False):
    """16-bit codes (uint16) of float32 or float64 values; NaNs canonical (0x7fff)."""
    if mode == "rn" and not satfinite and x.dtype == f32:
        nan = np.isnan(x)
        if name == "f16":
            out = x.astype(np.float16).view(u16)
        else:
            b = x.view(u32)
            out = ((b + u32(0x7FFF) + ((b >> u32(16)) & u32(1))) >> u32(16)).astype(u16)
        return np.where(nan, u16(0x7FFF), out) if nan.any() else out
    return encode(name, x, mode, satfinite).astype(u16)[()]


def halves(x):
    """A packed pair of 16-bit values as an array with a last axis of 2."""
    return np.ascontiguousarray(x)[..., None].view(u16).reshape(*np.shape(x), 2)


def join_halves(x):
    """The inverse of ``halves``."""
    return np.ascontiguousarray(x).view(u32)[..., 0]


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


def to_odd(s, e):
    """Round a float64 value s + e to odd: inexact values end in a one bit, so a later rounding is correct."""
    b = np.asarray(s).view(u64)
    fix = (e != 0) & ((b & u64(1)) == 0) & np.isfinite(s)
    away = (e > 0) == (s > 0)
    zero = s == 0
    moved = np.where(zero, np.copysign(f64(5e-324), e).view(u64), np.where(away, b + u64(1), b - u64(1)))
    return np.where(fix, moved, b).view(f64)


def sum_odd(p, c):
    """p + c (float64) rounded to odd."""
    s, e = two_sum(p, c)
    return to_odd(s, np.where(np.isfinite(e), e, 0.0))


_LOW29, _HALF29 = u64(0x1FFFFFFF), u64(0x10000000)


@export
def fma32(a, b, c):
    """Correctly rounded float32 fused multiply-add (the product is exact in float64)."""
    p = np.multiply(a, b, dtype=f64)
    s = p + c
    r = s.astype(f32)
    doubtful = (s.view(u64) & _LOW29) == _HALF29
    doubtful |= np.abs(r) < TINY32
    if doubtful.any():
        if np.ndim(r) == 0:
            return sum_odd(p, f64(c)).astype(f32)[()]
        pick = np.nonzero(doubtful)
        cc = np.broadcast_to(c, r.shape)[pick].astype(f64)
        r[pick] = sum_odd(np.broadcast_to(p, r.shape)[pick], cc).astype(f32)
    return r


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
    z = sum_odd(tl, vl)
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


def directed(r, error, mode: str):
    """Move a nearest-rounded r so that r + error is rounded in the given direction."""
    t = r.dtype.type
    up, down = np.nextafter(r, t(np.inf)), np.nextafter(r, t(-np.inf))
    if mode == "rp":
        return np.where(error > 0, up, r)
    if mode == "rm":
        return np.where(error < 0, down, r)
    return np.where((error < 0) & (r > 0), down, np.where((error > 0) & (r < 0), up, r))


def sum_error(a, b, r):
    """Sign-correct error of r = RN(a + b), overflow included."""
    _, e = two_sum(a, b)
    over = np.isinf(r) & np.isfinite(a) & np.isfinite(b)
    return np.where(over, -np.sign(r), np.where(np.isfinite(e), e, 0))


def exact_error32(exact_high, exact_low, r):
    """Sign of (high + low) - r for float64 high, low and float32 r."""
    d = np.where(np.isinf(r) & np.isfinite(exact_high), -np.sign(r), exact_high - r.astype(f64))
    d = np.where(np.isnan(d), 0, d)
    return np.where(d != 0, d, exact_low)


def _add32(a, b, mode):
    s, e = two_sum(a.astype(f64), b.astype(f64))
    r = s.astype(f32)
    r = directed(r, exact_error32(s, np.where(np.isfinite(e), e, 0), r), mode)
    return negative_zero(r, a, b, mode)


def negative_zero(r, a, b, mode):
    """x - x is -0 when rounding down."""
    if mode != "rm":
        return r
    return np.where((r == 0) & (np.signbit(a) != np.signbit(b)), r.dtype.type(-0.0), r)


def _mul32(a, b, mode):
    p = np.multiply(a, b, dtype=f64)
    r = p.astype(f32)
    return directed(r, exact_error32(p, f64(0), r), mode)


def _fma32(a, b, c, mode):
    s, e = two_sum(np.multiply(a, b, dtype=f64), c.astype(f64))
    r = s.astype(f32)
    r = directed(r, exact_error32(s, np.where(np.isfinite(e), e, 0), r), mode)
    return negative_zero(r, np.multiply(a, b), c, mode)


def _div32(a, b, mode):
    r = a / b
    rest = a.astype(f64) - r.astype(f64) * b.astype(f64)
    error = np.where(
        np.isfinite(rest), rest * np.sign(b), np.where(np.isinf(r) & np.isfinite(a) & (b != 0), -np.sign(r), 0)
    )
    return directed(r, error, mode)


def _sqrt32(a, mode):
    r = np.sqrt(a)
    rest = a.astype(f64) - r.astype(f64) * r.astype(f64)
    return directed(r, np.where(np.isfinite(rest), rest, 0), mode)


def _exact64(name: str, a, b=0.0, c=0.0):
    """The exact result as a rational (square roots: compared by squares instead)."""
    a, b, c = Fraction(a), Fraction(b), Fraction(c)
    return {"mul": lambda: a * b, "fma": lambda: a * b + c, "div": lambda: a / b}[name]()


def _sign64(name: str, values, r: float) -> int:
    """Sign of the exact result minus r, for finite operands, by rationals."""
    if name == "div" and values[1] == 0:
        return 0
    if math.isinf(r):
        return -1 if r > 0 else 1
    if name == "sqrt":
        rest = Fraction(values[0]) - Fraction(r) ** 2
    else:
        rest = _exact64(name, *values) - Fraction(r)
    return (rest > 0) - (rest < 0)


def _error64(name: str, values, r, fast):
    """Errors of rounded float64 results; ``fast`` is trusted where no intermediate can under- or overflow."""
    values = np.broadcast_arrays(*values, r)
    error = np.array(np.broadcast_to(np.where(np.isfinite(fast), fast, 0), r.shape))
    hard = np.zeros(r.shape, bool)
    for value in values:
        size = np.abs(value)
        hard |= (value != 0) & ~((size > 1e-70) & (size < 1e70))
    finite = np.logical_and.reduce([np.isfinite(v) for v in values[:-1]]) & ~np.isnan(r)
    error[~finite] = 0
    for index in map(tuple, np.argwhere(hard & finite)):  # argwhere takes 0-d arrays too
        error[index] = _sign64(name, [float(v[index]) for v in values[:-1]], float(r[index]))
    return error


def _add64(a, b, mode):
    r = a + b
    return negative_zero(directed(r, sum_error(a, b, r), mode), a, b, mode)


def _mul64(a, b, mode):
    r = np.asarray(a * b)
    return directed(r, _error64("mul", (a, b), r, two_product(a, b)[1]), mode)


def _fma64(a, b, c, mode):
    r = np.asarray(fma64(a, b, c))
    ph, pl = two_product(a, b)
    s, e1 = two_sum(ph, -r)
    t, e2 = two_sum(s, c)
    r = directed(r, _error64("fma", (a, b, c), r, t + (e1 + e2 + pl)), mode)
    return negative_zero(r, a * b, c, mode)


def _div64(a, b, mode):
    r = np.asarray(a / b)
    return directed(r, _error64("div", (a, b), r, -np.asarray(fma64(r, b, -a)) * np.sign(b)), mode)


def _sqrt64(a, mode):
    r = np.asarray(np.sqrt(a))
    return directed(r, _error64("sqrt", (a,), r, -np.asarray(fma64(r, r, -a))), mode)


_DIRECTED = {
    ("add", 4): _add32, ("mul", 4): _mul32, ("fma", 4): _fma32, ("div", 4): _div32, ("sqrt", 4): _sqrt32,
    ("add", 8): _add64, ("mul", 8): _mul64, ("fma", 8): _fma64, ("div", 8): _div64, ("sqrt", 8): _sqrt64,
}  # fmt: skip


@export
def rounded(name: str, mode: str, *values):
    """An operation rounded toward zero, down or up (mode rz, rm, rp)."""
    values = [np.asarray(v) for v in values]
    if name == "sub":
        name, values = "add", [values[0], -values[1]]
    if name == "rcp":
        name, values = "div", [values[0].dtype.type(1), values[0]]
    return _DIRECTED[name, values[0].dtype.itemsize](*values, mode)[()]


# -- comparisons that select -------------------------------------------------------------------------
@export
def extreme(name: str, a, b, nan: bool = False, xorsign: bool = False):
    """min/max: a NaN loses (or, with .NaN, wins), -0 < +0; .xorsign.abs compares magnitudes, sign is the xor."""
    if xorsign:
        sign = np.signbit(a) != np.signbit(b)
        r = extreme(name, np.abs(a), np.abs(b), nan)
        return np.where(sign, -r, r)
    if nan:
        r = np.minimum(a, b) if name == "min" else np.maximum(a, b)
    else:
        r = np.fmin(a, b) if name == "min" else np.fmax(a, b)
        lost = np.isnan(r)
        if lost.any():  # fmin gives up on signalling NaNs
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
    return _APPROXIMATE[name](x) if name in _APPROXIMATE else functions.evaluate(name, x)


_APPROXIMATE = {
    "rcp": lambda x: x.dtype.type(1) / x, "sqrt": np.sqrt, "rsqrt": reciprocal_sqrt,
}  # fmt: skip


# -- 16-bit arithmetic -------------------------------------------------------------------------------
def _small_fma(a, b, c):
    return sum_odd(np.multiply(a, b, dtype=f64), c.astype(f64))


_SMALL = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "fma": _small_fma,
}  # fmt: skip


@export
def small(name: str, fmt: str, packed: bool, flags: frozenset, *bits):
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
            r = extreme(name, r, v, "NaN" in flags, "xorsign" in flags)
    elif name in _SMALL:
        r = _SMALL[name](*values)
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
def compare_small(fmt: str, bits):
    """float32 values of 16-bit codes, for setp."""
    return widen(fmt, np.asarray(bits))


# -- conversions -------------------------------------------------------------------------------------
_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


@export
def float_to_int(x, mode: str, kind):
    """Round to an integer and saturate; NaN becomes 0 (64-bit: 0x8000000000000000)."""
    info = np.iinfo(kind)
    r = _TO_INTEGER[mode](x.astype(f64) if x.dtype != f64 else x)
    low, high = float(info.min), float(info.max)
    inside = (r >= low) & (r < high + 1) if info.bits == 64 else (r >= low) & (r <= high)
    safe = np.where(inside, r, 0.0).astype(kind)
    if np.all(inside):
        return safe[()]
    nan = kind(0) if info.bits != 64 else (u64(1 << 63).view(kind))
    edge = np.where(np.isnan(r), nan, np.where(r < 0, kind(info.min), kind(info.max)))
    return np.where(inside, safe, edge)[()]


@export
def int_to_float(x, mode: str, kind):
    """Integers to float32/float64, any rounding."""
    r = np.asarray(x).astype(kind)
    if mode == "rn":
        return r[()]
    error = np.asarray(x).astype(np.longdouble) - r.astype(np.longdouble)
    return directed(r, error, mode)[()]


@export
def float_to_float(x, mode: str, kind):
    """float64 to float32 in any rounding."""
    r = x.astype(kind)
    if mode == "rn" or kind is f64:
        return r
    return directed(np.asarray(r), exact_error32(np.asarray(x).astype(f64), f64(0), np.asarray(r)), mode)[()]


@export
def round_to_tf32(x, mode: str, satfinite: bool = False, relu: bool = False):
    """tf32 bits (a float32 pattern with 13 low zero bits) of float32 values."""
    nan = np.isnan(x)
    b = np.asarray(x).view(u32)
    if mode == "rna":
        r = b + u32(0x1000)
    elif mode == "rn":
        r = b + u32(0xFFF) + ((b >> u32(13)) & u32(1))
    else:
        r = b
    r = r & u32(0xFFFFE000)
    if satfinite:
        r = np.where((r & u32(0x7FFFFFFF)) >= u32(0x7F800000), (b & u32(0x80000000)) | u32(0x7F7FE000), r)
    r = np.where(np.isinf(x) & ~np.bool_(satfinite), b, r)
    if relu:
        r = np.where(b >> u32(31), u32(0), r)
    return np.where(nan, u32(0x7FFFFFFF), r)[()]


@export
def pack_codes(name: str, mode: str, satfinite: bool, relu: bool, *values):
    """Codes of several float32 values in one integer, the last value in the low bits (cvt … d, a, b: a is high)."""
    width = 8 if FORMATS[name].bits in (8, 6) else FORMATS[name].bits
    out = 0
    for value in values:
        out = (out << width) | encode(name, value, mode, satfinite, relu)
    total = max(width * len(values), 8)
    return np.asarray(out).astype(np.dtype(f"u{total // 8}"))[()]


@export
def unpack_codes(name: str, bits, count: int):
    """float32 values of packed codes, low first."""
    width = 8 if FORMATS[name].bits in (8, 6) else FORMATS[name].bits
    mask = (1 << FORMATS[name].bits) - 1
    bits = np.asarray(bits).astype(np.int64)
    return [table(name)[(bits >> (width * i)) & mask] for i in range(count)]


@export
def pack16(low, high):
    """Two 16-bit codes as a packed word."""
    return low.astype(u32) | (high.astype(u32) << u32(16))


@export
def encode_scale(x, mode: str, satfinite: bool):
    """ue8m0 codes of magnitudes: powers of two, 2^(code - 127); rz rounds down, rp up; below 2^-127 is 0, NaN is 0xff.

    What is too large becomes NaN, with ``satfinite`` the largest power.
    """
    x = np.abs(np.asarray(x, f64))
    m, e = np.frexp(np.where(np.isfinite(x), x, 1.0))
    e = e - 1 + np.where((m > 0.5) & (mode == "rp"), 1, 0)
    code = np.maximum(np.where(x == 0, 0, e + 127), 0)
    code = np.where(np.isinf(x) | (code > 254), 254 if satfinite else 255, code)
    return np.where(np.isnan(x), 255, code)


@export
def decode_scale(codes):
    """float32 values of ue8m0 codes."""
    codes = np.asarray(codes).astype(np.int64)
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127)).astype(f32)
