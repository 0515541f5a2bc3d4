"""TMA copies of boxes between global and shared memory, with out-of-bounds fill, packing and reductions."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .. import tensor_map
from ..errors import OUT_OF_BOUNDS, fault_at
from ..memory.address_space import Region
from ..native import smem_chunk_copies
from ..native.native_code import is_ready
from ..performance_counters import count_bulk
from ..simt.broadcasting import are_all, is_any
from .mbarrier import arrive_and_expect_tx
from .tma_box_layout import (
    BOX_ALIGN,
    CHUNK,
    DenseRuns,
    Elements,
    SingleElementUnits,
    chunks_of_boxes,
    order_of_box,
    row_offsets,
)

_UNITS = {16: np.complex128, 8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}
_NO_ARRIVALS = np.zeros(1, np.int64)


def global_view(batch, ins, flat, base: int, offsets, unit: int, writes: bool):
    """(view in units, index of ``offsets`` bytes from ``base``); raises a fault if they are not mapped."""
    if not offsets.size:
        return np.zeros(0, _UNITS[unit]), offsets
    low, high = base + int(offsets.min()), base + int(offsets.max()) + unit
    region = batch.memories.address_space.find(low)
    if region is None or high > region.base + region.size:
        outside = low if region is None else region.base + region.size
        fault_at(
            batch.geometry,
            ins,
            flat,
            "address outside mapped memory",
            outside,
            kind=OUT_OF_BOUNDS,
            size=high - outside,
            writes=writes,
        )
    return region.view(_UNITS[unit]), (offsets + (base - region.origin)) // unit


class InFlightCopy:
    """The interface of copies to racecheck: their bytes of shared memory, and the events of reads and writes."""

    clocks = None  # racecheck's vector clock of each copy
    prefetched = None  # source data of copies from shared memory, one row per copy

    @property
    def source_was_read(self) -> bool:
        return self.prefetched is not None

    def read(self, batch) -> None:
        """Read the source now; ``perform`` writes the bytes."""
        if self.prefetched is None:
            self.record_completion(batch)
            self.prefetched = self.sources(batch)

    def copies_of_threads(self, member):
        """A mask of the copies of threads in a mask, or None if there are none."""
        keep = member[self.flat]
        return keep if is_any(keep) else None

    def record_issue(self, batch):
        if batch.observers.racecheck is None:
            return
        if self.positions is not None:
            self.clocks = batch.observers.racecheck.shared_memory.issue_copies(self.positions, self.flat)
        else:
            self.clocks = batch.observers.racecheck.shared_memory.issue_stores(self.ins, self.shared_bytes(), self.flat)

    def record_completion(self, batch):
        if batch.observers.racecheck is None:
            return
        if self.positions is not None:
            batch.observers.racecheck.shared_memory.copies_write(
                self.ins, self.shared_bytes(), self.positions, self.flat, self.clocks
            )
        else:
            batch.observers.racecheck.shared_memory.stores_done(self.flat, self.clocks)


class BoxCopy(InFlightCopy):
    """The box copies of one instruction between global and shared memory: one row per copy.

    ``coordinates`` (n, rank), ``start`` (n): chunk within the CTA's shared memory, ``bias`` (n): first chunk of that
    CTA's memory in the batch's, ``flat`` (n): issuing threads, ``positions`` (n): mbarriers, or None.
    """

    def __init__(self, ins, tensor, coordinates, start, bias, flat, positions=None, function=None):
        self.ins, self.tensor, self.coordinates, self.start, self.bias = ins, tensor, coordinates, start, bias
        self.flat, self.positions, self.function, self.is_performed = flat, positions, function, False

    def only(self, member):
        if (keep := self.copies_of_threads(member)) is None:
            return None
        out = BoxCopy(
            self.ins, self.tensor, self.coordinates[keep], self.start[keep], self.bias[keep], self.flat[keep],
            None if self.positions is None else self.positions[keep], self.function,
        )  # fmt: skip
        out.clocks = None if self.clocks is None else self.clocks[keep]
        out.prefetched = None if self.prefetched is None else self.prefetched[keep]
        return out

    def is_repeat_of(self, batch) -> bool:
        """Whether later copies of the same threads can reuse this one with other coordinates, without further checks."""
        tensor = self.tensor
        return (
            batch.observers.racecheck is None
            and batch.geometry.cluster_size == 1
            and tensor.is_plain
            and self.dense is not None
        )

    def with_coordinates(self, tensor: tensor_map.TensorMap, coordinates: np.ndarray) -> BoxCopy:
        """The same copy of other boxes with the same layout."""
        out = BoxCopy(self.ins, tensor, coordinates, self.start, self.bias, self.flat, self.positions, self.function)
        out.dense = self.dense
        return out

    @cached_property
    def chunks(self) -> np.ndarray:
        """Indices of the 16-byte chunks of each box in the batch's shared memory (n, rows, chunks)."""
        return chunks_of_boxes(self.tensor, self.start) + self.bias[:, None, None]

    def mark_in_flight(self, batch) -> None:
        flight, dense = batch.observers.require_async_copy_marks(), self.dense
        if dense is None:
            flight.mark_written(self.ins, self.chunks, CHUNK)
        else:
            flight.mark_written(self.ins, dense.where(batch), CHUNK, dense.per_cta(batch))

    @cached_property
    def dense(self) -> DenseRuns | None:
        """The runs of chunks of all boxes, if each box is contiguous and at the same offset in different CTAs; else None.

        The swizzle permutes chunks within 128 bytes only.
        """
        tensor, start = self.tensor, int(self.start[0])
        count, left = divmod(tensor.rows * tensor.row_bytes, CHUNK)
        if tensor.pitch != tensor.row_bytes or left or count * CHUNK % BOX_ALIGN or start % (BOX_ALIGN // CHUNK):
            return None
        return DenseRuns.of(self.bias, start, count) if are_all(self.start == start) else None

    def sources(self, batch) -> np.ndarray:
        """The source chunks of each box."""
        return batch.memories.shared_view(np.complex128)[self.chunks]

    def shared_bytes(self) -> np.ndarray:
        return (self.chunks[..., None] * CHUNK + np.arange(CHUNK)).reshape(len(self.chunks), -1)

    def perform(self, batch) -> None:
        if self.is_performed:
            return
        self.is_performed = True
        if self.perform_natively(batch):
            return
        elements = Elements(self.tensor, self.coordinates)
        writes, base = self.positions is None, self.tensor.base
        view, index = global_view(batch, self.ins, self.flat[0], base, elements.only(), elements.unit, writes)
        moved = elements.unit * (elements.offset.size if elements.all else int(elements.valid.sum()))
        count_bulk(batch.observers.counters, len(self.flat), moved, writes)
        if self.positions is not None:
            self.check_cta_races(batch, elements)
            self.record_completion(batch)
            return self.load(batch, elements, view, index)
        self.read(batch)
        if self.function is None:
            data = self.units_of(elements, view.dtype)
            self.check_cta_races(batch, elements, data)
            view[index] = data
        else:
            self.reduce(batch)

    def check_cta_races(self, batch, elements, written: np.ndarray | None = None) -> None:
        """Report the accesses of global memory to racecheck between CTAs, and the reads to initcheck."""
        races, unwritten, writes = batch.observers.cta_racecheck, batch.observers.initcheck, written is not None
        if (races is None and (unwritten is None or writes)) or not elements.offset.size:
            return
        flat = np.broadcast_to(np.asarray(self.flat)[:, None, None], elements.offset.shape)
        flat, offset = (
            (flat, elements.offset) if elements.all else (flat[elements.valid], elements.offset[elements.valid])
        )
        start = offset.reshape(-1) + self.tensor.base
        if unwritten is not None and not writes:
            unwritten.access(batch.geometry, self.ins, flat.reshape(-1), start, elements.unit)
        if races is not None and len(start):
            region = batch.memories.address_space.find(int(start[0]))
            data = np.ascontiguousarray(written).reshape(-1, 1).view(np.uint8) if writes else None
            races.access(batch.geometry, self.ins, region, flat.reshape(-1), start, elements.unit, writes, data)

    def load(self, batch, elements, view, index):
        if elements.all:
            data = view[index]
        else:
            data = np.empty(elements.offset.shape, view.dtype)
            data[...] = self.out_of_bounds_fill(view.dtype)
            data[elements.valid] = view[index]
        data = np.ascontiguousarray(data)
        if self.tensor.element == "tf32":
            data = rounded_to_tf32(data)
        if self.tensor.kind.packed < CHUNK:
            data = padded(data, self.tensor.kind.packed)
        self.place(batch, data.view(np.complex128))
        self.complete(batch)

    def complete(self, batch) -> None:
        """Complete the transaction bytes on the mbarriers."""
        arrive_and_expect_tx(
            batch,
            self.ins,
            self.positions,
            self.flat,
            _NO_ARRIVALS,
            self.tensor.expected_tx_bytes,
            clocks=self.clocks,
        )

    def perform_natively(self, batch) -> bool:
        """Try to load the boxes by native code: they must be inside a mapped tensor, without observers. Returns whether it did."""
        tensor, observers, dense = self.tensor, batch.observers, self.dense
        has_observers = (
            observers.racecheck is not None or observers.cta_racecheck is not None or observers.initcheck is not None
        )
        if self.positions is None or dense is None or has_observers or not tensor.is_plain or not is_ready():
            return False
        # As unsigned integers, negative coordinates are larger than all others.
        if not tensor.is_larger_than_box or is_any(self.coordinates.view(np.uint64) > tensor.last.view(np.uint64)):
            return False
        corners = self.coordinates @ tensor.steps
        steps = row_offsets(tensor.counts, tensor.element_strides, tensor.strides)
        if (region := self.region(batch, corners, int(steps[-1]))) is None:
            return False
        count_bulk(observers.counters, len(corners), len(corners) * tensor.box_bytes, False)
        source, swizzle = region.at + tensor.base - region.origin, tensor_map.CHUNK_XOR[tensor.swizzle]
        row_chunks = tensor.row_bytes // CHUNK
        marks = batch.observers.async_copy_marks.marks[CHUNK]
        are_rounded = tensor.element == "tf32"
        smem_chunk_copies.write_boxes(
            batch.memories.shared,
            marks,
            source,
            corners,
            steps,
            self.bias,
            row_chunks,
            dense.start,
            swizzle,
            are_rounded,
        )
        self.complete(batch)
        return True

    def region(self, batch, corners: np.ndarray, rows: int) -> Region | None:
        """The region that maps all boxes, usually the whole tensor. ``rows``: bytes from the first to the last row of a box."""
        tensor = self.tensor
        region, after = batch.memories.address_space.find(tensor.base), rows + tensor.data_bytes
        if region is not None and tensor.base + int(tensor.last @ tensor.steps) + after <= region.base + region.size:
            return region
        low, high = tensor.base + int(corners.min()), tensor.base + int(corners.max()) + after
        region = batch.memories.address_space.find(low)
        return None if region is None or high > region.base + region.size else region

    def place(self, batch, data: np.ndarray) -> None:
        """Write the chunks of all boxes, in row order, to shared memory, and clear their marks of copies in flight."""
        shared, dense = batch.memories.shared_view(np.complex128), self.dense
        if dense is None:
            shared[self.chunks] = data.reshape(self.chunks.shape)
            batch.observers.async_copy_marks.clear(self.chunks, CHUNK)
            return
        per_cta, where = dense.per_cta(batch), dense.where(batch)
        data = data.reshape(len(self.flat), dense.count)
        if any(tensor_map.CHUNK_XOR[self.tensor.swizzle]):
            data = data.take(order_of_box(self.tensor, dense.start), axis=1)
        shared.reshape(-1, per_cta)[where] = data
        batch.observers.async_copy_marks.clear(where, CHUNK, per_cta)

    def out_of_bounds_fill(self, dtype):
        """The value of elements outside the tensor."""
        if self.tensor.fill == "zero":
            return dtype.type(0)
        pattern = self.tensor.kind.nan.to_bytes(self.tensor.kind.bytes, "little")
        return np.frombuffer(pattern * CHUNK, dtype)[0]

    def units_of(self, elements, dtype) -> np.ndarray:
        """The source data of the in-bounds units, in the order of ``elements.only()``."""
        taken = self.prefetched if self.tensor.kind.packed == CHUNK else packed(self.prefetched)
        data = taken.view(dtype).reshape(elements.offset.shape)
        return data if elements.all else data[elements.valid]

    def reduce(self, batch):
        """Reduce element by element and copy by copy, because copies may overlap."""
        unit = self.tensor.kind.bytes
        data = self.prefetched.view(_UNITS[unit]).reshape(len(self.prefetched), -1)
        for i in range(len(data)):
            elements = SingleElementUnits(self.tensor, self.coordinates[i : i + 1])
            view, index = global_view(batch, self.ins, self.flat[i], self.tensor.base, elements.only(), unit, True)
            values = data[i][elements.valid.reshape(-1)]
            index = index.reshape(-1)
            view[index] = self.function(view[index], values, None)


def padded(data: np.ndarray, packed: int) -> np.ndarray:
    """Chunks of 16 bytes that start with ``packed`` bytes of data; the undefined rest is filled with ones."""
    parts = data.view(np.uint8).reshape(-1, packed)
    out = np.full((len(parts), CHUNK), 0xFF, np.uint8)
    out[:, :packed] = parts
    return out


def packed(chunks: np.ndarray) -> np.ndarray:
    """.b6p2x16: the low 6 bits of 16 bytes, packed into 12 bytes (section 5.5.1.1)."""
    codes = np.ascontiguousarray(chunks)[..., None].view(np.uint8).reshape(-1, 4, 4).astype(np.uint32) & 63
    words = (codes << np.array([0, 6, 12, 18], np.uint32)).sum(axis=2, dtype=np.uint32)
    return np.ascontiguousarray(words[..., None].view(np.uint8)[..., :3]).reshape(-1)


def rounded_to_tf32(data):
    """Copies of tf32 tensors round to the nearest tf32, ties to even; infinities and NaNs keep their bits.

    The ISA does not specify the rounding; Triton tests this one on GPUs (``round_f32_to_tf32`` of its ``TensorDescriptor``).
    """
    from ..numerics.float_conversions import round_to_tf32

    values = data.view(np.float32)
    rounded = np.where(np.isfinite(values), round_to_tf32(values, "rn"), values.view(np.uint32))
    return np.ascontiguousarray(rounded).view(data.dtype)
