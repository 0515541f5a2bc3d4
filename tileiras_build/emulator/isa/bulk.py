"""Bulk copies: cp.async.bulk(.tensor), cp.reduce.async.bulk(.tensor) and tensor maps (PTX ISA 9.0, section 9.7.9.25).

A box of a tensor lies in shared memory row after row, 16-byte chunks swizzled: the chunk's number within a row of the
pattern (32, 64 or 128 bytes) is XORed with the number of the 128-byte row that its address lies in, or in one mode the
number of the 32-byte chunk (section 5.5.6, swizzling modes). Copies to shared memory land when their mbarrier is looked at (``waits.py``), copies from it when
their bulk group is waited for (``copies.py``): the latest moments that the ISA allows. A wait for reads alone
(``.read``) takes what is in shared memory, but leaves global memory as it is until a whole wait or the thread's exit.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from .. import tensor_map
from ..access import Selection, Site, flat_threads
from ..cluster import OFFSET_MASK, RANK_SHIFT
from ..faults import EmulatorFault
from ..memory import PARAM_WINDOW
from ..parse import TYPE_BITS, Address, Immediate, Name, Variable, Vector
from ..tensor_map import ROWS
from ..watch import flight_of
from .atomic import operation
from .mbarrier import change
from .memory import address_expression, resolve_space, space_of, widen_address
from .registry import handles
from .warp import wait_for_mates

CHUNK = 16
_UNITS = {16: np.complex128, 8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}
_BOX_ALIGN = 128  # of a box in shared memory (table "alignment" of section 5.5.7)


def fault(machine, ins, flat, why: str, address=None):
    cta, tid = divmod(int(flat), machine.threads)
    raise EmulatorFault(
        why, instruction=ins.text, line=ins.line, thread=machine.thread_name(cta, tid),
        address=None if address is None else int(address),
    )  # fmt: skip


# -- boxes -------------------------------------------------------------------------------------------
@lru_cache(maxsize=1024)
def chunks_of_box(rows: int, row_bytes: int, pitch: int) -> np.ndarray:
    """Chunk numbers of a box in shared memory from its start, before the swizzle: (rows, chunks)."""
    row, chunk = np.ogrid[:rows, : row_bytes // CHUNK]
    return row * (pitch // CHUNK) + chunk


def box_chunks(tensor, start) -> np.ndarray:
    """Chunk numbers (n, rows, chunks) of boxes that start at chunk ``start`` (n) of a CTA's shared memory."""
    chunks = start[:, None, None] + chunks_of_box(tensor.rows, tensor.row_bytes, tensor.pitch)
    mask, shift = tensor_map.CHUNK_XOR[tensor.swizzle]
    return chunks ^ (chunks >> 3 & mask) << shift


@lru_cache(maxsize=1024)
def row_steps(counts: tuple, steps: tuple) -> np.ndarray:
    """Position of each row of a box along dimensions 1, 2, …, from the box's corner: (rank - 1, rows)."""
    rows = int(np.prod(counts[1:], dtype=np.int64))
    grids = np.indices(counts[:0:-1]).reshape(len(counts) - 1, rows)[::-1]
    return grids * np.array(steps[1:], np.int64)[:, None]


class Elements:
    """The elements of boxes in global memory, in units of up to 16 bytes: offsets from the base and which exist."""

    def __init__(self, tensor, coordinates):
        size = tensor.kind.bytes
        first = coordinates[:, 0] * size * tensor.kind.bits // 8
        width = tensor.shape[0] * size
        self.unit = unit_bytes(int(np.bitwise_or.reduce(first, initial=width)))
        column = first[:, None] + np.arange(0, tensor.data_bytes, self.unit)
        inside = (column >= 0) & (column < width)
        row = np.zeros((len(first), tensor.rows), np.int64)
        alive = np.ones((len(first), tensor.rows), bool)
        for d, at in enumerate(self.places(tensor, coordinates), start=1):
            alive &= (at >= 0) & (at < tensor.shape[d])
            row += at * tensor.strides[d - 1]
        self.offset = row[:, :, None] + column[:, None, :]  # bytes from the base, (n, rows, units)
        self.valid = alive[:, :, None] & inside[:, None, :]
        self.all = bool(alive.all() and inside.all())

    @staticmethod
    def places(tensor, coordinates):
        """Where the rows of each box lie along dimension 1, 2, …: (n, rows) each."""
        if tensor.gathers:
            return [coordinates[:, 1:]]
        if tensor.columns is not None:
            return pixels(tensor, coordinates)
        steps = row_steps(tensor.counts, tensor.element_strides)
        return [coordinates[:, d, None] + step for d, step in enumerate(steps, start=1)]

    def only(self):
        return self.offset if self.all else self.offset[self.valid]


def pixels(tensor, coordinates) -> list[np.ndarray]:
    """Where the pixels of columns lie along W, H, D, N (section 5.5.5): (copies, pixels) each.

    ``coordinates`` (n, 2 * rank - 2) are the first pixel's and what is added to W, H, D of each. Pixels follow each other
    along W, then H, then D in the bounding box, then in the next of N; ``element_strides`` are the steps. In the wide modes
    (im2col::w, im2col::w::128) H and D stay as they are.
    """
    columns, inner = tensor.columns, tensor.rank - 2
    at = [coordinates[:, 1 + d].copy() for d in range(inner + 1)]
    out = np.empty((inner + 1, len(coordinates), tensor.rows), np.int64)
    for pixel in range(tensor.rows):
        for d in range(inner + 1):
            out[d, :, pixel] = at[d] + (coordinates[:, tensor.rank + d] if d < inner else 0)
        ends = np.ones(len(coordinates), bool)
        for d in range(len(columns.lower)):
            at[d] += np.where(ends, tensor.element_strides[1 + d], 0)
            ends &= at[d] > tensor.shape[1 + d] - 1 + columns.upper[d]
            at[d][ends] = columns.lower[d]
        at[inner] += ends
    return list(out)


def unit_bytes(number: int) -> int:
    """The widest unit of up to 16 bytes that divides a number."""
    return min(number & -number, CHUNK) if number else CHUNK


def global_view(machine, ins, flat, base: int, offsets, unit: int):
    """(view in units, index of ``offsets`` bytes from ``base``); a fault where they are not mapped."""
    if not offsets.size:
        return np.zeros(0, _UNITS[unit]), offsets
    low, high = base + int(offsets.min()), base + int(offsets.max()) + unit
    region = machine.memory.find(low)
    if region is None or high > region.base + region.size:
        outside = low if region is None else region.base + region.size
        fault(machine, ins, flat, "address outside mapped memory", outside)
    return region.view(_UNITS[unit]), (offsets + (base - region.origin)) // unit


class Copy:
    """What the race check wants of a copy: the bytes of shared memory, and when they are read or written."""

    clocks = None  # of the race check, one per copy
    taken = None  # what a copy from shared memory has read, one row per copy

    @property
    def was_read(self) -> bool:
        return self.taken is not None

    def read(self, machine) -> None:
        """Read the source now; the bytes are written when the copy lands."""
        if self.taken is None:
            self.watch_landing(machine)
            self.taken = self.sources(machine)

    def kept(self, member):
        """Which copies belong to threads of a mask, or None where none does."""
        keep = member[self.flat]
        return keep if keep.any() else None

    def watch_issue(self, machine):
        if machine.race is None:
            return
        if self.positions is not None:
            self.clocks = machine.race.issue_copies(self.positions, self.flat)
        else:
            self.clocks = machine.race.issue_stores(self.ins, self.shared_bytes(), self.flat)

    def watch_landing(self, machine):
        if machine.race is None:
            return
        if self.positions is not None:
            machine.race.copy_in(self.ins, self.shared_bytes(), self.positions, self.flat, self.clocks)
        else:
            machine.race.stores_done(self.flat, self.clocks)


class BoxCopy(Copy):
    """Boxes between global and shared memory, of one instruction: a row per copy.

    ``coordinates`` (n, rank), ``start`` (n): chunk within the CTA's shared memory, ``bias`` (n): first chunk of that
    CTA's memory in the batch's, ``flat`` (n): issuing threads, ``positions`` (n): mbarriers, or None.
    """

    def __init__(self, ins, tensor, coordinates, start, bias, flat, positions=None, function=None):
        self.ins, self.tensor, self.coordinates, self.start, self.bias = ins, tensor, coordinates, start, bias
        self.flat, self.positions, self.function, self.landed = flat, positions, function, False

    def only(self, member):
        if (keep := self.kept(member)) is None:
            return None
        out = BoxCopy(
            self.ins, self.tensor, self.coordinates[keep], self.start[keep], self.bias[keep], self.flat[keep],
            None if self.positions is None else self.positions[keep], self.function,
        )  # fmt: skip
        out.clocks = None if self.clocks is None else self.clocks[keep]
        out.taken = None if self.taken is None else self.taken[keep]
        return out

    @cached_property
    def chunks(self) -> np.ndarray:
        """Numbers of the 16-byte chunks of each box in the batch's shared memory (n, rows, chunks)."""
        return box_chunks(self.tensor, self.start) + self.bias[:, None, None]

    def take_off(self, machine) -> None:
        for chunks in self.touched():
            flight_of(machine).begin(self.ins, chunks, CHUNK)

    def touched(self) -> list:
        """The chunks of all boxes, as slices where each box is dense: the swizzle moves chunks within 128 bytes alone."""
        tensor = self.tensor
        count, left = divmod(tensor.rows * tensor.row_bytes, CHUNK)
        if tensor.pitch != tensor.row_bytes or left or count * CHUNK % _BOX_ALIGN:
            return [self.chunks]
        return [slice(start, start + count) for start in (self.start + self.bias).tolist()]

    def sources(self, machine) -> np.ndarray:
        """The chunks of each box."""
        return machine.shared_view(np.complex128)[self.chunks]

    def shared_bytes(self) -> np.ndarray:
        return (self.chunks[..., None] * CHUNK + np.arange(CHUNK)).reshape(len(self.chunks), -1)

    def land(self, machine) -> None:
        if self.landed:
            return
        self.landed = True
        elements = Elements(self.tensor, self.coordinates)
        view, index = global_view(machine, self.ins, self.flat[0], self.tensor.base, elements.only(), elements.unit)
        if self.positions is not None:
            self.watch_landing(machine)
            return self.load(machine, elements, view, index)
        self.read(machine)
        if self.function is None:
            self.store(elements, view, index)
        else:
            self.reduce(machine)

    def load(self, machine, elements, view, index):
        if elements.all:
            data = view[index]
        else:
            data = np.empty(elements.offset.shape, view.dtype)
            data[...] = self.filling(view.dtype)
            data[elements.valid] = view[index]
        data = np.ascontiguousarray(data)
        if self.tensor.element == "tf32":
            data = rounded_to_tf32(data)
        if self.tensor.kind.packed < CHUNK:
            data = padded(data, self.tensor.kind.packed)
        machine.shared_view(np.complex128)[self.chunks] = data.view(np.complex128).reshape(self.chunks.shape)
        for chunks in self.touched():
            machine.flight.end(chunks, CHUNK)
        bytes_ = np.full(len(self.flat), -self.tensor.box_bytes, np.int64)
        change(machine, self.ins, self.positions, self.flat, 0 * bytes_, bytes_, clocks=self.clocks)

    def filling(self, dtype):
        """What elements outside the tensor read as."""
        if self.tensor.fill == "zero":
            return dtype.type(0)
        pattern = self.tensor.kind.nan.to_bytes(self.tensor.kind.bytes, "little")
        return np.frombuffer(pattern * CHUNK, dtype)[0]

    def store(self, elements, view, index):
        taken = self.taken if self.tensor.kind.packed == CHUNK else packed(self.taken)
        data = taken.view(view.dtype).reshape(elements.offset.shape)
        view[index] = data if elements.all else data[elements.valid]

    def reduce(self, machine):
        """Element by element, one copy after another: copies may overlap."""
        unit = self.tensor.kind.bytes
        data = self.taken.view(_UNITS[unit]).reshape(len(self.taken), -1)
        for i in range(len(data)):
            elements = ElementsOfOne(self.tensor, self.coordinates[i : i + 1])
            view, index = global_view(machine, self.ins, self.flat[i], self.tensor.base, elements.only(), unit)
            values = data[i][elements.valid.reshape(-1)]
            index = index.reshape(-1)
            view[index] = self.function(view[index], values, None)


def padded(data: np.ndarray, packed: int) -> np.ndarray:
    """Chunks of 16 bytes that begin with ``packed`` bytes of data; the rest, which nobody may use, is ones."""
    parts = data.view(np.uint8).reshape(-1, packed)
    out = np.full((len(parts), CHUNK), 0xFF, np.uint8)
    out[:, :packed] = parts
    return out


def packed(chunks: np.ndarray) -> np.ndarray:
    """.b6p2x16: the low 6 bits of 16 bytes each, one after another in 12 bytes (section 5.5.1.1)."""
    codes = np.ascontiguousarray(chunks)[..., None].view(np.uint8).reshape(-1, 4, 4).astype(np.uint32) & 63
    words = (codes << np.array([0, 6, 12, 18], np.uint32)).sum(axis=2, dtype=np.uint32)
    return np.ascontiguousarray(words[..., None].view(np.uint8)[..., :3]).reshape(-1)


class ElementsOfOne(Elements):
    """As ``Elements``, in units of one element."""

    def __init__(self, tensor, coordinates):
        super().__init__(tensor, coordinates)
        size = tensor.kind.bytes
        if self.unit == size:
            return
        steps = np.arange(0, self.unit, size)
        self.offset = (self.offset[..., None] + steps).reshape(*self.offset.shape[:2], -1)
        self.valid = np.repeat(self.valid, self.unit // size, axis=2)
        self.unit = size


def rounded_to_tf32(data):
    """Copies of tf32 tensors round to the nearest tf32, ties to even; infinities and NaNs keep their bits.

    The ISA names no rounding; Triton tests this one on GPUs (``round_f32_to_tf32`` of its ``TensorDescriptor``).
    """
    from ..numerics import round_to_tf32

    values = data.view(np.float32)
    rounded = np.where(np.isfinite(values), round_to_tf32(values, "rn"), values.view(np.uint32))
    return np.ascontiguousarray(rounded).view(data.dtype)


# -- lines of bytes ----------------------------------------------------------------------------------
class LineCopy(Copy):
    """Plain runs of bytes, one per thread: (flat, from, to, bytes) with addresses as ("global" | "shared", number)."""

    def __init__(self, ins, flat, to, source, sizes, positions=None, function=None, dtype=None):
        self.ins, self.flat, self.to, self.source, self.sizes = ins, flat, to, source, sizes
        self.positions, self.function, self.dtype, self.landed = positions, function, dtype, False

    def only(self, member):
        if (keep := self.kept(member)) is None:
            return None
        part = lambda pair: (pair[0], pair[1][keep])
        positions = None if self.positions is None else self.positions[keep]
        out = LineCopy(
            self.ins,
            self.flat[keep],
            part(self.to),
            part(self.source),
            self.sizes[keep],
            positions,
            self.function,
            self.dtype,
        )
        out.clocks = None if self.clocks is None else self.clocks[keep]
        out.taken = None if self.taken is None else [line for line, kept in zip(self.taken, keep) if kept]
        return out

    def sources(self, machine) -> list:
        """The bytes of each line; None for one of none."""
        sizes = enumerate(self.sizes.tolist())
        return [self.bytes_at(machine, self.source, i, size).copy() if size else None for i, size in sizes]

    def land(self, machine) -> None:
        if self.landed:
            return
        self.landed = True
        self.read(machine)
        for i, size in enumerate(self.sizes.tolist()):
            if size:
                self.move(self.bytes_at(machine, self.to, i, size), self.taken[i])
        if self.positions is not None:
            for chunks in self.chunks():
                machine.flight.end(chunks, CHUNK)
            sizes = self.sizes.astype(np.int64)
            change(machine, self.ins, self.positions, self.flat, 0 * sizes, -sizes, clocks=self.clocks)

    def shared_bytes(self) -> list:
        _, starts = self.source if self.positions is None else self.to
        return [start + np.arange(size) for start, size in zip(starts.tolist(), self.sizes.tolist())]

    def chunks(self) -> list:
        """Of each line in shared memory a slice of its 16-byte chunks."""
        starts = self.to[1] // CHUNK
        return [slice(start, start + size // CHUNK) for start, size in zip(starts.tolist(), self.sizes.tolist())]

    def take_off(self, machine) -> None:
        for chunks in self.chunks():
            flight_of(machine).begin(self.ins, chunks, CHUNK)

    def move(self, target, source):
        if self.function is None:
            target[:] = source
            return
        old, values = target.view(self.dtype), source.view(self.dtype)
        old[:] = self.function(old, values, None)

    def bytes_at(self, machine, where, i: int, size: int):
        space, addresses = where
        if space == "shared":
            return machine.shared[int(addresses[i]) : int(addresses[i]) + size]
        view, index = global_view(machine, self.ins, self.flat[i], int(addresses[i]), np.array([0, size - 1]), 1)
        return view[int(index[0]) : int(index[1]) + 1]


# -- instructions ------------------------------------------------------------------------------------
class BulkSite:
    """The operands of one bulk copy that are addresses of shared memory, mbarriers and tensor maps."""

    def __init__(self, ins, to_offset: int, from_offset: int, mbar_offset: int = 0, align: int = CHUNK, function=None):
        self.ins, self.function = ins, function
        self.to_offset, self.from_offset = to_offset, from_offset
        self.shared_to = Site(ins, "shared", 1, 1, to_offset, align)
        self.shared_from = Site(ins, "shared", 1, 1, from_offset, align)
        self.mbarrier = Site(ins, "shared", 8, 1, mbar_offset)
        self.maps: dict = {}

    # -- operands ------------------------------------------------------------------------------------
    def in_shared(self, site, group, address, selection):
        """(offset in the CTA's shared memory, the CTA's bias in the batch's), in bytes, int64."""
        n = len(selection.rows)
        place = site.in_shared(group, selection.pick(address), selection)
        bias = 0 if place.bias is None else place.bias
        offset = np.broadcast_to(np.asarray(place.offset).astype(np.int64), n)
        return offset, np.broadcast_to(bias, n)

    def barriers(self, group, address, selection):
        place = self.mbarrier.in_shared(group, selection.pick(address), selection)
        return np.broadcast_to(place.index(8), len(selection.rows))

    def targets(self, group, selection, flat, bias, positions, masks):
        """(index of the copy, bias, mbarrier) of each copy in each CTA that it goes to.

        A multicast writes the same place in every CTA of the mask and completes on the same mbarrier there - for
        pairs (.cta_group::2), on that of the CTA of the pair in which the given one lies (section 9.7.9.25.5.2).
        """
        machine, clusters = group.machine, group.machine.clusters
        words = machine.shared_size // 8
        pair = "cta_group::2" in self.ins.mods
        if masks is None:
            if not pair and (bias // machine.shared_size != positions // words).any():
                self.mbarrier.fault(group, "the mbarrier is not in the CTA that the copy goes to")
            return np.arange(len(flat)), bias, positions
        masks = np.broadcast_to(selection.pick(masks), len(flat)).astype(np.int64)
        if (masks >> clusters.size).any():
            self.mbarrier.fault(
                group, f"the multicast mask {masks.max():#x} names CTAs outside the cluster of {clusters.size}"
            )
        copy, rank = np.nonzero(masks[:, None] >> np.arange(clusters.size) & 1)
        own = flat[copy] // machine.threads
        target = clusters.of_rank(own, rank)
        if not clusters.alive(target).all():
            self.mbarrier.fault(group, "a multicast to a CTA that has exited")
        signalled = rank & ~1 | clusters.rank(positions[copy] // words) & 1 if pair else rank
        where = positions[copy] % words + clusters.of_rank(own, signalled) * words
        return copy, target * machine.shared_size, where

    def check_end(self, group, flat, offset, bytes_):
        bad = offset + bytes_ > group.machine.shared_limit
        if np.any(bad):
            at = int(np.flatnonzero(np.broadcast_to(bad, len(flat)))[0])
            limit = group.machine.shared_limit
            fault(group.machine, self.ins, flat[at], f"the copy leaves the shared memory ({limit} bytes)", offset[at])

    def tensors(self, group, address, selection, flat):
        """(tensor map, indices of its copies) for each distinct map."""
        addresses = np.broadcast_to(selection.pick(address), len(flat))
        for value in np.unique(addresses).tolist():
            some = np.flatnonzero(addresses == value)
            try:
                tensor = tensor_map.decode(read_map(group.machine, self.ins, flat[some[0]], value))
                yield tensor.gathering() if gathers(self.ins.mods) else tensor, some
            except ValueError as error:
                fault(group.machine, self.ins, flat[some[0]], str(error), value)

    @staticmethod
    def coordinates(values, selection):
        n = len(selection.rows)
        columns = [np.broadcast_to(selection.pick(v), n).astype(np.int64) for v in values]
        return np.stack(columns, axis=1)

    # -- tensors -------------------------------------------------------------------------------------
    def load_tensor(self, group, to, map_address, coordinates, mbar, mask=None, ctas=None):
        selection = Selection(group, True if mask is None else mask)
        if not len(selection.rows):
            return
        machine, flat = group.machine, flat_threads(group, selection)
        offset, bias = self.in_shared(self.shared_to, group, to, selection)
        positions = self.barriers(group, mbar, selection)
        at = self.coordinates(coordinates, selection)
        if is_wide(self.ins.mods):
            at = self.without_halo(machine, flat, at)
        copies, bias, positions = self.targets(group, selection, flat, bias, positions, ctas)
        for tensor, chosen in self.tensors(group, map_address, selection, flat):
            self.check_rank(machine, flat[chosen[0]], tensor, at[chosen])
            self.check_end(group, flat[chosen], offset[chosen], (tensor.rows - 1) * tensor.pitch + tensor.row_bytes)
            parts = np.flatnonzero(np.isin(copies, chosen))
            some = copies[parts]
            copy = BoxCopy(
                self.ins, tensor, at[some], offset[some] // CHUNK, bias[parts] // CHUNK, flat[some], positions[parts]
            )
            copy.watch_issue(machine)
            copy.take_off(machine)
            machine.waits.fly(copy.positions, copy)

    def store_tensor(self, group, map_address, coordinates, source, mask=None):
        selection = Selection(group, True if mask is None else mask)
        if not len(selection.rows):
            return
        machine, flat = group.machine, flat_threads(group, selection)
        offset, bias = self.in_shared(self.shared_from, group, source, selection)
        at = self.coordinates(coordinates, selection)
        for tensor, some in self.tensors(group, map_address, selection, flat):
            self.check_rank(machine, flat[some[0]], tensor, at[some])
            if tensor.kind.packed < CHUNK and tensor.kind.bits == 4:
                fault(machine, self.ins, flat[some[0]], f"{tensor.element} elements can only be loaded")
            self.check_end(group, flat[some], offset[some], (tensor.rows - 1) * tensor.pitch + tensor.row_bytes)
            function = None
            if self.function is not None:
                function = self.reduction(machine, flat[some[0]], tensor)
            copy = BoxCopy(
                self.ins, tensor, at[some], offset[some] // CHUNK, bias[some] // CHUNK, flat[some], None, function
            )
            copy.watch_issue(machine)
            group.bulk.pending.append(copy)

    def without_halo(self, machine, flat, at):
        """The coordinates of a wide mode without the last, wHalo, which must be 0. What W has more is wOffset."""
        halo, offset = at[:, -1], at[:, (at.shape[1] + 1) // 2]
        if halo.any():
            first = int(np.flatnonzero(halo)[0])
            why = (
                f"a wHalo of {halo[first]} is not supported: only figures 18 and 19 of the ISA show which pixels follow"
            )
            fault(machine, self.ins, flat[first], why)
        if (offset >= MOST_OFFSET).any():
            fault(machine, self.ins, flat[0], f"a wOffset of {offset.max()} is not 0 to {MOST_OFFSET - 1}")
        return at[:, :-1]

    def check_rank(self, machine, flat, tensor, at):
        mode = mode_of(self.ins.mods)
        if mode != (tensor.columns.mode if tensor.columns is not None else "tile"):
            fault(machine, self.ins, flat, f"the tensor map is not of the mode of this copy ({mode})")
        if tensor.kind.packed < CHUNK and (at[:, 0] % tensor_map.PADDED).any():
            why = f"the first coordinate of {tensor.element} elements must be a multiple of {tensor_map.PADDED}"
            fault(machine, self.ins, flat, why)
        if tensor.columns is not None and 2 * tensor.rank - 2 == at.shape[1]:
            return
        if not tensor.gathers and tensor.rank != at.shape[1]:
            fault(machine, self.ins, flat, f"the tensor map has rank {tensor.rank}, the copy {at.shape[1]} coordinates")

    def reduction(self, machine, flat, tensor):
        type_ = tensor.kind.reduction
        if type_ is None:
            fault(machine, self.ins, flat, f"no reduction of {tensor.element} elements")
        return operation(self.function, "b" + type_[1:] if self.function in ("and", "or", "xor") else type_)

    # -- lines ---------------------------------------------------------------------------------------
    def load_line(self, group, to, source, size, mbar, mask, from_shared: bool, ctas=None):
        selection = Selection(group, True if mask is None else mask)
        if not len(selection.rows):
            return
        machine, flat, sizes = group.machine, flat_threads(group, selection), self.sizes(group, size, selection)
        offset, bias = self.in_shared(self.shared_to, group, to, selection)
        self.check_end(group, flat, offset, sizes)
        origin = self.shared_line(group, source, selection, sizes) if from_shared else self.global_line(
            machine, source, selection, self.from_offset, flat
        )  # fmt: skip
        positions = self.barriers(group, mbar, selection)
        some, bias, positions = self.targets(group, selection, flat, bias, positions, ctas)
        target, origin = ("shared", offset[some] + bias), (origin[0], origin[1][some])
        copy = LineCopy(self.ins, flat[some], target, origin, sizes[some], positions, *self.line_reduction())
        copy.watch_issue(machine)
        copy.take_off(machine)
        machine.waits.fly(positions, copy)

    def store_line(self, group, to, source, size, mask):
        selection = Selection(group, True if mask is None else mask)
        if not len(selection.rows):
            return
        flat, sizes = flat_threads(group, selection), self.sizes(group, size, selection)
        origin = self.shared_line(group, source, selection, sizes)
        target = self.global_line(group.machine, to, selection, self.to_offset, flat)
        copy = LineCopy(self.ins, flat, target, origin, sizes, None, *self.line_reduction())
        copy.watch_issue(group.machine)
        group.bulk.pending.append(copy)

    def line_reduction(self):
        if self.function is None:
            return None, None
        name, type_ = self.function
        return operation(name, type_), np.dtype(f"u{TYPE_BITS[type_] // 8}")

    def sizes(self, group, size, selection):
        out = np.broadcast_to(selection.pick(size), len(selection.rows)).astype(np.int64)
        if (out % CHUNK).any():
            self.shared_to.fault(group, f"the size of a bulk copy, {out[out % CHUNK != 0][0]}, is no multiple of 16")
        return out

    def shared_line(self, group, address, selection, sizes):
        offset, bias = self.in_shared(self.shared_from, group, address, selection)
        self.check_end(group, flat_threads(group, selection), offset, sizes)
        return "shared", offset + bias

    def global_line(self, machine, address, selection, extra: int, flat):
        out = np.broadcast_to(selection.pick(address), len(flat)).astype(np.uint64).view(np.int64) + extra
        if (out % CHUNK).any():
            at = int(np.flatnonzero(out % CHUNK)[0])
            fault(machine, self.ins, flat[at], "misaligned address (needs 16 bytes)", out[at])
        return "global", out


def read_map(machine, ins, flat, address: int) -> bytes:
    """The 128 bytes of a tensor map at a generic address."""
    return bytes(map_bytes(machine, ins, flat, address))


def map_bytes(machine, ins, flat, address: int) -> np.ndarray:
    if address % 64:
        fault(machine, ins, flat, "misaligned tensor map (needs 64 bytes)", address)
    if address >> 56 == PARAM_WINDOW >> 56:
        offset = address & 0xFFFFFFFF
        if offset + tensor_map.SIZE > machine.program.param_size:
            fault(machine, ins, flat, "tensor map outside the kernel parameters", address)
        return machine.params[offset : offset + tensor_map.SIZE]
    view, index = global_view(machine, ins, flat, address, np.array([0, tensor_map.SIZE - 1]), 1)
    return view[int(index[0]) : int(index[1]) + 1]


def map_address(e, address: Address) -> str:
    """Source of the generic address of a tensor map: a register, or the parameter itself."""
    base = address.base
    if isinstance(base, Name):
        base = e.program.lookup(base) or base
    if isinstance(base, Variable):
        return e.scalar("u64", e.program.address_of(base, e.ins) + address.offset)
    value = widen_address(e, e.use(base, "u64" if base.bits == 64 else "u32"), address, "generic")
    return f"({value} + {e.scalar('u64', address.offset)})" if address.offset else value


def shared_operand(e, address: Address) -> tuple[str, int]:
    return address_expression(e, "shared", address)


def is_shared(mod: str) -> bool:
    return mod.startswith("shared")


def active(e) -> str:
    """A condition before an instruction that only matters to threads with work in flight: some thread executes it."""
    return f"if np.any({e.predicate}): " if e.predicate else ""


def emit_bulk(e, ins, mods, reduces: bool):
    """cp.async.bulk… and cp.reduce.async.bulk…, ``mods`` from after ``bulk``; .cta_group may stand anywhere."""
    mods = tuple(m for m in mods if not m.startswith("cta_group"))
    if mods[:1] == ("commit_group",):
        return e.line(f"{active(e)}g.bulk.commit()")
    if mods[:1] == ("wait_group",):
        wait = "read" if mods[1:] == ("read",) else "land"
        return e.line(f"{active(e)}g.bulk.{wait}(g.m, {ins.args[0].value})")
    if mods[:1] == ("prefetch",):
        return None
    if any(m.startswith("im2col") and m not in _PIXEL_MODES or m == "cp_mask" for m in mods):
        e.fail("not supported")
    if mods[0] == "tensor":
        return emit_tensor(e, ins, mods, reduces)
    return emit_line(e, ins, mods, reduces)


_REDUCTIONS = {"add", "min", "max", "inc", "dec", "and", "or", "xor"}


def reduction_of(e, mods) -> str:
    found = next((m for m in mods if m in _REDUCTIONS), None)
    return found if found is not None else e.fail("unknown operation")


def gathers(mods) -> bool:
    """tile::gather4 and tile::scatter4: a column, and four rows anywhere in a matrix."""
    return "tile::gather4" in mods or "tile::scatter4" in mods


# The load modes that take columns of pixels -> the mode of their maps.
_PIXEL_MODES = {name: name for name in ("im2col", *tensor_map.WIDE_MODES[1:])} | {"im2col_no_offs": "im2col"}
MOST_OFFSET = 32  # wOffset


def mode_of(mods) -> str:
    """The mode of a map that a copy can use."""
    return next((_PIXEL_MODES[m] for m in mods if m in _PIXEL_MODES), "tile")


def takes_pixels(mods) -> bool:
    """The im2col modes: columns of pixels."""
    return mode_of(mods) != "tile"


def is_wide(mods) -> bool:
    """im2col::w and im2col::w::128: pixels along W alone."""
    return mode_of(mods) in tensor_map.WIDE_MODES


def offsets_of(e, mods, rank: int) -> list:
    """What im2col adds to the W, H, D of every pixel: the operand after the mbarrier, or nothing; then a wHalo."""
    if rank < 3:
        e.fail("pixels need 3 to 5 dimensions")
    none = Immediate("int", 0)
    if "im2col_no_offs" in mods:
        return [none] * (rank - 2)
    operand = e.ins.args[3] if len(e.ins.args) > 3 else None
    count = 2 if is_wide(mods) else rank - 2
    if not isinstance(operand, Vector) or len(operand.items) != count:
        e.fail(f"expected {count} offsets")
    if not is_wide(mods):
        return operand.items
    halo, offset = operand.items
    return [offset, *[none] * (rank - 3), halo]


def tensor_operand(e, mods, operand: Address) -> tuple[str, str]:
    """(source of the map's address, source of the coordinates) of ``[map, {c0, c1, …}]``."""
    [coordinates] = operand.extra
    items = coordinates.items if isinstance(coordinates, Vector) else [coordinates]
    count = 1 + ROWS if gathers(mods) else int(mods[1][0])
    if len(items) != count or gathers(mods) and mods[1] != "2d":
        e.fail(f"expected {count} coordinates")
    places = [e.use(c, "s32") for c in items]
    if takes_pixels(mods):
        places += [e.use(offset, "u16") for offset in offsets_of(e, mods, count)]
    return map_address(e, Address(operand.base, operand.offset)), "[" + ", ".join(places) + "]"


def emit_tensor(e, ins, mods, reduces):
    mask = e.predicate or "None"
    if is_shared(mods[2]):
        to, tensor, mbar = ins.args[:3]
        base, offset = shared_operand(e, to)
        bar, bar_offset = shared_operand(e, mbar)
        site = e.constant(BulkSite(ins, offset, 0, bar_offset, _BOX_ALIGN), "bulk")
        address, coordinates = tensor_operand(e, mods, tensor)
        ctas = e.use(ins.args[3 + takes_pixels(mods)], "u16") if "multicast::cluster" in mods else "None"
        return e.line(f"{site}.load_tensor(g, {base}, {address}, {coordinates}, {bar}, {mask}, {ctas})")
    tensor, source = ins.args[:2]
    base, offset = shared_operand(e, source)
    function = reduction_of(e, mods) if reduces else None
    site = e.constant(BulkSite(ins, 0, offset, 0, _BOX_ALIGN, function), "bulk")
    address, coordinates = tensor_operand(e, mods, tensor)
    e.line(f"{site}.store_tensor(g, {address}, {coordinates}, {base}, {mask})")


def emit_line(e, ins, mods, reduces):
    mask = e.predicate or "None"
    to, source, size = ins.args[:3]
    function = (reduction_of(e, mods), mods[-1]) if reduces else None
    to_shared, from_shared = is_shared(mods[0]), is_shared(mods[1])
    to_base, to_offset = address_expression(e, "shared" if to_shared else "global", to)
    from_base, from_offset = address_expression(e, "shared" if from_shared else "global", source)
    if to_shared:
        bar, bar_offset = shared_operand(e, ins.args[3])
        site = e.constant(BulkSite(ins, to_offset, from_offset, bar_offset, CHUNK, function), "bulk")
        ctas = e.use(ins.args[4], "u16") if "multicast::cluster" in mods else "None"
        return e.line(
            f"{site}.load_line(g, {to_base}, {from_base}, {e.use(size, 'u32')}, {bar}, {mask}, {from_shared}, {ctas})"
        )
    site = e.constant(BulkSite(ins, to_offset, from_offset, 0, CHUNK, function), "bulk")
    e.line(f"{site}.store_line(g, {to_base}, {from_base}, {e.use(size, 'u32')}, {mask})")


# -- tensor maps in memory ---------------------------------------------------------------------------
class MapSite:
    """tensormap.replace and tensormap.cp_fenceproxy: each thread changes or copies 128 bytes."""

    def __init__(self, ins, field: str | None = None, ordinal: int = 0):
        self.ins, self.field, self.ordinal = ins, field, ordinal

    def bytes_at(self, group, space: str, address, offset: int, selection, i: int, flat):
        machine = group.machine
        values = np.broadcast_to(selection.pick(address), len(flat))
        value = int(values[i]) + offset
        if space == "generic" and value >> 56 == 1:
            space, value = "shared", value & ((1 << 56) - 1)
        if space != "shared":
            return map_bytes(machine, self.ins, flat[i], value)
        return self.shared_bytes(machine, int(flat[i]), value)

    def shared_bytes(self, machine, flat: int, value: int):
        """A map in the thread's own CTA; in a cluster, addresses hold the CTA's rank."""
        cta = flat // machine.threads
        offset = value
        if machine.cluster_size > 1:
            rank, offset = value >> RANK_SHIFT, value & OFFSET_MASK
            if rank != int(machine.clusters.rank(np.array([cta]))[0]):
                fault(machine, self.ins, flat, "tensor map in the shared memory of another CTA", value)
        if offset % 64 or offset + tensor_map.SIZE > machine.shared_limit:
            fault(machine, self.ins, flat, "tensor map misaligned or outside the shared memory", value)
        return machine.shared[cta * machine.shared_size + offset :][: tensor_map.SIZE]

    def replace(self, group, space, address, offset, value, mask=None):
        selection = Selection(group, True if mask is None else mask)
        flat = flat_threads(group, selection)
        values = np.broadcast_to(selection.pick(value), len(flat))
        for i in range(len(flat)):
            place = self.bytes_at(group, space, address, offset, selection, i, flat)
            new = tensor_map.replaced(bytes(place), self.field, self.ordinal, int(values[i]))
            place[:] = np.frombuffer(new, np.uint8)

    def copy(self, group, to, to_offset, source, from_offset):
        """One copy per warp: the threads of a warp name the same places."""
        selection = Selection(group, True)
        flat = flat_threads(group, selection)
        for i in np.unique(flat // 32, return_index=True)[1].tolist():
            place = self.bytes_at(group, "global", to, to_offset, selection, i, flat)
            place[:] = self.bytes_at(group, "shared", source, from_offset, selection, i, flat)


@handles("tensormap")
def handle_tensormap(e, ins):
    if ins.mods[0] == "cp_fenceproxy":
        wait_for_mates(e)
        site = e.constant(MapSite(ins), "tensormap")
        (to, to_offset), (source, from_offset) = (
            address_expression(e, space, a) for space, a in zip(("global", "shared"), ins.args)
        )
        return e.line(f"{site}.copy(g, {to}, {to_offset}, {source}, {from_offset})")
    if ins.mods[:2] != ("replace", "tile"):
        e.fail("not supported")
    field, space = ins.mods[2], resolve_space(e, space_of(ins), ins.args[0])
    base, offset = address_expression(e, space, ins.args[0])
    value, ordinal = ins.args[-1], ins.args[1].value if len(ins.args) == 3 else 0
    kind = "u64" if ins.mods[-1] == "b64" else "u32"
    site = e.constant(MapSite(ins, field, ordinal), "tensormap")
    e.line(f"{site}.replace(g, {space!r}, {base}, {offset}, {e.use(value, kind)}, {e.predicate or 'None'})")
