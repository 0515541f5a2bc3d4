"""Loads and stores: resolves a register of addresses to bytes, with all checks.

A ``Site`` is one memory instruction. The common case (all lanes active, in one region and aligned) takes one reduction for
the checks, and one gather or scatter on a typed view.
"""

from __future__ import annotations

import numpy as np

from ..errors import MISALIGNED, OTHER, OUT_OF_BOUNDS, EmulatorFault
from ..simt.broadcasting import are_all, broadcast_int64, is_any, unique_integers
from ..simt.geometry import OFFSET_MASK, RANK_SHIFT
from ..simt.thread_selection import Selection, bias_of, flat_threads
from .address_space import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE

_INT = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}  # complex128: any 16-byte type
WRITERS = {"st", "red", "atom"}  # operations whose accesses write, or read and write; of multimem the first modifier
_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 5}


class ResolvedAddress:
    """Resolved addresses: byte offsets ``offset`` into a typed view, plus a per-thread ``bias``."""

    __slots__ = ("bias", "offset", "view")

    def __init__(self, view, offset, bias=None):
        self.view, self.offset, self.bias = view, offset, bias

    def index(self, size: int):
        """Index of the elements of ``size`` bytes."""
        shift = _SHIFT[size]
        index = self.offset >> self.offset.dtype.type(shift) if shift else self.offset
        if self.bias is None:
            return index if index.dtype == np.int64 else index.astype(np.int64)
        return index + (self.bias >> shift)


class Site:
    """One memory instruction. ``space``: global, shared, local, param or generic; ``size`` bytes per element."""

    def __init__(self, ins, space: str, size: int, count: int = 1, offset: int = 0, align: int | None = None):
        self.ins, self.space, self.size, self.count, self.offset = ins, space, size, count, offset
        self.bytes = size * count
        self.align = (align or self.bytes) - 1
        self.dtype = _INT[size]

    # -- faults --------------------------------------------------------------------------------------
    def fault(self, group, why: str, position=None, address=None, selection=None, kind: str = OTHER):
        row = column = 0
        if position is not None and selection is not None:
            row, column = selection.rows[position], selection.columns[position]
        elif position is not None and np.ndim(position):
            row, column = position
        cta = group.cta[min(row, group.cta.shape[0] - 1), column if group.cta.shape[1] > 1 else 0]
        tid = group.tid[0, column]
        raise EmulatorFault(
            why, instruction=self.ins.text, line=self.ins.line, thread=group.geometry.thread_name(cta, tid),
            address=None if address is None else int(address), kind=kind, size=self.bytes,
            writes=self.ins.op in WRITERS or self.ins.op == "multimem" and self.ins.mods[0] in WRITERS,
        )  # fmt: skip

    def raise_first_fault(self, group, bad, why: str, addresses, selection=None, kind: str = OTHER):
        """Raise a fault for the first thread in ``bad``."""
        if np.ndim(bad) == 0:
            return self.fault(group, why, None if selection is None else 0, addresses, selection, kind)
        where = np.argwhere(bad)[0]
        address = np.broadcast_to(addresses, bad.shape)[tuple(where)]
        if selection is not None:
            return self.fault(group, why, int(where[0]), address, selection, kind)
        return self.fault(group, why, (int(where[0]), int(where[1])), address, None, kind)

    # -- address resolution ---------------------------------------------------------------------------------------
    def locate(self, group, address, selection=None) -> list[tuple[ResolvedAddress, object]]:
        """Resolve all addresses: [(place, None)], or [(place, mask)] pieces if they are in several regions."""
        space = self.space
        if space == "shared":
            return [(self.in_shared(group, address, selection), None)]
        if space == "local":
            return [(self.in_local(group, address, selection), None)]
        if space == "param":
            return [(self.in_param(group, address, selection), None)]
        region = group.memories.region_of.get(self)
        if region is None:
            region = self.region_of_first(group.memories, address)
        if region is not None:
            place = self.in_region(region, address)
            if place is not None:
                return [(place, None)]
        return self.locate_across_regions(group, address, selection)

    def region_of_first(self, memories, address):
        """The region of the first address: most instructions stay in one region."""
        if np.size(address) == 0:
            return None
        first = int(address if np.ndim(address) == 0 else address.flat[0])
        region = memories.address_space.find((first + self.offset) & 0xFFFFFFFFFFFFFFFF)
        if region is not None:
            memories.region_of[self] = region
        return region

    def in_region(self, region, address):
        """Resolve the addresses if all are inside the region and aligned, else None."""
        offset = address + np.uint64((self.offset - region.origin) & 0xFFFFFFFFFFFFFFFF)
        scalar = np.ndim(offset) == 0
        high = int(offset if scalar else np.bitwise_or.reduce(offset, axis=None))
        if high & self.align:
            return None
        if high + self.bytes > region.end and (scalar or int(offset.max()) + self.bytes > region.end):
            return None
        if region.pad and int(offset if scalar else offset.min()) < region.pad:
            return None
        return ResolvedAddress(region.view, offset.astype(np.int64) if scalar else offset.view(np.int64))

    def locate_across_regions(self, group, address, selection):
        addresses = np.asarray(address + np.uint64(self.offset & 0xFFFFFFFFFFFFFFFF))
        if addresses.size == 0:
            return []
        bad = (addresses & np.uint64(self.align)) != 0
        if is_any(bad):
            self.raise_first_fault(
                group,
                bad if bad.ndim else bad[()],
                f"misaligned address (needs {self.align + 1} bytes)",
                addresses,
                selection,
                MISALIGNED,
            )
        window = addresses >> np.uint64(56)
        if is_any(window):
            return self.locate_in_windows(group, addresses, window, selection)
        index = group.memories.address_space.locate(addresses)
        known = index >= 0
        ends = np.array([r.base + r.size for r in group.memories.address_space.regions] or [0], np.uint64)
        known &= addresses + np.uint64(self.bytes) <= ends[np.maximum(index, 0)]
        if not are_all(known):
            bad = ~known
            outside = bad if bad.ndim else bad[()]
            self.raise_first_fault(group, outside, "address outside mapped memory", addresses, selection, OUT_OF_BOUNDS)
        pieces = []
        which = [int(index.min())] if index.min() == index.max() else unique_integers(index)
        for number in which:
            region = group.memories.address_space.regions[number]
            offset = (addresses - np.uint64(region.origin)).view(np.int64)
            if len(which) == 1:
                group.memories.region_of[self] = region
                return [(ResolvedAddress(region.view, offset if offset.ndim else offset[()]), None)]
            mask = index == number
            pieces.append((ResolvedAddress(region.view, offset[mask]), mask))
        return pieces

    def locate_in_windows(self, group, addresses, window, selection):
        """Resolve generic addresses of shared, local and parameter memory, possibly mixed with global addresses."""
        pieces = []
        if self.space != "generic":
            self.raise_first_fault(group, window != 0, "not a global address", addresses, selection)
        for tag in unique_integers(window):
            mask = window == tag
            whole = are_all(mask)
            low = addresses & np.uint64((1 << 56) - 1)
            part = {1: "shared", 2: "local", 4: "param", 0: "global"}.get(int(tag))
            if part is None:
                self.raise_first_fault(
                    group, mask, "address outside mapped memory", addresses, selection, OUT_OF_BOUNDS
                )
            site = self.for_space(part)
            if whole:
                target, sub = (low if part != "global" else addresses)[()], selection
            else:
                full = np.broadcast_to(mask, group.shape) if selection is None else None
                if selection is None:
                    sub = Selection(group, full)
                    target = sub.pick(low if part != "global" else addresses)
                else:
                    sub = _narrow(selection, mask)
                    target = np.broadcast_to(low if part != "global" else addresses, mask.shape)[mask]
            for place, inner in site.locate(group, target, sub):
                if inner is not None:
                    self.fault(group, "an access that mixes windows and several regions is not supported")
                pieces.append((place, None if whole else mask))
        return pieces

    def for_space(self, space: str) -> Site:
        key = f"_{space}"
        found = self.__dict__.get(key)
        if found is None:
            found = Site(self.ins, space, self.size, self.count, 0, self.align + 1)
            self.__dict__[key] = found
        return found

    def check(self, group, offset, limit: int, selection, what: str):
        high = int(offset if np.ndim(offset) == 0 else np.bitwise_or.reduce(offset, axis=None))
        if high & self.align:
            self.raise_first_fault(
                group,
                (offset & offset.dtype.type(self.align)) != 0,
                f"misaligned address (needs {self.align + 1} bytes)",
                offset,
                selection,
            )
        if high + self.bytes > limit:
            bad = (
                offset > offset.dtype.type(max(limit - self.bytes, 0))
                if limit >= self.bytes
                else np.ones(np.shape(offset), bool)[()]
            )
            if np.any(bad):
                self.raise_first_fault(
                    group, bad, f"address outside the {what} memory ({limit} bytes)", offset, selection
                )

    def add_offset(self, address):
        """The address plus the instruction's constant offset, which may be negative: both wrap at the address's width."""
        if not self.offset:
            return address
        return address + address.dtype.type(self.offset & ((1 << 8 * address.dtype.itemsize) - 1))

    def in_shared(self, group, address, selection) -> ResolvedAddress:
        offset = self.add_offset(address)
        if np.ndim(offset) and offset.size == 0:
            return ResolvedAddress(group.memories.shared_view, offset.astype(np.int64), np.zeros(0, np.int64))
        if offset.dtype == np.uint64 and np.any(offset >> np.uint64(56) == np.uint64(1)):
            # A generic address with .shared: the low bits of the window are the offset.
            offset = offset & np.uint64((1 << 56) - 1)
        if group.geometry.cluster_size > 1:
            return self.in_cluster(group, offset, selection)
        self.check(group, offset, group.memories.shared_limit, selection, "shared")
        if group.geometry.ctas == 1:
            return ResolvedAddress(group.memories.shared_view, offset)
        bias = group.cta * group.memories.shared_size if selection is None else bias_of(group, selection)
        return ResolvedAddress(group.memories.shared_view, offset.astype(np.int64), bias)

    def shared_offset_and_bias(self, group, address, selection) -> tuple[np.ndarray, np.ndarray]:
        """(offset in the CTA's shared memory, offset of that memory in the batch's), read-only int64, of each selected thread.

        The result is cached for equal groups with the same address.
        """
        key = None
        if selection.of and isinstance(address, np.generic) and group.geometry.cluster_size == 1:
            key = self, selection.of, int(address)
            if (found := group.memo.get(key)) is not None:
                return found
        place, count = self.in_shared(group, selection.pick(address), selection), len(selection.rows)
        found = broadcast_int64(place.offset, count), broadcast_int64(0 if place.bias is None else place.bias, count)
        if key is not None:
            group.memo[key] = found
        return found

    def in_cluster(self, group, address, selection) -> ResolvedAddress:
        """Resolve addresses in the shared memory of the CTA whose rank is in the address."""
        geometry = group.geometry
        kind = address.dtype.type
        offset, rank = address & kind(OFFSET_MASK), (address >> kind(RANK_SHIFT)).astype(np.int64)
        self.check(group, offset, group.memories.shared_limit, selection, "shared")
        cta = group.cta if selection is None else selection.pick(group.cta)
        if np.any(rank >= geometry.cluster_size):
            self.raise_first_fault(
                group, rank >= geometry.cluster_size, "address outside the cluster's shared memory", address, selection
            )
        target = geometry.ctas_with_rank(cta, rank)
        other = target != cta
        if is_any(other):
            self.check_remote(group, other, target, address, selection)
        return ResolvedAddress(group.memories.shared_view, offset.astype(np.int64), target * group.memories.shared_size)

    def check_remote(self, group, other, target, address, selection):
        """Check accesses of other CTAs' shared memory: they need .shared::cluster or generic addresses, and a running CTA."""
        if any(m.startswith("shared") and m != "shared::cluster" for m in self.ins.mods) and not any(
            m == "shared::cluster" for m in self.ins.mods
        ):
            self.raise_first_fault(
                group, other, "shared memory of another CTA in a .shared::cta access", address, selection
            )
        if group.observers.racecheck is not None:
            flat = (
                group.cta * group.geometry.threads + group.tid if selection is None else flat_threads(group, selection)
            )
            some, flat, target_of = np.broadcast_arrays(other, flat, target)
            group.observers.racecheck.cluster.peer_accessed(self.ins, flat[some], target_of[some])
        gone = ~group.scheduler.are_ctas_alive(target)
        if is_any(gone):
            self.raise_first_fault(group, gone, "shared memory of a CTA that has exited", address, selection)

    def in_local(self, group, address, selection) -> ResolvedAddress:
        offset = self.add_offset(address)
        if np.ndim(offset) and offset.size == 0:
            return ResolvedAddress(group.memories.local_view, offset.astype(np.int64), np.zeros(0, np.int64))
        self.check(group, offset, group.memories.local_size, selection, "local")
        thread = group.cta * group.geometry.threads + group.tid
        if selection is not None:
            thread = selection.pick(thread)
        return ResolvedAddress(group.memories.local_view, offset.astype(np.int64), thread * group.memories.local_size)

    def in_param(self, group, address, selection) -> ResolvedAddress:
        """Resolve generic addresses of kernel parameters; direct loads use ``load_param``."""
        offset = np.asarray(address) & np.uint64(WINDOW_SIZE - 1)
        self.check(group, offset, group.memories.program.param_size, selection, "parameter")
        return ResolvedAddress(group.memories.params.view, offset)

    # -- reading -------------------------------------------------------------------------------------
    def load(self, group, address, mask=None):
        """A tuple of ``count`` values (unsigned, ``size`` bytes each); zeros for inactive threads."""
        if mask is not None and not (are_all(mask) if np.ndim(mask) else mask):
            return self.load_masked(group, address, mask)
        if self.space == "param":
            return self.load_param(group, address)
        pieces = self.locate(group, address)
        place = pieces[0][0]
        if group.observers.accesses is not None:
            group.observers.accesses(self, group, pieces, False, None)
        if pieces[0][1] is None:
            return self.gather(place)
        shape = np.broadcast_shapes(*(m.shape for _, m in pieces))
        return self.merge_pieces(pieces, shape)

    def merge_pieces(self, pieces, shape):
        out = tuple(np.zeros(shape, self.dtype) for _ in range(self.count))
        for place, mask in pieces:
            for o, v in zip(out, self.gather(place)):
                o[mask] = v
        return out

    def load_masked(self, group, address, mask):
        out = tuple(np.zeros(group.shape, self.dtype) for _ in range(self.count))
        selection = Selection(group, mask)
        if not len(selection.rows):
            return out
        target = selection.pick(address)
        if self.space == "param":
            values = self.load_param(group, target)
        else:
            pieces = self.locate(group, target, selection)
            if group.observers.accesses is not None:
                group.observers.accesses(self, group, pieces, False, selection)
            values = self.gather(pieces[0][0]) if pieces[0][1] is None else self.merge_pieces(pieces, np.shape(target))
        for o, v in zip(out, values):
            o[selection.rows, selection.columns] = v
        return out

    def gather(self, place: ResolvedAddress):
        if self.count == 1:
            return (place.view(self.dtype)[place.index(self.size)],)
        if self.bytes > 16:
            return self.gather_wide(place)
        chunk = place.view(_INT[self.bytes])[place.index(self.bytes)]
        parts: np.ndarray = np.asarray(chunk)[..., None].view(self.dtype)
        return tuple(np.ascontiguousarray(np.moveaxis(parts, -1, 0))) if np.ndim(chunk) else tuple(parts)

    def gather_wide(self, place: ResolvedAddress):
        view, index = place.view(np.complex128), place.index(16)
        out = []
        for i in range(self.bytes // 16):
            parts: np.ndarray = np.asarray(view[index + i])[..., None].view(self.dtype)
            out += list(np.ascontiguousarray(np.moveaxis(parts, -1, 0)))
        return tuple(out)

    def load_param(self, group, address):
        """Load kernel parameters, which are uniform."""
        offset = (np.asarray(address) & np.asarray(address).dtype.type(0xFFFFFFFF)) + np.asarray(address).dtype.type(
            self.offset
        )
        if offset.max(initial=0) + self.bytes > group.memories.program.param_size:
            self.fault(group, "address outside the kernel parameters", None, int(offset.max()))
        view = group.memories.params.view(self.dtype)
        index = (offset >> offset.dtype.type(_SHIFT[self.size])).astype(np.int64)
        return tuple(view[index + i][()] for i in range(self.count))

    # -- writing -------------------------------------------------------------------------------------
    def store(self, group, address, values, mask=None):
        """Write ``count`` values; if several threads write to one address, the last one wins."""
        selection = None
        if mask is not None and not (are_all(mask) if np.ndim(mask) else mask):
            selection = Selection(group, mask)
            if not len(selection.rows):
                return
            address = selection.pick(address)
            values = [selection.pick(v) for v in values]
        pieces = self.locate(group, address, selection)
        if group.observers.accesses is not None:
            group.observers.accesses(self, group, pieces, True, selection, values)
        for place, inside in pieces:
            part = values
            if inside is not None:
                part = [
                    v
                    if np.ndim(v) == 0
                    else np.broadcast_to(v, inside.shape)[inside]
                    if v.shape != inside.shape
                    else v[inside]
                    for v in values
                ]
            self.scatter(place, part)

    def scatter(self, place: ResolvedAddress, values):
        if self.count == 1:
            self.assign(place.view(self.dtype), place.index(self.size), values[0])
            return
        width = min(self.bytes, 16)
        per = width // self.size
        index = place.index(width)
        view = place.view(_INT[width])
        for i in range(self.bytes // width):
            group = values[i * per : (i + 1) * per]
            shape = np.broadcast_shapes(*(np.shape(v) for v in group))
            joined = np.empty((*shape, per), self.dtype)
            for k, value in enumerate(group):
                joined[..., k] = value
            self.assign(view, index + i if i else index, joined.view(_INT[width])[..., 0])

    @staticmethod
    def assign(view, index, value):
        if np.ndim(value) and np.shape(value) != np.shape(index):
            shape = np.broadcast_shapes(np.shape(index), value.shape)
            index, value = np.broadcast_to(index, shape), np.broadcast_to(value, shape)
        view[index] = value


def _narrow(selection: Selection, mask) -> Selection:
    """The threads of a selection in a mask over it."""
    out = Selection.__new__(Selection)
    out.rows, out.columns, out.shape = selection.rows[mask], selection.columns[mask], selection.shape
    out.mask = None
    return out


WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}
