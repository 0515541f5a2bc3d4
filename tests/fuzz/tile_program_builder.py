"""Builds random tile programs: values, loads and stores of tiles, choices from a seed or from hypothesis."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    DenseArrayBase,
    UnitAttr,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.dialects import cuda_tile as ct
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS
from tileiras_build.ir.dialects.cuda_tile.enums import (
    ComparisonPredicateAttr,
    IntegerOverflowAttr,
    MemoryOrderingSemanticsAttr,
    PaddingValue,
    RoundingModeAttr,
    SignednessAttr,
)
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN, PointerType, TensorViewType, TileType
from tileiras_build.ir.dialects.cuda_tile.view_types import PartitionViewType
from tileiras_build.simulate.interpreter.derive_inputs import Buffer, Inputs, aligned
from tileiras_build.simulate.interpreter.element_types import (
    BF16,
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F8E8M0,
    F16,
    F32,
    F64,
    STORAGE_DTYPES,
    TF32,
    from_bit_patterns,
    is_integer,
    storage_bits,
    to_bit_patterns,
    unsigned_dtype,
)

T = TypeVar("T")
FLOATS = (F16, BF16, F32, F64)
INTEGERS = (i8, i16, i32, i64)
EIGHT_BITS = (F8E4M3, F8E5M2)
ENTRY = "program"
MAX_ELEMENTS = 1024
# What views of types without infinities or NaNs may pad with.
PADDINGS = {
    F4E2M1: (PaddingValue.ZERO, PaddingValue.NEG_ZERO),
    F8E4M3: (PaddingValue.ZERO, PaddingValue.NEG_ZERO, PaddingValue.NAN),
}
# From a tile to another one: below zero, past the end, and so far that no number of 32 bits is its first element's.
AWAY = (-1, 1, 3, -(1 << 31), 1 << 26)
UNIT = UnitAttr()


class Choices(Protocol):
    """Where decisions come from."""

    def integer(self, low: int, high: int) -> int:
        """A number in [low, high]."""


class SeededChoices:
    """Decisions of a pseudo-random generator."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


@dataclass(frozen=True)
class Value:
    """A tile of a program under construction.

    ``exact``: a conforming compiler has no choice in its elements. ``raw``: nor in the bits of its NaNs.
    """

    ssa: SSAValue
    exact: bool = True
    raw: bool = True

    @property
    def type(self) -> TileType:
        return self.ssa.type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def element(self) -> Attribute:
        return self.type.element_type


@dataclass
class Program:
    """A random kernel: its module, and for each pointer parameter the element type and count of its buffer."""

    module: builtin.ModuleOp
    buffers: list[tuple[Attribute, int]]
    stored: dict[int, Operation]  # parameter -> the operation whose result is stored there

    def bytecode(self) -> bytes:
        return write_module(self.module)

    def inputs(self, seed: int) -> Inputs:
        """A launch of one tile block with difficult values."""
        generator = np.random.default_rng(seed)
        buffers = [fill(generator, index, *buffer) for index, buffer in enumerate(self.buffers)]
        return Inputs((1, 1, 1), [buffer.address.to_bytes(8, "little") for buffer in buffers], buffers, {})


def fill(generator: np.random.Generator, index: int, element: Attribute, count: int) -> Buffer:
    if element == F4E2M1:
        words = np.frombuffer(generator.bytes(count // 2), np.uint8)
    else:
        words = np.ascontiguousarray(to_bit_patterns(difficult_elements(generator, element, count), element))
    place = aligned(words.nbytes)
    place[:] = words.view(np.uint8)
    return Buffer(index, element, place)


def difficult_elements(generator: np.random.Generator, element: Attribute, count: int) -> np.ndarray:
    """Ordinary values, and here and there any bit pattern, an extreme or a zero."""
    size = storage_bits(element) // 8
    raw = from_bit_patterns(np.frombuffer(generator.bytes(size * count), unsigned_dtype(size)), element)
    kind = generator.integers(0, 12, count)
    if is_integer(element):
        small = generator.integers(-9 if BITS[element] > 1 else 0, 10, count).astype(STORAGE_DTYPES[element])
        return np.where(kind < 3, raw, small).astype(STORAGE_DTYPES[element])
    if element == F8E8M0:
        return from_bit_patterns(generator.integers(120, 135, count).astype(np.uint8), element)
    ordinary = (generator.standard_normal(count) * 2).astype(np.float32).astype(STORAGE_DTYPES[element])
    whole = generator.integers(-4, 5, count).astype(np.float32).astype(STORAGE_DTYPES[element])
    if element == TF32:
        ordinary = from_bit_patterns(ordinary.view(np.uint32), TF32)
    return np.where(kind < 1, raw, np.where(kind < 4, whole, ordinary)).astype(STORAGE_DTYPES[element])


class Builder:
    """A program under construction: the block that gets operations, and the values that are visible in it."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.entry = Block()
        self.block, self.pool = self.entry, []
        self.buffers: list[tuple[Attribute, int]] = []
        self.depth = 0

    def last_buffer(self) -> int:
        """The parameter that the newest buffer is."""
        return len(self.buffers) - 1

    # Decisions

    def pick(self, options: Sequence[T]) -> T:
        return options[self.choices.integer(0, len(options) - 1)]

    def near(self, index: Value) -> Value:
        """An index of a tile, or of one beside it or far away, which may be outside of the tensor."""
        if not self.chance(8):
            return index
        return self._plain(ct.AddIOp, [index, self.away(self.pick(AWAY))], index.type, overflow=NO_PROMISE)

    def away(self, distance: int) -> Value:
        """How far away."""
        return self.constant(TileType((), i32), distance)

    def chance(self, one_in: int) -> bool:
        return self.choices.integer(1, one_in) == 1

    def shape(self, most: int = MAX_ELEMENTS, rank: int | None = None) -> tuple[int, ...]:
        """Powers of two that multiply to at most ``most``."""
        left, dims = most.bit_length() - 1, []
        for _ in range(self.choices.integer(0, 3) if rank is None else rank):
            dims.append(self.choices.integer(0, min(left, 7)))
            left -= dims[-1]
        return tuple(1 << dim for dim in dims)

    # Operations

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        *,
        regions: Sequence[Region] = (),
        **properties: Attribute | None,
    ) -> Operation:
        given = {name.rstrip("_"): value for name, value in properties.items() if value is not None}
        op = kind.create(operands=list(operands), result_types=list(results), properties=given, regions=list(regions))
        self.block.add_op(op)
        return op

    def value(
        self,
        kind: type[Operation],
        operands: Sequence[Value],
        type: TileType,
        *,
        inexact: bool = False,
        raw: bool | None = None,
        **properties: Attribute | None,
    ) -> Value:
        """An operation of one result on values; it joins the pool."""
        op = self.emit(kind, [operand.ssa for operand in operands], [type], **properties)
        exact = not inexact and all(operand.exact for operand in operands)
        made = Value(op.results[0], exact, all(o.raw for o in operands) if raw is None else raw)
        self.pool.append(made)
        return made

    def constant(self, type: TileType, values) -> Value:
        attr = ct.DenseConstantAttr.from_array(type, values)
        return Value(self.emit(ct.ConstantOp, [], [type], value=attr).results[0])

    def argument(self, element: Attribute, count: int) -> Value:
        """A new pointer parameter to ``count`` elements."""
        self.buffers.append((element, count))
        return Value(self.entry.insert_arg(TileType((), PointerType(element)), len(self.entry.args)))

    # Finding operands

    def find(self, accept: Callable[[Value], bool]) -> Value | None:
        """A value of the pool that is accepted, more often a recent one."""
        found = [value for value in self.pool if accept(value)]
        if not found:
            return None
        low = len(found) // 2 if self.chance(2) else 0
        return found[self.choices.integer(low, len(found) - 1)]

    def any_of(self, elements: Sequence[Attribute]) -> Value:
        """A value of one of the element types, loaded if there is none."""
        found = self.find(lambda value: value.element in elements)
        return found or self.load(self.pick(elements), self.shape())

    def like(self, value: Value) -> Value:
        """Another value of the same type, made of whatever is there."""
        found = self.find(lambda other: other.type == value.type and other is not value)
        return found if found is not None and not self.chance(4) else self.load(value.element, value.shape)

    # Memory

    def load(self, element: Attribute, shape: tuple[int, ...]) -> Value:
        """A tile from a new input: through a view or through pointers, with a tail or without."""
        ways = (self._load_view, self._load_pointers) if len(shape) else (self._load_pointers,)
        made = self.pick(ways)(element, shape)
        self.pool.append(made)
        return made

    def _tensor(self, element: Attribute, shape: tuple[int, ...]) -> tuple[Value, TensorViewType, tuple[int, ...]]:
        """A tensor view around a tile, its type, and the tile's index; it may end inside of the tile."""
        index = tuple(self.choices.integer(0, 1) for _ in shape)
        sizes = tuple(
            (number + 1) * size if self.chance(2) else number * size + self.choices.integer(1, size)
            for number, size in zip(index, shape)
        )
        order = list(range(len(shape)))
        if self.chance(4):
            order.reverse()
        if element == F4E2M1:  # two share a byte along the last dimension of the order
            packed = order[-1]
            sizes = tuple(size + size % 2 if dim == packed else size for dim, size in enumerate(sizes))
        strides, step = [0] * len(shape), 1
        for dim in reversed(order):
            strides[dim], step = step, step * sizes[dim]
        dynamic = self.chance(2)
        view = TensorViewType(element, [None if dynamic else size for size in sizes], strides)
        # Half bytes are written with the word around them.
        base = self.argument(element, step if element != F4E2M1 else -(-step // 8) * 8)
        given = [self.constant(TileType((), i32), size) for size in sizes] if dynamic else []
        op = self.emit(
            ct.MakeTensorViewOp,
            [base.ssa, *(value.ssa for value in given)],
            [view],
            operandSegmentSizes=segments(1, len(given), 0),
        )
        return Value(op.results[0]), view, index

    def _view(self, element: Attribute, shape: tuple[int, ...], padded: bool) -> tuple[SSAValue, list[SSAValue]]:
        padding = (
            self.pick(PADDINGS.get(element, tuple(PaddingValue)))
            if padded and not is_integer(element)
            else PaddingValue.ZERO
            if padded
            else None
        )
        dim_map = list(range(len(shape)))
        if self.chance(4):
            dim_map.reverse()
        along = [0] * len(shape)
        for dim, target in enumerate(dim_map):
            along[target] = shape[dim]
        tensor, type, index = self._tensor(element, tuple(along))
        view = PartitionViewType(shape, type, dim_map, padding)
        made = self.emit(ct.MakePartitionViewOp, [tensor.ssa], [view]).results[0]
        return made, [self.constant(TileType((), i32), index[target]).ssa for target in dim_map]

    def _load_view(self, element: Attribute, shape: tuple[int, ...]) -> Value:
        view, index = self._view(element, shape, padded=element != F8E8M0)
        op = self.emit(
            ct.LoadViewTkoOp,
            [view, *index],
            [TileType(shape, element), TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, len(index), 0),
        )
        return Value(op.results[0])

    def _pointers(
        self,
        element: Attribute,
        shape: tuple[int, ...],
        base: Value | None = None,
    ) -> tuple[Value, Value | None]:
        """Pointers to the elements of a buffer, in order or backward, and a mask that cuts some off."""
        count = int(np.prod(shape, dtype=int))
        base, type = base or self.argument(element, count), TileType(shape, i32)
        offsets = self._counting(shape)
        if self.chance(4):
            offsets = self._plain(ct.SubIOp, [self.constant(type, count - 1), offsets], type, overflow=NO_PROMISE)
        ones = TileType((1,) * len(shape), PointerType(element))
        pointer = self._plain(ct.ReshapeOp, [base], ones) if shape else base
        pointer = (
            self._plain(
                ct.BroadcastOp,
                [pointer],
                ones.with_element_type(PointerType(element)) if not shape else TileType(shape, PointerType(element)),
            )
            if shape
            else pointer
        )
        pointers = self._plain(ct.OffsetOp, [pointer, offsets], TileType(shape, PointerType(element)))
        if self.chance(2):
            return pointers, None
        limit = self.constant(type, self.choices.integer(0, count))
        return pointers, self._plain(
            ct.CmpIOp, [offsets, limit], TileType(shape, i1), signedness=SIGNED, comparison_predicate=LESS
        )

    def _counting(self, shape: tuple[int, ...]) -> Value:
        """0, 1, 2, ... in row-major order."""
        count = int(np.prod(shape, dtype=int))
        line = self._plain(ct.IotaOp, [], TileType((count,), i32))
        return self._plain(ct.ReshapeOp, [line], TileType(shape, i32))

    def _plain(self, kind, operands: Sequence[Value], type: Attribute, **properties) -> Value:
        return Value(self.emit(kind, [operand.ssa for operand in operands], [type], **properties).results[0])

    def _load_pointers(self, element: Attribute, shape: tuple[int, ...]) -> Value:
        pointers, mask = self._pointers(element, shape)
        operands = [pointers.ssa]
        if mask is not None:
            operands += [mask.ssa, self.constant(TileType(shape, element), 1).ssa]
        op = self.emit(
            ct.LoadPtrTkoOp,
            operands,
            [TileType(shape, element), TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, int(mask is not None), int(mask is not None), 0),
        )
        return Value(op.results[0])

    def store(self, value: Value) -> None:
        """Write a tile to a new output."""
        if value.shape and self.chance(2):
            view, index = self._view(value.element, value.shape, padded=False)
            self.emit(
                ct.StoreViewTkoOp,
                [value.ssa, view, *index],
                [TOKEN],
                memory_ordering_semantics=WEAK,
                operandSegmentSizes=segments(1, 1, len(index), 0),
            )
            return
        pointers, mask = self._pointers(value.element, value.shape)
        masks = [] if mask is None else [mask.ssa]
        self.emit(
            ct.StorePtrTkoOp,
            [pointers.ssa, value.ssa, *masks],
            [TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, 1, len(masks), 0),
        )

    def exchange(self, value: Value) -> Value:
        """A tile through memory: stored, then loaded by other threads in another order."""
        base = self.argument(value.element, int(np.prod(value.shape, dtype=int)))
        pointers, _ = self._pointers(value.element, value.shape, base)
        stored = self.emit(
            ct.StorePtrTkoOp,
            [pointers.ssa, value.ssa],
            [TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, 1, 0, 0),
        )
        shape = self.pick([value.shape, value.shape[::-1]])
        pointers, _ = self._pointers(value.element, shape, base)
        op = self.emit(
            ct.LoadPtrTkoOp,
            [pointers.ssa, stored.results[0]],
            [TileType(shape, value.element), TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, 0, 0, 1),
        )
        return Value(op.results[0], value.exact, value.raw)

    # Nested blocks

    @contextmanager
    def nested(self, types: Sequence[Attribute] = ()):
        """A new block; values made in it are not visible after it."""
        outer, pool = self.block, list(self.pool)
        self.block, self.depth = Block(arg_types=list(types)), self.depth + 1
        try:
            yield self.block
        finally:
            self.block, self.pool, self.depth = outer, pool, self.depth - 1


def segments(*sizes: int) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def order_attr(order: Sequence[int]) -> Attribute:
    return DenseArrayBase.from_list(i32, list(order))


WEAK = MemoryOrderingSemanticsAttr.of("weak")
NO_PROMISE = IntegerOverflowAttr.of("none")
SIGNED, UNSIGNED = SignednessAttr.of("signed"), SignednessAttr.of("unsigned")
LESS = ComparisonPredicateAttr.of("less_than")
IEEE = tuple(map(RoundingModeAttr.of, ("nearest_even", "zero", "negative_inf", "positive_inf")))
NEAREST, APPROX, FULL = IEEE[0], RoundingModeAttr.of("approx"), RoundingModeAttr.of("full")

# Steps: each adds an operation or a few to a program.
