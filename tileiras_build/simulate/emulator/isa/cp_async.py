"""cp.async: asynchronous copies from global to shared memory (PTX ISA 9.0, section 9.7.9.25)."""

from __future__ import annotations

import numpy as np

from ..memory.load_store import Site
from ..native import cp_async
from ..native.native_code import is_ready
from ..ptx.ast import Immediate, Register
from ..simt.broadcasting import unique_integers
from ..simt.thread_selection import Selection
from .cp_async_bulk import emit_bulk
from .handler_registry import handles
from .ld_st import address_expression
from .mbarrier import MbarrierSite


class PendingCpAsync:
    """Copies in flight: ``data`` for elements ``index`` of a view of shared memory as ``dtype``, by thread."""

    __slots__ = ("data", "dtype", "flat", "index")

    def __init__(self, flat, dtype, index, data):
        self.flat, self.dtype, self.index, self.data = flat, dtype, index, data

    def only(self, member):
        keep = member[self.flat]
        if not keep.any():
            return None
        return PendingCpAsync(self.flat[keep], self.dtype, self.index[keep], self.data[keep])

    def perform(self, batch):
        if is_ready():
            marks = batch.observers.async_copy_marks.marks[self.data.itemsize]
            index, data = np.ascontiguousarray(self.index), np.ascontiguousarray(self.data)
            return cp_async.write_elements(index, data, batch.memories.shared, marks)
        batch.memories.shared_view(self.dtype)[self.index] = self.data
        batch.observers.async_copy_marks.clear(self.index, self.data.itemsize)


class CpAsyncSite:
    """One cp.async instruction of 4, 8 or 16 bytes."""

    def __init__(self, ins, size: int, to_offset: int, from_offset: int):
        self.size = size
        self.source = Site(ins, "global", size, 1, from_offset)
        self.target = Site(ins, "shared", size, 1, to_offset)
        self.bytes = Site(ins, "global", 1, 1, 0, align=1)
        self.from_offset = from_offset

    def issue(self, group, to, source, source_size=None, mask=None):
        """Read the source now, write at the wait. Bytes beyond ``source_size`` are not read and are zero."""
        if mask is None and self.issue_natively(group, to, source, source_size):
            return
        selection = Selection(group, True if mask is None else mask)
        if not len(selection.rows):
            return
        pick = selection.pick
        data = self.fetch(group, pick(source), None if source_size is None else pick(source_size), selection)
        place = self.target.in_shared(group, pick(to), selection)
        if group.observers.accesses is not None:
            group.observers.accesses(self.target, group, [(place, None)], True, selection)
        count = len(selection.rows)
        cta = group.cta[selection.rows, 0] if group.is_rectangular else group.cta[0, selection.columns]
        flat = cta * group.geometry.threads + group.tid[0, selection.columns]
        index = np.broadcast_to(place.index(self.size), count)
        group.observers.require_async_copy_marks().mark_written(self.target.ins, index, self.size)
        group.cp_async_groups.pending.append(
            PendingCpAsync(flat, self.target.dtype, index, np.broadcast_to(data, count))
        )

    def issue_natively(self, group, to, source, source_size) -> bool:
        """Try to issue by native code; returns False if NumPy must do it, or report the fault."""
        if not group.is_rectangular or group.observers.has_any or group.geometry.cluster_size > 1 or not is_ready():
            return False
        if (
            to.dtype != np.uint32
            or np.ndim(source) != 2
            or (source_size is not None and source_size.dtype != np.uint32)
        ):
            return False
        region = group.memories.region_of.get(self.source) or self.source.region_of_first(group.memories, source)
        if region is None:
            return False
        copy_marks, offsets = group.observers.require_async_copy_marks(), (self.target.offset, self.from_offset)
        marks, mark = copy_marks.marks[self.size], copy_marks.mark_value(self.target.ins, self.size)
        done = cp_async.issue(
            group.shape, to, source, source_size, offsets, group.cta, group.memories.shared_size, group.memories.shared_limit, region,
            self.target.dtype, marks, mark,
        )  # fmt: skip
        if done is not None:
            group.cp_async_groups.pending.append(PendingCpAsync(group.flat, self.target.dtype, *done))
        return done is not None

    def fetch(self, group, source, source_size, selection):
        if source_size is None:
            return self.read(group, source, selection)
        count = len(selection.rows)
        sizes = np.broadcast_to(source_size, count)
        if (sizes == self.size).all():
            return self.read(group, source, selection)
        source = np.broadcast_to(source, count)
        out = np.zeros((count, self.size), np.uint8)
        full = np.flatnonzero(sizes >= self.size)
        if len(full):
            part = self.read(group, source[full], _subset(selection, full))
            out[full] = np.ascontiguousarray(np.broadcast_to(part, len(full)))[:, None].view(np.uint8)
        for size in unique_integers(sizes[(sizes > 0) & (sizes < self.size)]):
            some = np.flatnonzero(sizes == size)
            for k in range(int(size)):
                address = source[some] + np.uint64((self.from_offset + k) & 0xFFFFFFFFFFFFFFFF)
                [(place, _)] = self.bytes.locate(group, address, _subset(selection, some))[:1]
                out[some, k] = place.view(np.uint8)[place.index(1)]
        return out.view(self.target.dtype)[:, 0]

    def read(self, group, source, selection):
        pieces = self.source.locate(group, source, selection)
        accesses = group.observers.accesses
        if accesses is not None:
            for place, inside in pieces:
                accesses.observe_global(self.source, group, place, inside, selection, False)
        if pieces[0][1] is None:
            place = pieces[0][0]
            return place.view(self.source.dtype)[place.index(self.size)]
        return self.source.merge_pieces(pieces, np.shape(source))[0]


def _subset(selection, index):
    out = Selection.__new__(Selection)
    out.rows, out.columns, out.shape, out.mask = selection.rows[index], selection.columns[index], selection.shape, None
    return out


_SIZES = {"ca": (4, 8, 16), "cg": (16,)}


@handles("cp")
def handle_copy(e, ins):
    if "bulk" in ins.mods:
        return emit_bulk(e, ins, ins.mods[ins.mods.index("bulk") + 1 :], ins.mods[0] == "reduce")
    if ins.mods[:1] != ("async",):
        e.fail("not supported yet")
    if ins.mods[1] == "commit_group":
        return e.line("g.cp_async_groups.commit()")
    if ins.mods[1] == "wait_group":
        return e.line(f"g.cp_async_groups.perform(g, {ins.args[0].value})")
    if ins.mods[1] == "wait_all":
        return e.line("g.cp_async_groups.perform_all(g)")
    if ins.mods[1] == "mbarrier":
        return copy_arrive(e, ins)
    to, source, size = ins.args[:3]
    if size.value not in _SIZES[ins.mods[1]]:
        e.fail(f"invalid size {size.value}: expected {' or '.join(map(str, _SIZES[ins.mods[1]]))} bytes")
    to_base, to_offset = address_expression(e, "shared", to)
    from_base, from_offset = address_expression(e, "global", source)
    site = e.constant(CpAsyncSite(ins, size.value, to_offset, from_offset), "copy")
    sizes = source_size(e, ins)
    e.line(f"{site}.issue(g, {to_base}, {from_base}, {sizes}, {e.predicate or 'None'})")


def source_size(e, ins) -> str:
    """The source size: the src-size operand, or 0 by ignore-src. A 64-bit register is a cache policy."""
    for arg in ins.args[3:]:
        if isinstance(arg, Register) and arg.bits == 1:
            return f"np.where({e.use(arg, 'p')}, u32(0), u32({ins.args[2].value}))"
        if isinstance(arg, Register) and arg.bits == 64 and any("cache_hint" in m for m in ins.mods):
            continue
        if isinstance(arg, (Register, Immediate)):
            return e.use(arg, "u32")
    return "None"


def copy_arrive(e, ins):
    """cp.async.mbarrier.arrive: without .noinc, the pending count is incremented first, which cancels the arrival."""
    base, offset = address_expression(e, "shared", ins.args[0])
    site = e.constant(MbarrierSite(ins, offset), "mbarrier")
    e.line(f"arrive_after_copies({site}, g, {base}, {int('noinc' in ins.mods)}, {e.predicate or 'None'})")
