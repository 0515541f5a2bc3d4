"""Warp-level MMA: mma.sync (PTX ISA 9.0, section 9.7.14).

Fragments follow one rule for every element type. With ``E`` elements per register, lane = 4 * row + t:

    A (m x k): register r holds row (lane / 4) + 8 * (r % 2), columns E * t + e + 4 * E * (r / 2)
    B (k x n): register r holds column lane / 4, rows E * t + e + 4 * E * r
    C (m x n): register r holds row (lane / 4) + 8 * (r / 2), column 2 * t + r % 2     (one element per register)

(m8n8 shapes have rows 0-7 only: the factor r % 2 is absent.) ``matmul.py`` describes the rounding of accumulation; f64 MMAs
are chains of fused multiply-adds along k that start with C.
"""

from __future__ import annotations

import re

import numpy as np

from ..codegen.emit_block import vector_items
from ..errors import EmulatorError
from ..matmul import matmul
from ..matmul.operand_value_ranges import MatmulOperand
from ..numerics import float_arithmetic, float_conversions, float_formats
from ..simt.broadcasting import unique_integers
from .handler_registry import RESULT_KINDS, handles, helper
from .mma_accumulation_chains import is_deferrable, warp_accumulator_registers
from .mma_register_operands import Fragment, RegisterEncoding
from .mma_sparsity_metadata import ORDERED, emit_expand_sparse
from .warp_collectives import emit_warp_sync

# -- element types -----------------------------------------------------------------------------------
_WIDTH = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "e4m3": 8, "e5m2": 8,
          "e3m2": 8, "e2m3": 8, "e2m1": 8}  # fmt: skip


def _nibbles(words, signed: bool):
    parts = (words[..., None] >> np.arange(0, 32, 4, dtype=np.uint32)) & np.uint32(15)
    values = parts.astype(np.float32)
    return np.where(values > 7, values - 16, values) if signed else values


_DECODE = {
    "f16": lambda w: w[..., None].view(np.float16),
    "bf16": lambda w: (w[..., None].view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32),
    "tf32": lambda w: (w & np.uint32(0xFFFFE000)).view(np.float32)[..., None],
    "f64": lambda w: w.view(np.float64)[..., None],
    "s8": lambda w: w[..., None].view(np.int8).astype(np.float32),
    "u8": lambda w: w[..., None].view(np.uint8).astype(np.float32),
    "s4": lambda w: _nibbles(w, True),
    "u4": lambda w: _nibbles(w, False),
}


def _decode_byte(name: str):
    """fp8 in bytes; fp6 in the low 6 bits and fp4 in bits 2-5 of a byte (section 9.7.14.5.15)."""
    fmt = float_formats.FORMATS[name]
    shift = 2 if fmt.bits == 4 else 0
    codes = np.array([float_formats.table(name)[(b >> shift) & ((1 << fmt.bits) - 1)] for b in range(256)], np.float32)
    return lambda w: codes[w[..., None].view(np.uint8)]


_DECODE.update({name: _decode_byte(name) for name in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")})


def _decode_nibbles(words):
    """e2m1 packed two to a byte (kinds mxf4 and mxf4nvf4)."""
    return float_formats.table("e2m1")[(words[..., None] >> np.arange(0, 32, 4, dtype=np.uint32)) & np.uint32(15)]


_DECODE["e2m1_packed"] = _decode_nibbles
REGISTER_ENCODINGS = {
    name: RegisterEncoding(32 // _WIDTH.get(name, 4), decode) for name, decode in _DECODE.items() if name != "f64"
}


def registers(group, values):
    """Register values as one array (warps, registers, 8, 4): lanes split into row and column index."""
    out = np.empty((len(values), group.warps, 32), np.asarray(values[0]).dtype)
    for i, value in enumerate(values):
        out[i] = group.to_warps(value)
    return out.reshape(len(values), group.warps, 8, 4)


@helper
def fragment_a(group, type_, m, values):
    """A, (warps, m, k)."""
    halves = m // 8
    if type_ == "f64":
        lanes = registers(group, values).view(np.float64)  # (r, w, row, t)
        r, w, _, t = lanes.shape
        lanes = lanes.reshape(r // halves, halves, w, 8, t).transpose(2, 1, 3, 0, 4)
        return MatmulOperand(np.ascontiguousarray(lanes).reshape(w, m, -1), type_)
    blocks = blocks_of(group, values)
    return Fragment([blocks[half::halves] for half in range(halves)], type_, REGISTER_ENCODINGS[type_])


@helper
def fragment_b(group, type_, values):
    """The columns of B, (warps, 8, k)."""
    if type_ == "f64":
        lanes = registers(group, values).view(np.float64).transpose(1, 2, 0, 3)
        return MatmulOperand(np.ascontiguousarray(lanes).reshape(lanes.shape[0], 8, -1), type_)
    return Fragment([blocks_of(group, values)], type_, REGISTER_ENCODINGS[type_])


def blocks_of(group, values) -> list[np.ndarray]:
    """32-bit registers as blocks (warps, 32) of a ``Fragment``."""
    return [np.ascontiguousarray(group.to_warps(value)) for value in values]


@helper
def multiply(group, a, b, integers):
    """A B as values per accumulator element, in float32 or int32."""
    result = matmul.multiply(a, b, group.options.matmul_rounding)
    return warp_accumulator_registers(group, result.astype(np.int32) if integers else result)


@helper
def multiply_f64(group, a, b, c):
    """A B + C in float64, by fused multiply-adds in the order of k or as BLAS does; ``c``: values per accumulator element."""
    total = [np.broadcast_to(group.to_warps(value), (group.warps, 32)) for value in c]
    total = np.stack(total).reshape(-1, 2, group.warps, 8, 4)  # (half, e, w, row, t)
    total = total.transpose(2, 0, 3, 4, 1).reshape(group.warps, -1, 8)
    if group.options.matmul_rounding == matmul.BLAS_ORDER:
        return warp_accumulator_registers(group, np.matmul(a.values, b.values.swapaxes(1, 2)) + total)
    for k in range(a.values.shape[2]):
        total = float_arithmetic.fma64(a.values[:, :, k, None], b.values[:, None, :, k], total)
    return warp_accumulator_registers(group, total)


@helper
def add_f16(matmul_f32, words):
    """f16 accumulators, two to a register."""
    out = []
    for i, word in enumerate(words):
        low = float_formats.widen("f16", (word & np.uint32(0xFFFF)).astype(np.uint16)) + matmul_f32[2 * i]
        high = float_formats.widen("f16", (word >> np.uint32(16)).astype(np.uint16)) + matmul_f32[2 * i + 1]
        out.append(float_formats.pack16(float_formats.narrow("f16", low), float_formats.narrow("f16", high)))
    return tuple(out)


@helper
def add_saturating(matmul_s32, c):
    return np.clip(matmul_s32.astype(np.int64) + c, -(1 << 31), (1 << 31) - 1).astype(np.int32)


# -- mma ---------------------------------------------------------------------------------------------
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")


def _mma_kind(ins, position: int) -> str:
    types = mma_types(ins)
    return {"f32": "f32", "f64": "f64"}.get(types[0], "bits")


RESULT_KINDS["mma"] = _mma_kind


def mma_types(ins) -> list[str]:
    """[D, A, B, C] types (and a scale type if scaled)."""
    known = {
        "f16",
        "f32",
        "f64",
        "s32",
        "bf16",
        "tf32",
        "s8",
        "u8",
        "s4",
        "u4",
        "b1",
        "e4m3",
        "e5m2",
        "e3m2",
        "e2m3",
        "e2m1",
        "ue8m0",
        "ue4m3",
    }
    return [m for m in ins.mods if m in known]


@handles("mma")
def handle_mma(e, ins):
    shape = next((_SHAPE.match(m) for m in ins.mods if _SHAPE.match(m)), None)
    types = mma_types(ins)
    sparse = "sp" in ins.mods or ORDERED in ins.mods
    if shape is None or len(types) < 4 or types[1] == "b1":
        e.fail("not supported")
    m, n, k = (int(g) for g in shape.groups())
    if n != 8 or (m, n, k) == (8, 8, 4) and types[1] == "f16":
        e.fail("shape not supported")
    emit_warp_sync(e)
    d_type, a_type, b_type, _ = types[:4]
    scaled = "block_scale" in ins.mods
    packed_fp4 = any(x in ("kind::mxf4", "kind::mxf4nvf4") for x in ins.mods)
    a_name, b_name = ("e2m1_packed",) * 2 if packed_fp4 else (a_type, b_type)
    kind = "f64" if a_type == "f64" else "u32"
    read = "u64" if kind == "f64" else "u32"
    width = 4 if packed_fp4 else _WIDTH[a_type]
    check_counts(e, ins, m, k, width, 2 if sparse else 1)
    a = fragment(e, ins.args[1], read, ("a", a_name, m), f"fragment_a(g, {a_name!r}, {m}, [{{}}])")
    b = fragment(e, ins.args[2], read, ("b", b_name), f"fragment_b(g, {b_name!r}, [{{}}])")
    if sparse:
        a = emit_expand_sparse(e, ins, a, a_name, width, k)
    if scaled:
        a, b = scale_operands(e, ins, types, a, b, 6 if sparse else 4)
    if kind == "f64":
        return accumulate_f64(e, ins, a, b)
    targets, olds = vector_items(ins.args[0]), vector_items(ins.args[3])
    if d_type == "f32" and "satfinite" not in ins.mods and is_deferrable(e, targets):
        return e.pending_mmas.add(e, "mma", (m, a_name, b_name), targets, olds, (a, b))
    integers = d_type == "s32"
    parts = e.temp(f"multiply(g, {a}, {b}, {integers})")
    accumulate(e, ins, d_type, "s32" if integers else "f32", parts)


def check_counts(e, ins, m, k, width, sparsity):
    """``sparsity``: 2 for a sparse A, else 1."""
    per = max(32, width) // width if width < 64 else 1
    expected = (m * k // sparsity // 32 // per, 8 * k // 32 // per)
    if (len(vector_items(ins.args[1])), len(vector_items(ins.args[2]))) != expected:
        e.fail(f"expected {expected[0]} and {expected[1]} registers for A and B")


def fragment(e, operand, kind: str, what: tuple, template: str) -> str:
    """The matrix of an operand; the same registers are decoded once per block."""
    items = vector_items(operand)
    key = (what, tuple(e.version(i) for i in items))
    if key not in e.memo:
        e.memo[key] = e.temp(template.format(", ".join(e.use(i, kind) for i in items)))
    return e.memo[key]


def accumulate_f64(e, ins, a: str, b: str):
    old = ", ".join(e.use(c, "f64") for c in vector_items(ins.args[3]))
    e.set_tuple(vector_items(ins.args[0]), "f64", f"multiply_f64(g, {a}, {b}, [{old}])")


def accumulate(e, ins, d_type: str, out: str, results: str):
    targets, sources = vector_items(ins.args[0]), vector_items(ins.args[3])
    if d_type == "f16":
        words = ", ".join(e.use(c, "u32") for c in sources)
        return e.set_tuple(targets, "u32", f"add_f16({results}, [{words}])")
    accumulators = [e.use(c, out) for c in sources]
    for i, (target, c) in enumerate(zip(targets, accumulators)):
        if "satfinite" in ins.mods:
            e.set(target, out, f"add_saturating({results}[{i}], {c})")
        else:
            e.set(target, out, f"{results}[{i}] + {c}")


# -- block scaling -----------------------------------------------------------------------------------
@helper
def scales(group, word, byte_id, thread_id, count, rows, type_):
    """Scale factors (warps, rows, count): word of the selected lanes, ``count`` bytes from ``byte_id``.

    Row r of A takes its factors from lane 4 * (r % 8) + selector, where selectors thread_id * 2 and + 1 serve the
    upper and lower eight rows; column n of B from lane 4 * n + thread_id (section 9.7.14.3, block scaling).
    """
    byte_id, thread_id = selector(byte_id, range(0, 4, count)), selector(thread_id, range(32 // rows))
    lanes = group.to_warps(word).reshape(-1, 8, 4)
    if rows == 16:
        words = np.concatenate([lanes[:, :, 2 * thread_id], lanes[:, :, 2 * thread_id + 1]], axis=1)
    else:
        words = lanes[:, :, thread_id]
    codes = np.ascontiguousarray(words)[..., None].view(np.uint8)[..., byte_id : byte_id + count]
    return (
        float_conversions.decode_scale(codes) if type_ == "ue8m0" else np.abs(float_formats.table("e4m3")[codes & 0x7F])
    )


def selector(value, possible: range) -> int:
    """A byte or thread selector of an instruction, uniform over all threads."""
    chosen = unique_integers(value)
    if len(chosen) != 1:
        raise EmulatorError(f"threads select different scale factors: {chosen.tolist()}")
    if int(chosen[0]) not in possible:
        raise EmulatorError(f"invalid scale factor selector {chosen[0]}: expected {', '.join(map(str, possible))}")
    return int(chosen[0])


@helper
def apply_scales(matrix, factors):
    """Multiply blocks of k by their factors."""
    values = matrix.values
    scaled = values * np.repeat(factors.astype(np.float64), values.shape[2] // factors.shape[2], axis=2)
    return MatmulOperand(scaled, "scaled")


def scale_operands(e, ins, types, a: str, b: str, first: int):
    """A and B times their scale factors, whose operands start at ``first``."""
    vector = next((m for m in ins.mods if m.startswith("scale_vec::")), None)
    count = (
        int(vector.split("::")[1][0])
        if vector
        else {"kind::mxf8f6f4": 1, "kind::mxf4": 2}.get(next(m for m in ins.mods if m.startswith("kind::")), 2)
    )
    scale_type = types[4] if len(types) > 4 else "ue8m0"
    out = []
    for matrix, at, rows in ((a, first, 16), (b, first + 2, 8)):
        byte_id, thread_id = (e.use(i, "u16") for i in vector_items(ins.args[at + 1]))
        word = e.use(vector_items(ins.args[at])[0], "u32")
        factors = f"scales(g, {word}, {byte_id}, {thread_id}, {count}, {rows}, {scale_type!r})"
        out.append(e.temp(f"apply_scales({matrix}, {factors})"))
    return out
