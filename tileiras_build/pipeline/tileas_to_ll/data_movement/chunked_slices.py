"""Tiles that do not fit in shared memory: slices and dots exchange them through it in chunks.

The bits ``chunk_bits`` of an element's packed index are the chunk index (analysis/slice_chunk_bits.py), the other
bits the offset in the chunk. A thread stores its registers that are in the chunk, and loads the registers that it
needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ....ir.layouts.f2_linear_algebra import bits
from ....ir.layouts.linear_layout import dim_bases
from ...analysis.slice_chunk_bits import dim_stride, inner_bits, slice_to_whole_index
from ...common.llvm_element_types import Element, element_of
from ..emission.function_builder import Value
from ..emission.kernel_emitter import KernelEmitter
from ..emission.register_values import RegisterValue, materialize
from ..emission.value_map import ValueMap
from ..memory.shared_memory import holder_of, load_shared, store_shared


def pack_kept_bits(index: int, kept: int) -> int:
    """The bits of ``index`` that are in ``kept``, packed together."""
    return sum((index >> bit & 1) << place for place, bit in enumerate(bits(kept)))


def slice_start(
    values: ValueMap, indices: Sequence[SSAValue], shape: tuple[int, ...], slice_shape: tuple[int, ...]
) -> Value:
    """The element offset of the slice of shape ``part`` with these slice indices in a row-major tile of ``shape``."""
    start: Value = 0
    for dim, index in enumerate(indices):
        start = values.b.add(start, values.b.mul(values.scalar(index), dim_stride(shape, dim) * slice_shape[dim]))
    return start


def slice_shape(op: TableOp) -> tuple[int, ...]:
    """The shape of what an extract_slice reads: one element where its result is a scalar."""
    source, result = op.source.type, op.result.type
    return tuple(result.get_shape()) if isinstance(result, TensorType) else (1,) * len(source.get_shape())


@dataclass(frozen=True)
class _Elements:
    """The elements of a thread's registers: the thread's part of the packed index, XOR one of ``offsets``."""

    e: KernelEmitter
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, e: KernelEmitter, layout: LinearLayout, widen: Callable[[int], int] = lambda index: index) -> _Elements:
        images = (layout.lanes, layout.warps, layout.register_offsets)
        return cls(e, *(tuple(map(widen, image)) for image in images))

    def bits(self, mask: int) -> Value:
        """The thread's part of the index bits in ``mask``."""
        return self.e.threads.linear(*(tuple(image & mask for image in images) for images in (self.lanes, self.warps)))

    def address(self, offset: int, kept: int, bytes: int) -> Value:
        """An element's address in shared memory, relative to the scratch region."""
        lanes, warps = (tuple(pack_kept_bits(image, kept) * bytes for image in i) for i in (self.lanes, self.warps))
        place = self.e.b.xor(self.e.threads.linear(lanes, warps), pack_kept_bits(offset, kept) * bytes)
        return self.e.b.add(place, self.e.memory.shared_base)


@dataclass(frozen=True)
class _Chunk:
    """The elements with the index bits ``wanted`` in ``mask``, at byte ``scratch``; the bits ``kept`` are their offset."""

    wanted: Value
    mask: int
    kept: int
    scratch: int


def _store(elements: _Elements, values: Sequence[Value], element: Element, part: _Chunk, holder: Value | None) -> None:
    """Store the elements of a chunk, by the threads for which ``holder`` is true."""
    b = elements.e.b
    difference = b.xor(elements.bits(part.mask), part.wanted)
    for offset, value in dict(zip(elements.offsets, values)).items():
        if isinstance(difference, int) and difference != offset & part.mask:
            continue
        own = None if isinstance(difference, int) else b.compare("eq", difference, offset & part.mask)
        address = elements.address(offset, part.kept, element.bytes)
        store_shared(b, element, [value], address, part.scratch, b.all_of([own, holder]))


def store_chunk_along(e: KernelEmitter, value: SSAValue, dim: int, chunks: int, number: int, scratch: int) -> None:
    """Store one of ``chunks`` chunks of a tile, split along ``dim``, row-major at byte ``scratch``."""
    layout, element = layout_of(value), element_of(value.type)
    units = dim_bases(layout.shape)[dim][-(chunks.bit_length() - 1) :]
    wanted = sum(unit for place, unit in enumerate(units) if number >> place & 1)
    part = _Chunk(wanted, sum(units), layout.size - 1 & ~sum(units), scratch)
    holder = holder_of(e.threads, layout.free_bits("lane"), layout.free_bits("warp"))
    _store(_Elements.of(e, layout), e.values.registers(value), element, part, holder)


@dataclass(frozen=True)
class _ChunkedExchange:
    """A slice operation on a tile of ``shape``, the slice's being ``part``."""

    e: KernelEmitter
    op: TableOp
    element: Element
    shape: tuple[int, ...]
    part: tuple[int, ...]

    @property
    def whole(self) -> int:
        return prod(self.shape) - 1

    @property
    def inner(self) -> int:
        return inner_bits(self.shape, self.part)

    @property
    def kept(self) -> int:
        return self.whole & ~self.op.chunk_bits

    def start(self) -> Value:
        """The packed index of the slice's first element."""
        return slice_start(self.e.values, self.op.indices, self.shape, self.part)

    def chunk_address(self) -> Value:
        """Bytes from the start of a chunk to the slice: bits of the slice index may remain in the chunk."""
        b, start = self.e.b, self.start()
        place: Value = 0
        for bit in bits(self.kept & ~self.inner):
            moved = bit - (self.kept & (1 << bit) - 1).bit_count()
            place = b.or_(place, b.shift(b.and_(start, 1 << bit), -moved))
        return b.mul(place, self.element.bytes)

    def widen(self, index: int) -> int:
        """A packed index of the slice as one of the whole tile."""
        return slice_to_whole_index(index, self.part, self.shape)

    def chunks(self) -> Iterator[int]:
        """The chunk bits of a slice; a barrier precedes the stores of each chunk."""
        cut, value = self.op.chunk_bits & self.inner, 0
        while True:
            if value or "sync_before" in self.op.attributes:
                self.e.memory.barrier()
            yield value
            value = value - cut & cut
            if not value:
                return

    def store(
        self, layout: LinearLayout, elements: _Elements, values: Sequence[Value], wanted: Value, mask: int
    ) -> None:
        """Store the elements with the index bits ``wanted`` in ``mask``, by one of the threads that hold them."""
        holder = holder_of(self.e.threads, layout.free_bits("lane"), layout.free_bits("warp"))
        _store(elements, values, self.element, _Chunk(wanted, mask, self.kept, self.op.scratch_offset), holder)

    def load(self, elements: _Elements, old: Sequence[RegisterValue] | None, wanted: Value, mask: int) -> list[Value]:
        """Load the registers with the index bits ``wanted`` in ``mask`` from the chunk; keep all others of ``old``."""
        b, place = self.e.b, self.chunk_address()
        difference = b.xor(elements.bits(mask), wanted)
        known: dict[int, Value] = {}
        for number, offset in enumerate(elements.offsets):
            if offset in known:
                continue
            address = b.add(elements.address(offset, self.kept, self.element.bytes), place)
            (value,) = load_shared(self.e.b, self.element, 1, address, self.op.scratch_offset)
            if old is not None and mask:
                own = b.compare("eq", difference, offset & mask)
                value = b.select(own, value, materialize(b, old[number]), self.element.type)
            known[offset] = value
        return [known[offset] for offset in elements.offsets]


def extract_in_chunks(e: KernelEmitter, op: TableOp) -> list[Value]:
    """The registers of an extract_slice."""
    is_tile = isinstance(op.result.type, TensorType)
    shape = tuple(op.source.type.get_shape())
    exchange = _ChunkedExchange(e, op, element_of(op.source.type), shape, slice_shape(op))
    source = layout_of(op.source)
    stored = _Elements.of(e, source)
    wanted = _Elements.of(e, layout_of(op.result), exchange.widen) if is_tile else _Elements(e, (), (), (0,))
    cut, start, result = op.chunk_bits, exchange.start(), None
    for number in exchange.chunks():
        place = e.b.or_(e.b.and_(start, cut), number)
        exchange.store(source, stored, e.values.registers(op.source), place, cut)
        e.memory.barrier()
        result = exchange.load(wanted, result, number, cut & exchange.inner)
    return unwrap(result)


def insert_in_chunks(e: KernelEmitter, op: TableOp) -> Sequence[RegisterValue]:
    """The registers of an insert_slice: only the slice goes through shared memory."""
    layout, part = layout_of(op.result), layout_of(op.source)
    exchange = _ChunkedExchange(e, op, element_of(op.result.type), layout.shape, part.shape)
    stored, wanted = _Elements.of(e, part, exchange.widen), _Elements.of(e, layout)
    start = exchange.start()
    result: Sequence[RegisterValue] = e.values.packed_as(op.destination, layout)
    for number in exchange.chunks():
        exchange.store(part, stored, e.values.registers(op.source), number, op.chunk_bits & exchange.inner)
        e.memory.barrier()
        result = exchange.load(wanted, result, e.b.or_(start, number), op.chunk_bits)
    return result
