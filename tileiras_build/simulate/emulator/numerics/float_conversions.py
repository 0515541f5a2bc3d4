"""Conversions (cvt) between integers and floats of all formats."""

from __future__ import annotations

import numpy as np

from ..codegen.runtime_support import exporter
from .directed_rounding import directed, exact_error32
from .float_formats import FORMATS, encode, f32, f64, table, u32, u64

NAMESPACE: dict = {}
export = exporter(NAMESPACE)


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
def encode_scale(x, mode: str, satfinite: bool):
    """ue8m0 codes of magnitudes: powers of two, 2^(code - 127); rz rounds down, rp up; below 2^-127 is 0, NaN is 0xff.

    Overflow becomes NaN or, with ``satfinite``, the largest power.
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
