"""Issues bulk copies: evaluates the operands of an instruction and starts its copies."""

from __future__ import annotations

import numpy as np

from .. import tensor_map
from ..errors import fault_at
from ..memory.load_store import Site
from ..ptx.ast import TYPE_BITS
from ..simt.broadcasting import are_all, is_any, unique_integers
from ..simt.geometry import Geometry
from ..simt.thread_selection import flat_threads, selected
from .atomic import operation
from .bulk_copies_1d import LineCopy
from .mbarrier import MbarrierSite
from .tensormap_replace import read_map
from .tma_box_copies import BoxCopy
from .tma_box_layout import CHUNK
from .tma_mode_modifiers import MAX_IM2COL_OFFSET, is_gather4_or_scatter4, is_im2col_w, mode_of


class BulkSite:
    """A bulk copy instruction, with its addresses of shared memory, mbarriers and tensor maps."""

    def __init__(self, ins, to_offset: int, from_offset: int, mbar_offset: int = 0, align: int = CHUNK, function=None):
        self.ins, self.function = ins, function
        self.to_offset, self.from_offset = to_offset, from_offset
        self.shared_to = Site(ins, "shared", 1, 1, to_offset, align)
        self.shared_from = Site(ins, "shared", 1, 1, from_offset, align)
        self.barrier = MbarrierSite(ins, mbar_offset)
        self.mbarrier = self.barrier.site
        self.maps: dict = {}

    # -- operands ------------------------------------------------------------------------------------
    def in_shared(self, site, group, address, selection):
        """(offset in the CTA's shared memory, offset of that memory in the batch's), in bytes, int64."""
        return site.shared_offset_and_bias(group, address, selection)

    def barriers(self, group, address, selection):
        return self.barrier.where(group, address, selection)[0]

    def targets(self, group, selection, flat, bias, positions, masks):
        """(index of the copy, bias, mbarrier) for each destination CTA of each copy.

        A multicast writes to the same offset in every CTA of the mask and completes on the mbarrier at the same offset. For
        pairs (.cta_group::2), that mbarrier is in the CTA of the pair with the parity of the given mbarrier's CTA (section
        9.7.9.25.5.2).
        """
        geometry = group.geometry
        words = group.memories.shared_size // 8
        pair = "cta_group::2" in self.ins.mods
        if masks is None:
            if (
                not pair
                and geometry.cluster_size > 1
                and is_any(bias // group.memories.shared_size != positions // words)
            ):
                self.mbarrier.fault(group, "the mbarrier is not in the destination CTA of the copy")
            return np.arange(len(flat)), bias, positions
        masks = np.broadcast_to(selection.pick(masks), len(flat)).astype(np.int64)
        if is_any(masks >> geometry.cluster_size):
            self.mbarrier.fault(
                group,
                f"the multicast mask {masks.max():#x} selects CTAs outside the cluster of {geometry.cluster_size}",
            )
        copy, rank = np.nonzero(masks[:, None] >> np.arange(geometry.cluster_size) & 1)
        own = flat[copy] // group.geometry.threads
        target = geometry.ctas_with_rank(own, rank)
        if not are_all(group.scheduler.are_ctas_alive(target)):
            self.mbarrier.fault(group, "a multicast to a CTA that has exited")
        if group.observers.racecheck is not None:
            group.observers.racecheck.cluster.peer_accessed(self.ins, flat[copy], target)
        signalled = rank & ~1 | geometry.rank(positions[copy] // words) & 1 if pair else rank
        where = positions[copy] % words + geometry.ctas_with_rank(own, signalled) * words
        return copy, target * group.memories.shared_size, where

    def check_end(self, group, flat, offset, bytes_):
        bad = offset + bytes_ > group.memories.shared_limit
        if is_any(bad):
            at = int(np.flatnonzero(np.broadcast_to(bad, len(flat)))[0])
            limit = group.memories.shared_limit
            fault_at(
                group.geometry, self.ins, flat[at], f"the copy exceeds the shared memory ({limit} bytes)", offset[at]
            )

    def tensors(self, group, address, selection, flat):
        """(tensor map, indices of its copies) for each distinct map."""
        addresses = np.asarray(selection.pick(address))
        is_one = addresses.size == 1 or are_all(addresses == addresses[0])
        for value in [int(addresses.flat[0])] if is_one else unique_integers(addresses).tolist():
            some = slice(None) if is_one else np.flatnonzero(addresses == value)
            first = flat[some][0]
            try:
                tensor = tensor_map.decode(read_map(group, self.ins, first, value))
                yield tensor.gathering() if is_gather4_or_scatter4(self.ins.mods) else tensor, some
            except ValueError as error:
                fault_at(group.geometry, self.ins, first, str(error), value)

    @staticmethod
    def coordinates(values, selection):
        n = len(selection.rows)
        out = np.empty((n, len(values)), np.int64)
        for column, value in enumerate(values):
            out[:, column] = selection.pick(value)
        return out

    # -- tensors -------------------------------------------------------------------------------------
    def load_tensor(self, group, to, map_address, coordinates, mbar, mask=None, ctas=None):
        selection = selected(group, mask)
        if not len(selection.rows):
            return
        key = None
        if ctas is None and selection.of and all(isinstance(one, np.generic) for one in (to, map_address, mbar)):
            key = self, selection.of, int(to), int(map_address), int(mbar)
            if self.load_with_known_operands(group, selection, group.memo.get(key), map_address, coordinates):
                return
        flat = flat_threads(group, selection)
        offset, bias = self.in_shared(self.shared_to, group, to, selection)
        positions = self.barriers(group, mbar, selection)
        at = self.coordinates(coordinates, selection)
        if is_im2col_w(self.ins.mods):
            at = self.without_halo(group.geometry, flat, at)
        copies, bias, positions = self.targets(group, selection, flat, bias, positions, ctas)
        for tensor, chosen in self.tensors(group, map_address, selection, flat):
            self.check_rank(group.geometry, flat[chosen][0], tensor, at[chosen])
            self.check_end(group, flat[chosen], offset[chosen], (tensor.rows - 1) * tensor.pitch + tensor.row_bytes)
            parts = chosen if ctas is None else np.flatnonzero(np.isin(copies, np.arange(len(flat))[chosen]))
            some = chosen if ctas is None else copies[parts]
            copy = BoxCopy(
                self.ins, tensor, at[some], offset[some] // CHUNK, bias[parts] // CHUNK, flat[some], positions[parts]
            )
            copy.record_issue(group)
            copy.mark_in_flight(group)
            group.sync.waits.add_in_flight(copy.positions, copy)
            if key is not None and copy.is_repeat_of(group):
                group.memo[key] = copy, frozenset(positions.tolist())

    def load_with_known_operands(
        self, group, selection, known: tuple[BoxCopy, frozenset] | None, map_address, coordinates
    ) -> bool:
        """Load boxes by reusing an earlier copy of the same threads, addresses and map; returns whether that was possible."""
        if known is None:
            return False
        earlier, places = known
        try:
            tensor = tensor_map.decode(read_map(group, self.ins, earlier.flat[0], int(map_address)))
        except ValueError:
            return False
        if tensor.layout != earlier.tensor.layout or not earlier.is_repeat_of(group):
            return False
        copy = earlier.with_coordinates(tensor, self.coordinates(coordinates, selection))
        copy.mark_in_flight(group)
        group.sync.waits.add_in_flight(places, copy)
        return True

    def store_tensor(self, group, map_address, coordinates, source, mask=None):
        selection = selected(group, mask)
        if not len(selection.rows):
            return
        flat = flat_threads(group, selection)
        offset, bias = self.in_shared(self.shared_from, group, source, selection)
        at = self.coordinates(coordinates, selection)
        for tensor, some in self.tensors(group, map_address, selection, flat):
            self.check_rank(group.geometry, flat[some][0], tensor, at[some])
            if tensor.kind.packed < CHUNK and tensor.kind.bits == 4:
                fault_at(group.geometry, self.ins, flat[some][0], f"{tensor.element} elements can only be loaded")
            self.check_end(group, flat[some], offset[some], (tensor.rows - 1) * tensor.pitch + tensor.row_bytes)
            function = None
            if self.function is not None:
                function = self.reduction(group.geometry, flat[some][0], tensor)
            copy = BoxCopy(
                self.ins, tensor, at[some], offset[some] // CHUNK, bias[some] // CHUNK, flat[some], None, function
            )
            copy.record_issue(group)
            group.bulk_copy_groups.pending.append(copy)

    def without_halo(self, geometry: Geometry, flat, at):
        """The coordinates of a wide mode without the last one, wHalo, which must be 0; the offset of W is wOffset."""
        halo, offset = at[:, -1], at[:, (at.shape[1] + 1) // 2]
        if is_any(halo):
            first = int(np.flatnonzero(halo)[0])
            why = f"a wHalo of {halo[first]} is not supported: the ISA specifies the halo pixels in figures 18 and 19 only"
            fault_at(geometry, self.ins, flat[first], why)
        if is_any(offset >= MAX_IM2COL_OFFSET):
            fault_at(
                geometry,
                self.ins,
                flat[0],
                f"wOffset {offset.max()} is out of range: expected 0 to {MAX_IM2COL_OFFSET - 1}",
            )
        return at[:, :-1]

    def check_rank(self, geometry: Geometry, flat, tensor, at):
        mode = mode_of(self.ins.mods)
        if mode != (tensor.columns.mode if tensor.columns is not None else "tile"):
            fault_at(geometry, self.ins, flat, f"the mode of the tensor map differs from that of this copy ({mode})")
        if tensor.kind.packed < CHUNK and is_any(at[:, 0] % tensor_map.PADDED):
            why = f"the first coordinate of {tensor.element} elements must be a multiple of {tensor_map.PADDED}"
            fault_at(geometry, self.ins, flat, why)
        if tensor.columns is not None and 2 * tensor.rank - 2 == at.shape[1]:
            return
        if not tensor.gathers and tensor.rank != at.shape[1]:
            fault_at(
                geometry,
                self.ins,
                flat,
                f"the tensor map has rank {tensor.rank}, but the copy has {at.shape[1]} coordinates",
            )

    def reduction(self, geometry: Geometry, flat, tensor):
        type_ = tensor.kind.reduction
        if type_ is None:
            fault_at(geometry, self.ins, flat, f"reductions of {tensor.element} elements do not exist")
        return operation(self.function, "b" + type_[1:] if self.function in ("and", "or", "xor") else type_)

    # -- contiguous copies ---------------------------------------------------------------------------------------
    def load_line(self, group, to, source, size, mbar, mask, from_shared: bool, ctas=None):
        selection = selected(group, mask)
        if not len(selection.rows):
            return
        flat, sizes = flat_threads(group, selection), self.sizes(group, size, selection)
        offset, bias = self.in_shared(self.shared_to, group, to, selection)
        self.check_end(group, flat, offset, sizes)
        origin = self.shared_line(group, source, selection, sizes) if from_shared else self.global_line(
            group.geometry, source, selection, self.from_offset, flat
        )  # fmt: skip
        positions = self.barriers(group, mbar, selection)
        some, bias, positions = self.targets(group, selection, flat, bias, positions, ctas)
        target, origin = ("shared", offset[some] + bias), (origin[0], origin[1][some])
        copy = LineCopy(self.ins, flat[some], target, origin, sizes[some], positions, *self.line_reduction())
        copy.record_issue(group)
        copy.mark_in_flight(group)
        group.sync.waits.add_in_flight(positions, copy)

    def store_line(self, group, to, source, size, mask):
        selection = selected(group, mask)
        if not len(selection.rows):
            return
        flat, sizes = flat_threads(group, selection), self.sizes(group, size, selection)
        origin = self.shared_line(group, source, selection, sizes)
        target = self.global_line(group.geometry, to, selection, self.to_offset, flat)
        copy = LineCopy(self.ins, flat, target, origin, sizes, None, *self.line_reduction())
        copy.record_issue(group)
        group.bulk_copy_groups.pending.append(copy)

    def line_reduction(self):
        if self.function is None:
            return None, None
        name, type_ = self.function
        return operation(name, type_), np.dtype(f"u{TYPE_BITS[type_] // 8}")

    def sizes(self, group, size, selection):
        out = np.broadcast_to(selection.pick(size), len(selection.rows)).astype(np.int64)
        if is_any(out % CHUNK):
            self.shared_to.fault(group, f"the size of a bulk copy, {out[out % CHUNK != 0][0]}, is not a multiple of 16")
        return out

    def shared_line(self, group, address, selection, sizes):
        offset, bias = self.in_shared(self.shared_from, group, address, selection)
        self.check_end(group, flat_threads(group, selection), offset, sizes)
        return "shared", offset + bias

    def global_line(self, geometry: Geometry, address, selection, extra: int, flat):
        out = np.broadcast_to(selection.pick(address), len(flat)).astype(np.uint64).view(np.int64) + extra
        if is_any(out % CHUNK):
            at = int(np.flatnonzero(out % CHUNK)[0])
            fault_at(geometry, self.ins, flat[at], "misaligned address (needs 16 bytes)", out[at])
        return "global", out
