"""cvt (PTX ISA 9.0, section 9.7.9.21) between all pairs of types."""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import KIND_BITS, kind_of
from ..numerics import float_conversions, float_formats
from .handler_registry import handles, helper
from .integer_instructions import INTEGER_TYPES

_INTEGER_ROUNDINGS = ("rni", "rzi", "rmi", "rpi")
_FLOAT_ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "rs")
_NARROW = {"e4m3x2": "e4m3", "e5m2x2": "e5m2", "e2m1x2": "e2m1", "e2m3x2": "e2m3", "e3m2x2": "e3m2",
           "e4m3x4": "e4m3", "e5m2x4": "e5m2", "e2m1x4": "e2m1", "e2m3x4": "e2m3", "e3m2x4": "e3m2"}  # fmt: skip
_PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
_FLOATS = {"f16", "bf16", "f32", "f64"}
_BITS_KIND = {8: "u8", 16: "u16", 32: "u32"}


def rounding(ins, default="rn") -> str:
    return next((m for m in ins.mods if m in _FLOAT_ROUNDINGS), default)


@handles("cvt")
def handle_cvt(e, ins):
    if ins.mods[0] == "pack":
        return convert_pack(e, ins)
    to, source = ins.mods[-2:]
    if "rs" in ins.mods:
        return stochastic(e, ins, to)
    if to in _NARROW:
        return to_narrow(e, ins, to, source)
    if source in _NARROW:
        return from_narrow(e, ins, to, source)
    if "ue8m0x2" in (to, source):
        return convert_scale(e, ins, to, source)
    if to in _PAIRS:
        return to_pair(e, ins, to)
    if to == "tf32":
        mode = rounding(ins)
        value = f"round_to_tf32({e.use(ins.args[1], 'f32')}, {mode!r}, {'satfinite' in ins.mods}, {'relu' in ins.mods})"
        return e.set(ins.args[0], "u32", value)
    scalar(e, ins, to, source)


# -- scalar types ------------------------------------------------------------------------------------
def scalar(e, ins, to: str, source: str):
    if source in INTEGER_TYPES and to in INTEGER_TYPES:
        return integer_to_integer(e, ins, to, source)
    if source in INTEGER_TYPES:
        return integer_to_float(e, ins, to, source)
    if source not in _FLOATS or (to not in _FLOATS and to not in INTEGER_TYPES):
        e.fail("no such conversion")
    value = float_source(e, ins, source)
    if to in INTEGER_TYPES:
        mode = next((m for m in ins.mods if m in _INTEGER_ROUNDINGS), "rzi")
        return e.set(ins.args[0], to, f"float_to_int({value}, {mode!r}, {to})")
    float_result(e, ins, to, source, value)


def float_source(e, ins, source: str) -> str:
    if source in ("f16", "bf16"):
        return e.temp(f"widen({source!r}, {e.use(ins.args[1], 'u16')})")
    value = e.use(ins.args[1], source)
    return f"flush({value})" if "ftz" in ins.mods and source == "f32" else value


_ROUND_TO_INTEGER = {"rni": "np.rint", "rzi": "np.trunc", "rmi": "np.floor", "rpi": "np.ceil"}


def float_result(e, ins, to: str, source: str, value: str):
    whole = next((m for m in ins.mods if m in _INTEGER_ROUNDINGS), None)
    if whole is not None:
        value = f"{_ROUND_TO_INTEGER[whole]}({value})"
    mode = rounding(ins)
    if "sat" in ins.mods:
        value = f"saturate({value})"
    if "relu" in ins.mods:
        value = f"relu({value})"
    if to in ("f16", "bf16"):
        return e.set(ins.args[0], "u16", f"narrow({to!r}, {value}, {mode!r}, {'satfinite' in ins.mods})")
    if to == "f64":
        return e.set(ins.args[0], "f64", f"({value}).astype(f64)" if source != "f64" else value)
    result = f"float_to_float({value}, {mode!r}, f32)" if source == "f64" else value
    if "ftz" in ins.mods:
        result = f"flush({result})"
    e.set(ins.args[0], "f32", result)


@helper
def relu(x):
    return np.where(x > 0, x, np.where(np.isnan(x), x, x.dtype.type(0)))


def integer_to_integer(e, ins, to: str, source: str):
    value = e.use(ins.args[1], source)
    if "sat" in ins.mods:
        return e.set(ins.args[0], to, f"clamp_integer({value}, {to})")
    if KIND_BITS[to] == KIND_BITS[source]:
        return e.set(ins.args[0], to, f"{value}.view({to})" if to != source else value)
    e.set(ins.args[0], to, f"{value}.astype({to})")


@helper
def clamp_integer(x, kind):
    info, have = np.iinfo(kind), np.iinfo(x.dtype)
    low, high = max(info.min, have.min), min(info.max, have.max)
    return np.clip(x, x.dtype.type(low), x.dtype.type(high)).astype(kind)


def integer_to_float(e, ins, to: str, source: str):
    value = e.use(ins.args[1], source)
    mode = rounding(ins)
    if to in ("f16", "bf16"):
        return e.set(ins.args[0], "u16", f"narrow({to!r}, sticky_float({value}), {mode!r})")
    result = f"({value}).astype({to})" if mode == "rn" else f"int_to_float({value}, {mode!r}, {to})"
    if "sat" in ins.mods:
        result = f"saturate({result})"
    e.set(ins.args[0], to, result)


@helper
def sticky_float(x):
    """An integer as f64 for a second rounding: the lowest bit is sticky for bits beyond 53."""
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    negative = x < 0
    magnitude = np.where(negative, ~x, x).astype(np.uint64) + negative.astype(np.uint64)
    coarse = (magnitude >> np.uint64(11)) | ((magnitude & np.uint64(0x7FF)) != 0).astype(np.uint64)
    wide = magnitude >> np.uint64(53) != 0
    value = np.where(wide, coarse.astype(np.float64) * 2048.0, magnitude.astype(np.float64))
    return np.where(negative, -value, value)


# -- packed types ------------------------------------------------------------------------------------
def to_pair(e, ins, to: str):
    """cvt.rn.{f16x2,bf16x2}.f32 d, a, b: a goes to the high half."""
    fmt, mode = _PAIRS[to], rounding(ins)
    codes = []
    for arg in ins.args[1:3]:
        value = e.use(arg, "f32")
        if "relu" in ins.mods:
            value = f"relu({value})"
        codes.append(f"narrow({fmt!r}, {value}, {mode!r}, {'satfinite' in ins.mods})")
    e.set(ins.args[0], "u32", f"pack16({codes[1]}, {codes[0]})")


def narrow_kind(type_: str) -> str:
    if type_ == "e2m1x2":
        return "u8"
    if type_ == "e2m1x4":
        return "u16"
    return "u16" if type_.endswith("x2") else "u32"


def to_narrow(e, ins, to: str, source: str):
    """Two (or four, as a vector) values to packed fp8, fp6 or fp4; the first operand is the high part."""
    flags = f"{'satfinite' in ins.mods}, {'relu' in ins.mods}"
    if source == "f32":
        values = [e.use(arg, "f32") for arg in ins.args[1:3]]
    else:
        pair = e.temp(f"compare_halves({_PAIRS[source]!r}, {e.use(ins.args[1], 'u32')})")
        values = [f"{pair}[1]", f"{pair}[0]"]
    e.set(ins.args[0], narrow_kind(to), f"pack_codes({_NARROW[to]!r}, {rounding(ins)!r}, {flags}, {', '.join(values)})")


def from_narrow(e, ins, to: str, source: str):
    """Two narrow floats to f16x2 or bf16x2; .scaled::n2::ue8m0 multiplies each by its own power of two."""
    if to not in _PAIRS:
        e.fail("no such conversion")
    fmt = _PAIRS[to]
    values = e.temp(f"unpack_codes({_NARROW[source]!r}, {e.use(ins.args[1], narrow_kind(source))}, 2)")
    scale = "scaled::n2::ue8m0" in ins.mods
    if scale != (len(ins.args) == 3):
        e.fail("a scale factor needs .scaled::n2::ue8m0")
    if scale:
        values = e.temp(f"scale_pair({values}, {e.use(ins.args[2], 'u16')})")
    wrap = "relu({})" if "relu" in ins.mods else "{}"
    finite = "satfinite" in ins.mods
    low, high = (f"narrow({fmt!r}, {wrap.format(f'{values}[{i}]')}, 'rn', {finite})" for i in (0, 1))
    e.set(ins.args[0], "u32", f"pack16({low}, {high})")


@helper
def scale_pair(values, scales):
    """Two values (low first) times a packed pair of ue8m0 scale factors, exactly, in float64."""
    scales = np.asarray(scales)
    factors = (float_conversions.decode_scale(scales & 0xFF), float_conversions.decode_scale(scales >> 8))
    return [np.asarray(v, np.float64) * f for v, f in zip(values, factors)]


def convert_scale(e, ins, to: str, source: str):
    mode = rounding(ins, "rz")
    if to == "ue8m0x2":
        if source == "f32":
            high, low = (e.use(arg, "f32") for arg in ins.args[1:3])
        else:
            pair = e.temp(f"compare_halves('bf16', {e.use(ins.args[1], 'u32')})")
            high, low = f"{pair}[1]", f"{pair}[0]"
        codes = [f"encode_scale({v}, {mode!r}, {'satfinite' in ins.mods})" for v in (low, high)]
        return e.set(ins.args[0], "u16", f"({codes[0]} | ({codes[1]} << 8)).astype(u16)")
    bits = e.use(ins.args[1], "u16")
    low = f"narrow('bf16', decode_scale({bits} & {e.scalar('u16', 0xFF)}))"
    high = f"narrow('bf16', decode_scale({bits} >> {e.scalar('u16', 8)}))"
    e.set(ins.args[0], "u32", f"pack16({low}, {high})")


_REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.int64)


def reversed16(bits):
    return _REVERSED[bits & 0xFF] << 8 | _REVERSED[bits >> 8 & 0xFF]


def random_shares(fmt: str, count: int, random):
    """(random bits of each value in operand order, their count): section 9.7.9.21, "random bits rbits".

    Four values share two fields of 16 bits: the first pair has the high half (of e2m1x4: the high bytes of both
    halves). In a pair, the first value uses its field in reverse bit order, as measured on a B200; the ISA does not specify it.
    """
    bits = np.asarray(random).astype(np.int64)
    if count == 2:
        width = 13 if fmt == "f16" else 16
        return [bits >> 16 & (1 << width) - 1, bits & (1 << width) - 1], width
    if fmt == "e2m1":
        fields = (bits >> 16 & 0xFF00 | bits >> 8 & 0xFF, bits >> 8 & 0xFF00 | bits & 0xFF)
    else:
        fields = (bits >> 16 & 0xFFFF, bits & 0xFFFF)
    return [share for field in fields for share in (reversed16(field), field)], 16


@helper
def stochastic_codes(fmt, values, random, satfinite, relu_flag):
    """Stochastic rounding: random bits added below the last kept bit, then truncated; values high part first."""
    spec = float_formats.FORMATS[fmt]
    shares, share = random_shares(fmt, len(values), random)
    out = np.int64(0)
    width = spec.bits if spec.bits in (16, 4) else 8
    for value, bits in zip(values, shares):
        x = np.asarray(value, np.float64)
        _, exponent = np.frexp(np.where(np.isfinite(x), x, 0))
        e = np.maximum(exponent - 1, 1 - spec.bias)
        step = np.ldexp(bits / (1 << share), e - spec.mantissa)
        code = float_formats.encode(
            fmt, np.where(np.isfinite(x), x + np.copysign(step, x), x), "rz", satfinite, relu_flag
        )
        out = (out << width) | code
    return np.asarray(out)


def stochastic(e, ins, to: str):
    fmt = _PAIRS.get(to) or _NARROW[to]
    from ..codegen.emit_block import vector_items

    sources = ins.args[1:-1] if len(ins.args) == 4 else vector_items(ins.args[1])
    values = ", ".join(e.use(arg, "f32") for arg in sources)
    kind = "u32" if to in _PAIRS else narrow_kind(to)
    flags = f"{'satfinite' in ins.mods}, {'relu' in ins.mods}"
    call = f"stochastic_codes({fmt!r}, [{values}], {e.use(ins.args[-1], 'u32')}, {flags})"
    e.set(ins.args[0], kind, f"{call}.astype({kind})")


@helper
def pack_integers(a, b, c, kind, bits):
    """cvt.pack.sat: two saturated integers over the shifted third operand."""
    info = np.iinfo(kind)
    mask = np.uint32((1 << bits) - 1)
    low, high = (np.clip(np.asarray(v).astype(np.int64), info.min, info.max).astype(np.uint32) & mask for v in (b, a))
    packed = low | (high << np.uint32(bits))
    return packed if c is None else packed | (np.asarray(c) << np.uint32(2 * bits))


def convert_pack(e, ins):
    """cvt.pack.sat.{u16,s16,u8,s8,u4,s4,u2,s2}.s32{.b32} d, a, b{, c}."""
    to = ins.mods[2]
    a, b = (e.use(arg, "s32") for arg in ins.args[1:3])
    c = e.use(ins.args[3], "u32") if len(ins.args) > 3 else "None"
    if to not in ("u16", "s16", "u8", "s8"):
        e.fail("no such conversion")
    e.set(ins.args[0], "u32", f"pack_integers({a}, {b}, {c}, {kind_of(to)}, {KIND_BITS[to]})")
