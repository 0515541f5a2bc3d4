"""Factors in float64 as ``machine_code.py`` multiplies them, from arrays or from where registers of PTX hold them.

A factor of matrices (rows, k) becomes (rows / width, k, width): the numbers of ``width`` rows side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from .jit import address, addresses, compiled, identities

WIDTHS = ROWS, COLUMNS = 4, 8  # of A and of B
BLOCK = 8  # rows of 16 bytes, which a register of a warp holds: lane 4 r + t has word t of row r
FEW = 6  # arrays whose addresses are found one by one
IN_ORDER = np.arange(COLUMNS)
APART = np.concatenate([IN_ORDER[::2], IN_ORDER[1::2]])


class Matrices(Protocol):
    """What is packed: ``values`` (stack, rows, k), or if there are any ``blocks``, (rows / 8, columns of blocks) arrays (warps, 32 words) of the
    numbers of a ``kind`` with significant ``bits``, warps of which ``fold`` are one matrix."""

    @property
    def kind(self) -> str: ...
    @property
    def values(self) -> np.ndarray: ...
    @property
    def blocks(self) -> Sequence[Sequence[np.ndarray]]: ...
    @property
    def fold(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    @property
    def bits(self) -> int: ...


def kind_of(factor: Matrices) -> str | None:
    """The type of the numbers that are packed, a row of ``WIDEN``; None where they cannot be."""
    if factor.blocks:
        return {"f16": "f16", "bf16": "bf16", "tf32": "tf32"}.get(factor.kind)
    return {np.dtype(np.float16): "f16", np.dtype(np.float32): "f32"}.get(factor.values.dtype)


class Side:
    """One factor of every step, packed: (steps, matrices, rows / width, k, width), of ``each`` matrices of the stack at a time,
    or of the one that there is. ``step`` and ``matrix`` are how far the next one is, in numbers."""

    def __init__(self, steps: Sequence[Matrices], side: int, each: int, *, is_apart: bool):
        stack, rows, k = steps[0].shape
        self.is_shared, self.width = stack == 1, WIDTHS[side]
        self.out = np.empty((len(steps), 1 if self.is_shared else each, rows // self.width, k, self.width))
        self.address, self.step = address(self.out), self.out[0].size
        self.matrix = 0 if self.is_shared else rows * k
        self.kept: list[np.ndarray] = []  # whose addresses are in use
        order = APART if is_apart and side else IN_ORDER[: self.width]
        prepare = self.from_registers if steps[0].blocks else self.from_arrays
        self.pack_some = prepare(steps, order)

    def pack(self, first: int, count: int) -> None:
        """Pack ``count`` matrices from number ``first`` on."""
        if not self.is_shared:
            self.pack_some(first, count)
        elif not first:
            self.pack_some(0, 1)

    def from_arrays(self, steps: Sequence[Matrices], order: np.ndarray) -> Callable[[int, int], None]:
        call, calls = _strided(kind_of(steps[0]), self.width), []
        _, rows, k = steps[0].shape
        for number, factor in enumerate(steps):
            values = factor.values
            matrix, row, column = (stride // values.itemsize for stride in values.strides)
            place = self.address + 8 * self.step * number
            strides = (k, matrix, self.width * row, column)
            lanes = order * row
            self.kept.append(lanes)
            calls.append((place, address(values), values.strides[0], address(lanes), strides))

        def pack(first: int, count: int) -> None:
            for place, values, matrix, lanes, strides in calls:
                call(place, values + first * matrix, lanes, rows // self.width, count, *strides)

        return pack

    def from_registers(self, steps: Sequence[Matrices], order: np.ndarray) -> Callable[[int, int], None]:
        call, fold = _blocks(kind_of(steps[0]), self.width, tuple(order.tolist())), steps[0].fold
        _, rows, k = steps[0].shape
        places = self.address + _offsets(
            len(steps), len(steps[0].blocks), len(steps[0].blocks[0]), k, self.step, self.width
        )
        blocks = [block for factor in steps for line in factor.blocks for block in line]
        table = np.array([places_of(blocks), places])
        self.kept.append(table)
        source, place = address(table), address(table) + table.strides[0]
        per_warp = rows * k // fold  # warps of one matrix have their rows after each other

        def pack(first: int, count: int) -> None:
            call(source, place, len(blocks), first * fold, count * fold, per_warp, self.width * k)

        return pack


@lru_cache(maxsize=256)
def _offsets(steps: int, rows: int, columns: int, k: int, step: int, width: int) -> np.ndarray:
    """Bytes from the first factor to those of the blocks (steps, rows, columns), flat."""
    number, row, column = np.ogrid[:steps, :rows, :columns]
    return (8 * (number * step + row * BLOCK * k + column * (k // columns) * width)).reshape(-1)


def places_of(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Where arrays begin that are in one piece of memory."""
    first, out = blocks[0], np.empty(len(blocks), np.int64)
    if (
        len(blocks) < FEW
        or first.ndim != 2
        or addresses(tuple(blocks), _kinds(first.dtype, len(blocks)), first.shape, out)
    ):
        out[:] = [address(block) for block in blocks]
    return out


@lru_cache(maxsize=64)
def _kinds(kind: np.dtype, count: int) -> np.ndarray:
    return identities([kind] * count)


# -- the types of numbers ----------------------------------------------------------------------------
# The bits of a finite float16, sign, exponent and fraction, as those of a float32 are 2^112 times too small.
_HALF = """  %long.{n} = sext <{width} x i16> {source} to <{width} x i32>
  %moved.{n} = shl <{width} x i32> %long.{n}, splat (i32 13)
  %bits.{n} = and <{width} x i32> %moved.{n}, splat (i32 -1879056384)
  %small.{n} = bitcast <{width} x i32> %bits.{n} to <{width} x float>
  %small.wide.{n} = fpext <{width} x float> %small.{n} to <{width} x double>
  %wide.{n} = fmul <{width} x double> %small.wide.{n}, splat (double 0x46F0000000000000)"""
_BRAIN = """  %long.{n} = zext <{width} x i16> {source} to <{width} x i32>
  %bits.{n} = shl <{width} x i32> %long.{n}, splat (i32 16)
  %small.{n} = bitcast <{width} x i32> %bits.{n} to <{width} x float>
  %wide.{n} = fpext <{width} x float> %small.{n} to <{width} x double>"""
_TENSOR = """  %bits.{n} = and <{width} x i32> {source}, splat (i32 -8192)
  %small.{n} = bitcast <{width} x i32> %bits.{n} to <{width} x float>
  %wide.{n} = fpext <{width} x float> %small.{n} to <{width} x double>"""
_SINGLE = "  %wide.{n} = fpext <{width} x float> {source} to <{width} x double>"
WIDEN = {"f16": ("i16", _HALF), "bf16": ("i16", _BRAIN), "tf32": ("i32", _TENSOR), "f32": ("float", _SINGLE)}

# -- from registers ----------------------------------------------------------------------------------
# Loops over blocks and warps; a block is turned by interleaving its rows, as often as its words have numbers.
_TURN = """
define void @pack(ptr noalias %sources, ptr noalias %places, i64 %blocks, i64 %first, i64 %warps, i64 %warp, i64 %group) {{
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
  %w.at = mul i64 %w.number, 128
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
def _blocks(kind: str, width: int, order: tuple[int, ...]) -> Callable[..., int]:
    """The function that packs blocks of registers, whose rows are taken in ``order`` by eights, or twice by fours."""
    type_, widen = WIDEN[kind]
    each = {"i16": 8, "i32": 4}[type_]  # numbers of a row, and rows that are turned together
    numbers = range(BLOCK) if width == BLOCK else [*range(ROWS), *range(ROWS, BLOCK)]
    order = order if width == BLOCK else tuple(numbers)
    lines, columns = [], []
    for first in range(0, BLOCK, each):
        rows = []
        for row in order[first : first + each]:
            name = f"%row.{row}"
            lines.append(f"  {name}.ptr = getelementptr i8, ptr %from, i64 {16 * row}")
            lines.append(f"  {name} = load <{each} x {type_}>, ptr {name}.ptr, align 4")
            rows.append(name)
        columns.append(turned(rows, f"{first}", f"<{each} x {type_}>", lines))
    stores: list[str] = []
    for part, names in enumerate(columns):
        for k, name in enumerate(names):
            stores.append(widen.format(n=f"{part}.{k}", width=each, source=name))
            stores += _stored(f"%wide.{part}.{k}", each, part * each, k, width)
    text = _TURN.format(rows="\n".join(lines), stores="\n".join(stores))
    return compiled(text, "pack", 2, 5)


def turned(rows: list[str], prefix: str, type_: str, lines: list[str]) -> list[str]:
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
_MAGNITUDES = {
    "i16": (np.uint16, "i16", 0x7FFF),
    "i32": (np.uint32, "i32", 0x7FFFE000),
    "float": (np.uint32, "i32", 0x7FFFFFFF),
}


def magnitudes(groups: Sequence[Sequence[np.ndarray]], kind: str) -> np.ndarray:
    """The bits (groups, 2) of the largest magnitude and of the smallest but zero (0 if there is none) in groups of blocks of a
    kind, each in one piece of memory, all of one size: a multiple of 32 bytes. All groups have as many."""
    type_, _ = WIDEN[kind]
    out = np.empty((len(groups), 2), _MAGNITUDES[type_][0])
    sources = places_of([block for blocks in groups for block in blocks])
    _extremes(type_)(address(out), address(sources), len(groups), len(groups[0]), groups[0][0].nbytes // 32)
    return out


def numbers_of(bits: np.ndarray, kind: str) -> np.ndarray:
    """The numbers of a kind that have such bits, as float16 or float32."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return bits.view(np.float16 if kind == "f16" else np.float32)


@lru_cache
def _extremes(type_: str) -> Callable[..., int]:
    _, one, mask = _MAGNITUDES[type_]
    lanes = 256 // int(one[1:])
    text = _EXTREMES.format(type=f"<{lanes} x {one}>", name=f"v{lanes}{one}", one=one, mask=mask)
    return compiled(text, "extremes", 2, 3)


# -- from arrays -------------------------------------------------------------------------------------
_PACK = ("to", "values", "lanes", "groups", "stacks", "k", "stride", "group_stride", "k_stride")
# Loops over matrices, groups of rows, and k.
_GROUPS = """
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
def _strided(kind: str, width: int) -> Callable[..., int]:
    """The function that packs groups of ``width`` rows of numbers of a kind, wherever they are."""
    type_, widen = WIDEN[kind]
    before = ["poison", *(f"%narrow.{i}" for i in range(width - 1))]
    gather = [_GATHER.format(i=i, type=type_, width=width, before=before[i]) for i in range(width)]
    text = _GROUPS.format(
        width=width, numbers=", ".join(f"i64 %{name}" for name in _PACK[3:]),
        lanes="\n".join(_LANE.format(i=i) for i in range(width)), gather="\n".join(gather),
        widen=widen.format(n=0, width=width, source=f"%narrow.{width - 1}"),
    )  # fmt: skip
    return compiled(text, "pack", 3, len(_PACK) - 3)
