"""The narrow float formats of PTX: decoding, encoding, and halves of a word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..codegen.runtime_support import exporter
from ..native import elementwise_f32

f32, f64, u16, u32, u64 = np.float32, np.float64, np.uint16, np.uint32, np.uint64

NAMESPACE: dict = {}
export = exporter(NAMESPACE)


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
    """Codes (int64) of float64 values in a format. Without ``satfinite``, overflow returns infinity (or NaN)."""
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
        if (by_code := elementwise_f32.try_apply(name, x)) is not None:
            return by_code
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


@export
def pack16(low, high):
    """Two 16-bit codes as a packed word."""
    return low.astype(u32) | (high.astype(u32) << u32(16))
