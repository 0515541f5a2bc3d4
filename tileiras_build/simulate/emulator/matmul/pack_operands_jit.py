"""The native code of ``pack_operands.py``: numbers of any type become float64, side by side as ``gemm_jit.py`` multiplies them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..jit.llvm_jit import compile_function
from ..numerics import float_formats

ROWS, COLUMNS = 4, 8  # of A and of B
BLOCK, LINE = 8, 16  # rows of so many bytes, which a register of a warp holds: lane 4 r + t has word t of row r

# -- the types of numbers ----------------------------------------------------------------------------
# The bits of a finite float16, sign, exponent and fraction, as those of a float32 are 2^112 times too small.
_F16 = """  %long.{n} = sext <{width} x i16> {source} to <{width} x i32>
  %moved.{n} = shl <{width} x i32> %long.{n}, splat (i32 13)
  %bits.{n} = and <{width} x i32> %moved.{n}, splat (i32 -1879056384)
  %small.{n} = bitcast <{width} x i32> %bits.{n} to <{width} x float>
  %small.wide.{n} = fpext <{width} x float> %small.{n} to <{width} x double>
  %wide.{n} = fmul <{width} x double> %small.wide.{n}, splat (double 0x46F0000000000000)"""
_BF16 = """  %long.{n} = zext <{width} x i16> {source} to <{width} x i32>
  %bits.{n} = shl <{width} x i32> %long.{n}, splat (i32 16)
  %small.{n} = bitcast <{width} x i32> %bits.{n} to <{width} x float>
  %wide.{n} = fpext <{width} x float> %small.{n} to <{width} x double>"""
_TF32 = """  %bits.{n} = and <{width} x i32> {source}, splat (i32 -8192)
  %small.{n} = bitcast <{width} x i32> %bits.{n} to <{width} x float>
  %wide.{n} = fpext <{width} x float> %small.{n} to <{width} x double>"""
_F32 = "  %wide.{n} = fpext <{width} x float> {source} to <{width} x double>"
# The same of a finite float of 8 bits: its exponent is moved to that of a float32, from where it is 2^(127 - bias) times too small.
_FP8 = """  %long.{{n}} = sext <{{width}} x i8> {{source}} to <{{width}} x i32>
  %moved.{{n}} = shl <{{width}} x i32> %long.{{n}}, splat (i32 {shift})
  %bits.{{n}} = and <{{width}} x i32> %moved.{{n}}, splat (i32 {mask})
  %small.{{n}} = bitcast <{{width}} x i32> %bits.{{n}} to <{{width}} x float>
  %small.wide.{{n}} = fpext <{{width}} x float> %small.{{n}} to <{{width}} x double>
  %wide.{{n}} = fmul <{{width}} x double> %small.wide.{{n}}, splat (double {scale})"""


def _byte(mantissa: int, bias: int) -> tuple[str, str]:
    shift = 23 - mantissa
    mask = (127 << shift) - (1 << 31)  # the sign, and what is below it
    scale = f"0x{1023 + 127 - bias << 52:016X}"
    return "i8", _FP8.format(shift=shift, mask=mask, scale=scale)


WIDEN = {
    "f16": ("i16", _F16), "bf16": ("i16", _BF16), "tf32": ("i32", _TF32), "f32": ("float", _F32),
    **{name: _byte(float_formats.FORMATS[name].mantissa, float_formats.FORMATS[name].bias) for name in ("e4m3", "e5m2")},
}  # fmt: skip
_SIDES = {"i8": 8, "i16": 8, "i32": 4, "float": 4}  # numbers of a row, and rows that are turned together


def side_of(kind: str) -> int:
    return _SIDES[WIDEN[kind][0]]


# -- from registers, and from lines of arrays ----------------------------------------------------------------------------------
# Loops over blocks and warps; a block is turned by interleaving its rows, as often as its words have numbers.
_PACK_REGISTER_BLOCKS = """
define void @pack(ptr noalias %sources, ptr noalias %places, i64 %blocks, i64 %first, i64 %warps, i64 %warp, i64 %group,
                  i64 %row.bytes, i64 %warp.bytes) {{
entry:
  br label %block
block:
  %b = phi i64 [0, %entry], [%b.next, %block.end]
  %b.next = add i64 %b, 1
  %source.ptr = getelementptr i64, ptr %sources, i64 %b
  %source.number = load i64, ptr %source.ptr
  %source = inttoptr i64 %source.number to ptr
  %place.ptr = getelementptr i64, ptr %places, i64 %b
  %place.number = load i64, ptr %place.ptr
  %place = inttoptr i64 %place.number to ptr
  br label %warp_
warp_:
  %w = phi i64 [0, %block], [%w.next, %warp_]
  %w.next = add i64 %w, 1
  %w.number = add i64 %w, %first
  %w.at = mul i64 %w.number, %warp.bytes
  %from = getelementptr i8, ptr %source, i64 %w.at
  %to.at = mul i64 %w, %warp
  %to.0 = getelementptr double, ptr %place, i64 %to.at
  %to.1 = getelementptr double, ptr %to.0, i64 %group
{rows}
{stores}
  %is_last.w = icmp eq i64 %w.next, %warps
  br i1 %is_last.w, label %block.end, label %warp_
block.end:
  %is_last.b = icmp eq i64 %b.next, %blocks
  br i1 %is_last.b, label %done, label %block
done:
  ret void
}}
"""


@lru_cache
def pack_register_blocks(kind: str, width: int, order: tuple[int, ...]) -> Callable[..., int]:
    """The function that packs blocks of registers, whose rows are taken in ``order`` by eights, or twice by fours."""
    type_, widen = WIDEN[kind]
    each = _SIDES[type_]
    numbers = range(BLOCK) if width == BLOCK else [*range(ROWS), *range(ROWS, BLOCK)]
    order = order if width == BLOCK else tuple(numbers)
    lines, columns = [], []
    for first in range(0, BLOCK, each):
        rows = []
        for row in order[first : first + each]:
            name = f"%row.{row}"
            lines.append(f"  {name}.at = mul i64 %row.bytes, {row}")
            lines.append(f"  {name}.ptr = getelementptr i8, ptr %from, i64 {name}.at")
            lines.append(f"  {name} = load <{each} x {type_}>, ptr {name}.ptr, align 1")
            rows.append(name)
        columns.append(transpose(rows, f"{first}", f"<{each} x {type_}>", lines))
    stores: list[str] = []
    for part, names in enumerate(columns):
        for k, name in enumerate(names):
            stores.append(widen.format(n=f"{part}.{k}", width=each, source=name))
            stores += _stored(f"%wide.{part}.{k}", each, part * each, k, width)
    text = _PACK_REGISTER_BLOCKS.format(rows="\n".join(lines), stores="\n".join(stores))
    return compile_function(text, "pack", 2, 7)


def transpose(rows: list[str], prefix: str, type_: str, lines: list[str]) -> list[str]:
    """The columns of a square matrix of rows, by perfect shuffles."""
    count = len(rows)
    half, index = count // 2, range(count)
    masks = [[start + i // 2 + i % 2 * count for i in index] for start in (0, half)]
    for turn in range(count.bit_length() - 1):
        found = []
        for i in range(half):
            for part, mask in enumerate(masks):
                name = f"%turn.{prefix}.{turn}.{i}.{part}"
                indices = ", ".join(f"i32 {m}" for m in mask)
                pair = f"{type_} {rows[i]}, {type_} {rows[i + half]}"
                lines.append(f"  {name} = shufflevector {pair}, <{count} x i32> <{indices}>")
                found.append(name)
        rows = found
    return rows


def _stored(wide: str, count: int, row: int, k: int, width: int) -> list[str]:
    """Lines that store ``count`` numbers of one k from row ``row`` of a block on."""
    lines = []
    for first in range(0, count, ROWS):
        group, inside = divmod(row + first, width)
        name, part = f"{wide}.{first}", wide
        if count > ROWS:
            indices = ", ".join(f"i32 {first + i}" for i in range(ROWS))
            part = f"{wide}.part.{first}"
            lines.append(
                f"  {part} = shufflevector <{count} x double> {wide}, <{count} x double> poison, <{ROWS} x i32> <{indices}>"
            )
        lines.append(f"  {name}.ptr = getelementptr double, ptr %to.{group}, i64 {k * width + inside}")
        lines.append(f"  store <{ROWS} x double> {part}, ptr {name}.ptr, align 8")
    return lines


# -- how large the numbers of registers are ----------------------------------------------------------
_EXTREMES = """
declare {type} @llvm.umax.{name}({type}, {type})
declare {type} @llvm.umin.{name}({type}, {type})
declare {one} @llvm.vector.reduce.umax.{name}({type})
declare {one} @llvm.vector.reduce.umin.{name}({type})

define void @extremes(ptr noalias %out, ptr noalias %sources, i64 %groups, i64 %blocks, i64 %vectors) {{
entry:
  br label %group
group:
  %g = phi i64 [0, %entry], [%g.next, %group.end]
  %g.next = add i64 %g, 1
  %g.first = mul i64 %g, %blocks
  br label %block
block:
  %b = phi i64 [0, %group], [%b.next, %block.end]
  %most.b = phi {type} [zeroinitializer, %group], [%most.next, %block.end]
  %least.b = phi {type} [splat ({one} -1), %group], [%least.next, %block.end]
  %b.next = add i64 %b, 1
  %source.at = add i64 %g.first, %b
  %source.ptr = getelementptr i64, ptr %sources, i64 %source.at
  %source.number = load i64, ptr %source.ptr
  %source = inttoptr i64 %source.number to ptr
  br label %some
some:
  %v = phi i64 [0, %block], [%v.next, %some]
  %most = phi {type} [%most.b, %block], [%most.next, %some]
  %least = phi {type} [%least.b, %block], [%least.next, %some]
  %v.next = add i64 %v, 1
  %from = getelementptr {type}, ptr %source, i64 %v
  %bits = load {type}, ptr %from, align 4
  %magnitude = and {type} %bits, splat ({one} {mask})
  %less = sub {type} %magnitude, splat ({one} 1)
  %most.next = call {type} @llvm.umax.{name}({type} %most, {type} %magnitude)
  %least.next = call {type} @llvm.umin.{name}({type} %least, {type} %less)
  %is_last.v = icmp eq i64 %v.next, %vectors
  br i1 %is_last.v, label %block.end, label %some
block.end:
  %is_last.b = icmp eq i64 %b.next, %blocks
  br i1 %is_last.b, label %group.end, label %block
group.end:
  %largest = call {one} @llvm.vector.reduce.umax.{name}({type} %most.next)
  %smallest.less = call {one} @llvm.vector.reduce.umin.{name}({type} %least.next)
  %smallest = add {one} %smallest.less, 1
  %first = getelementptr [2 x {one}], ptr %out, i64 %g
  store {one} %largest, ptr %first
  %second = getelementptr {one}, ptr %first, i64 1
  store {one} %smallest, ptr %second
  %is_last.g = icmp eq i64 %g.next, %groups
  br i1 %is_last.g, label %done, label %group
done:
  ret void
}}
"""
# Of a type: the one of its bits, and a mask of those of magnitudes.
MAGNITUDES = {
    "i8": (np.uint8, "i8", 0x7F),
    "i16": (np.uint16, "i16", 0x7FFF),
    "i32": (np.uint32, "i32", 0x7FFFE000),
    "float": (np.uint32, "i32", 0x7FFFFFFF),
}


@lru_cache
def extremes(type_: str) -> Callable[..., int]:
    _, one, mask = MAGNITUDES[type_]
    lanes = 256 // int(one[1:])
    text = _EXTREMES.format(type=f"<{lanes} x {one}>", name=f"v{lanes}{one}", one=one, mask=mask)
    return compile_function(text, "extremes", 2, 3)


# -- from arrays -------------------------------------------------------------------------------------
_PACK = ("to", "values", "lanes", "groups", "stacks", "k", "stride", "group_stride", "k_stride")
# Loops over matrices, groups of rows, and k.
_PACK_STRIDED = """
define void @pack(ptr noalias %to, ptr noalias %values, ptr noalias %lanes, {numbers}) {{
entry:
{lanes}
  br label %stack
stack:
  %s = phi i64 [0, %entry], [%s.next, %stack.end]
  %s.next = add i64 %s, 1
  %s.at = mul i64 %s, %stride
  %s.first = mul i64 %s, %groups
  br label %group
group:
  %g = phi i64 [0, %stack], [%g.next, %group.end]
  %g.next = add i64 %g, 1
  %g.at = mul i64 %g, %group_stride
  %at = add i64 %s.at, %g.at
  %number = add i64 %s.first, %g
  %number.k = mul i64 %number, %k
  br label %one
one:
  %i = phi i64 [0, %group], [%i.next, %one]
  %i.next = add i64 %i, 1
  %i.at = mul i64 %i, %k_stride
  %place = add i64 %at, %i.at
{gather}
{widen}
  %to.number = add i64 %number.k, %i
  %to.at = mul i64 %to.number, {width}
  %to.ptr = getelementptr double, ptr %to, i64 %to.at
  store <{width} x double> %wide.0, ptr %to.ptr, align 8
  %is_last.i = icmp eq i64 %i.next, %k
  br i1 %is_last.i, label %group.end, label %one
group.end:
  %is_last.g = icmp eq i64 %g.next, %groups
  br i1 %is_last.g, label %stack.end, label %group
stack.end:
  %is_last.s = icmp eq i64 %s.next, %stacks
  br i1 %is_last.s, label %done, label %stack
done:
  ret void
}}
"""
_LANE = """  %lane.{i}.ptr = getelementptr i64, ptr %lanes, i64 {i}
  %lane.{i} = load i64, ptr %lane.{i}.ptr"""
_GATHER = """  %at.{i} = add i64 %place, %lane.{i}
  %from.{i} = getelementptr {type}, ptr %values, i64 %at.{i}
  %value.{i} = load {type}, ptr %from.{i}
  %narrow.{i} = insertelement <{width} x {type}> {before}, {type} %value.{i}, i64 {i}"""


@lru_cache
def pack_strided(kind: str, width: int) -> Callable[..., int]:
    """The function that packs groups of ``width`` rows of numbers of a kind, wherever they are."""
    type_, widen = WIDEN[kind]
    before = ["poison", *(f"%narrow.{i}" for i in range(width - 1))]
    gather = [_GATHER.format(i=i, type=type_, width=width, before=before[i]) for i in range(width)]
    text = _PACK_STRIDED.format(
        width=width, numbers=", ".join(f"i64 %{name}" for name in _PACK[3:]),
        lanes="\n".join(_LANE.format(i=i) for i in range(width)), gather="\n".join(gather),
        widen=widen.format(n=0, width=width, source=f"%narrow.{width - 1}"),
    )  # fmt: skip
    return compile_function(text, "pack", 3, len(_PACK) - 3)


# Of each array, eight rows whose numbers follow each other, for each k.
_PACK_CONTIGUOUS = """
define void @pack(ptr noalias %sources, ptr noalias %places, i64 %arrays, i64 %skip, i64 %blocks, i64 %stacks, i64 %k,
                  i64 %stride, i64 %k_stride) {{
entry:
  %group = mul i64 %k, {width}
  br label %array
array:
  %n = phi i64 [0, %entry], [%n.next, %array.end]
  %n.next = add i64 %n, 1
  %source.ptr = getelementptr i64, ptr %sources, i64 %n
  %source.number = load i64, ptr %source.ptr
  %source.first = add i64 %source.number, %skip
  %values = inttoptr i64 %source.first to ptr
  %place.ptr = getelementptr i64, ptr %places, i64 %n
  %place.number = load i64, ptr %place.ptr
  %to = inttoptr i64 %place.number to ptr
  br label %stack
stack:
  %s = phi i64 [0, %array], [%s.next, %stack.end]
  %s.next = add i64 %s, 1
  %s.at = mul i64 %s, %stride
  %s.first = mul i64 %s, %blocks
  br label %block
block:
  %b = phi i64 [0, %stack], [%b.next, %block.end]
  %b.next = add i64 %b, 1
  %b.at = mul i64 %b, {block}
  %at = add i64 %s.at, %b.at
  %number = add i64 %s.first, %b
  %number.k = mul i64 %number, %k
  %number.at = mul i64 %number.k, {block}
  %base.0 = getelementptr double, ptr %to, i64 %number.at
  %base.1 = getelementptr double, ptr %base.0, i64 %group
  br label %one
one:
  %i = phi i64 [0, %block], [%i.next, %one]
  %i.next = add i64 %i, 1
  %i.at = mul i64 %i, %k_stride
  %place = add i64 %at, %i.at
  %from = getelementptr {type}, ptr %values, i64 %place
  %found = load <{block} x {type}>, ptr %from, align 1
  %narrow = shufflevector <{block} x {type}> %found, <{block} x {type}> poison, <{block} x i32> <{order}>
{widen}
  %to.at = mul i64 %i, {width}
  %to.0 = getelementptr double, ptr %base.0, i64 %to.at
  %to.1 = getelementptr double, ptr %base.1, i64 %to.at
{stores}
  %is_last.i = icmp eq i64 %i.next, %k
  br i1 %is_last.i, label %block.end, label %one
block.end:
  %is_last.b = icmp eq i64 %b.next, %blocks
  br i1 %is_last.b, label %stack.end, label %block
stack.end:
  %is_last.s = icmp eq i64 %s.next, %stacks
  br i1 %is_last.s, label %array.end, label %stack
array.end:
  %is_last.n = icmp eq i64 %n.next, %arrays
  br i1 %is_last.n, label %done, label %array
done:
  ret void
}}
"""


@lru_cache
def pack_contiguous(kind: str, width: int, order: tuple[int, ...]) -> Callable[..., int]:
    """As ``strided``, of eight rows that are neighbors in memory, taken in ``order`` if they are one group."""
    type_, widen = WIDEN[kind]
    order = order if width == BLOCK else tuple(range(BLOCK))
    text = _PACK_CONTIGUOUS.format(
        width=width, block=BLOCK, type=type_, order=", ".join(f"i32 {row}" for row in order),
        widen=widen.format(n=0, width=BLOCK, source="%narrow"), stores="\n".join(_stored("%wide.0", BLOCK, 0, 0, width)),
    )  # fmt: skip
    return compile_function(text, "pack", 2, 7)
