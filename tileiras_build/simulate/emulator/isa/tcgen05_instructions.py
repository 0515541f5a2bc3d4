"""Tensor memory: allocation, tcgen05.ld and .st, cp, shift, commit, wait and fence (PTX ISA 9.0, 9.7.16.7 to .12).

``tensor_memory.py`` has the memory, ``tcgen05_async_queue.py`` the asynchronous operations, ``tcgen05_mma.py`` the MMAs.
tcgen05.shift is unsupported: the text of the ISA does not specify the direction in which rows move.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..codegen.emit_block import vector_items
from ..errors import fault_at
from ..memory import tensor_memory
from ..memory.tensor_memory import Span, rows_of, tensor_memory_of
from ..native import tcgen05_ld_st
from ..native.native_code import is_ready
from ..numerics import float_arithmetic
from ..ptx.ast import SINK, Immediate
from ..simt.broadcasting import are_all, unique_integers
from ..simt.mbarrier_waits import InFlightArrival
from ..simt.thread_selection import selected
from .handler_registry import WARP_WIDE, handles, helper
from .ld_st import address_expression
from .mbarrier import MbarrierSite, arrive_and_expect_tx
from .tcgen05_addresses_and_issuers import (
    LD_ST_SHAPES,
    mask_of,
    multicast_targets,
    per_warp,
    require_one_group,
    tensor_address,
    warps_of,
)
from .tcgen05_alloc import handle_alloc, handle_dealloc, handle_relinquish
from .tcgen05_async_queue import Operation, async_queue_of
from .tcgen05_cp import handle_cp
from .warp_collectives import emit_warp_sync

WARP_WIDE.add("tcgen05")


# -- ld and st ---------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def fragment_cells(shape: str, count: int, packed: bool, split: int) -> tuple[np.ndarray, np.ndarray]:
    """(lanes, columns), each (registers, parts, 32): the cells of every register (section 9.7.16.2.3.1).

    Packed registers have two parts, the low halves of two neighbouring columns.
    """
    lane = np.arange(32)[None]
    r = np.arange(LD_ST_SHAPES[shape] * count)[:, None]
    lanes, columns = {
        "32x32b": lambda: (lane, r),
        "16x64b": lambda: (lane // 4 + 8 * (lane % 2), lane // 2 % 2 + 2 * r),
        "16x128b": lambda: (lane // 4 + 8 * (r % 2), lane % 4 + 4 * (r // 2)),
        "16x256b": lambda: (lane // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (lane % 4) + 8 * (r // 4)),
        "16x32bx2": lambda: (lane % 16, r),
    }[shape]()
    lanes, columns = np.broadcast_arrays(lanes, columns)
    lanes, columns = lanes[:, None], columns[:, None]
    if packed:
        lanes, columns = np.repeat(lanes, 2, axis=1), np.concatenate([2 * columns, 2 * columns + 1], axis=1)
    if shape == "16x32bx2":
        columns = columns + split * (lane // 16)
    return lanes, columns


LANE_ROW = np.dtype("V128")  # the cells of 32 lanes of a column


class CellRanges:
    """The accesses of warps with one address each: ``cells`` are their first cells in the batch's tensor memory.

    ``spans``: (span, CTAs, warps) of warps that access the same columns and half.
    """

    def __init__(self, ctas: np.ndarray, warps: np.ndarray, cells: np.ndarray, spans: list[tuple]):
        self.ctas, self.warps, self.cells, self.spans = ctas, warps, cells, spans
        self.lines = cells // 32


class TensorMemoryAccess:
    """A tcgen05.ld or tcgen05.st instruction."""

    def __init__(self, ins, shape: str, count: int, packed: bool, split: int):
        self.ins, self.packed = ins, packed
        lanes, columns = fragment_cells(shape, count, packed, split)
        self.offsets = (columns * tensor_memory.LANES + lanes)[:, :, None]  # (registers, parts, 1, 32)
        self.whole = shape == "32x32b"
        if self.whole:  # a register of a warp is a row of cells
            self.offsets = self.offsets[..., 0] // 32
            self.lines = np.ascontiguousarray(self.offsets[:, 0, 0], np.int64)
        width = count * {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}[shape] * (1 + packed)
        self.runs = [(0, width), (split, width)] if shape == "16x32bx2" else [(0, width)]

    def places(self, group, address) -> CellRanges:
        """The cells that a group accesses, after checks of the address."""
        ctas, warps = warps_of(group, self.ins)
        key = self.whole, *self.runs, address.shape, address.tobytes()
        found = group.memo.get(key)
        if found is None:
            words = per_warp(group, self.ins, address)
            found = group.memo[key] = self.places_of(group, ctas, warps, words.astype(np.int64))
        return found

    def places_of(self, group, ctas: np.ndarray, warps: np.ndarray, words: np.ndarray) -> CellRanges:
        lanes, columns = words >> 16, words & 0xFFFF
        legal = lanes == warps % 4 * 32
        halves = np.zeros(len(words), np.int64)
        if not self.whole:
            upper = lanes == warps % 4 * 32 + 16
            legal, halves = legal | upper, halves + upper
        if not are_all(legal):
            self.wrong_lanes(group, ctas, warps, lanes, legal)
        base = (ctas * tensor_memory.COLUMNS + columns) * tensor_memory.LANES + lanes
        return CellRanges(ctas, warps, base, list(self.spans(ctas, warps, halves, columns)))

    def index(self, base: np.ndarray) -> np.ndarray:
        """The index of the cells (registers, parts, warps, 32), or of rows of 32 cells, from the first cell of each warp."""
        return base // 32 + self.offsets if self.whole else base[:, None] + self.offsets

    def can_use_native_code(self) -> bool:
        return self.whole and not self.packed and is_ready()

    def wrong_lanes(self, group, ctas, warps, lanes, legal):
        i = int(np.argmin(legal))
        first = int(warps[i]) % 4 * 32
        why = f"lane {lanes[i]}: warp {warps[i]} may only access lanes {first} to {first + 31} of tensor memory"
        fault_at(group.geometry, self.ins, (ctas[i], warps[i] * 32), why)

    def spans(self, ctas, warps, halves, columns):
        """(span, CTAs, warps) of warps that access the same columns and half."""
        for first in unique_integers(columns):
            for half in (None,) if self.whole else unique_integers(halves[columns == first]):
                chosen = columns == first if half is None else (columns == first) & (halves == half)
                for offset, width in self.runs:
                    part = slice(None) if half is None else slice(int(half), int(half) + 1)
                    rows = rows_of(unique_integers(ctas[chosen]))
                    some = (ctas, warps) if are_all(chosen) else (ctas[chosen], warps[chosen])
                    yield Span(rows, int(first) + offset, width, part), *some

    def load(self, group, address):
        """Load the registers, each of the group's shape."""
        memory, places = tensor_memory_of(group), self.places(group, address)
        for span, some, which in places.spans:
            memory.require_allocated(self.ins, span, None, "tcgen05.ld")
            why = "an asynchronous operation may still write these columns: commit and wait first"
            memory.require_no_pending(self.ins, span, None, memory.writing, why)
            why = "a tcgen05.st to these columns has not been waited for (tcgen05.wait::st)"
            memory.require_no_pending(self.ins, span, None, memory.storing, why)
            memory.mark(memory.loading, some, which, span)
            if group.observers.racecheck is not None:
                group.observers.racecheck.tensor_memory.access(self.ins, span, some, which, False)
        if self.can_use_native_code():
            return list(tcgen05_ld_st.load(memory.cells, places.lines, self.lines).reshape(-1, *group.shape))
        index = self.index(places.cells)
        if self.whole:
            words = memory.cells.reshape(-1).view(LANE_ROW)[index][..., None].view(np.uint32)
        else:
            words = memory.cells.reshape(-1)[index]
        out = words[:, 0] if not self.packed else (words[:, 0] & 0xFFFF) | (words[:, 1] << np.uint32(16))
        return [group.from_warps(value) for value in out]

    def store(self, group, address, values):
        memory, places = tensor_memory_of(group), self.places(group, address)
        for span, some, which in places.spans:
            memory.require_allocated(self.ins, span, None, "tcgen05.st")
            why = "an asynchronous operation may still access these columns: commit and wait first"
            for table in (memory.writing, memory.reading):
                memory.require_no_pending(self.ins, span, None, table, why)
            why = "a tcgen05.ld of these columns has not been waited for (tcgen05.wait::ld)"
            memory.require_no_pending(self.ins, span, None, memory.loading, why)
            memory.mark(memory.storing, some, which, span)
            if group.observers.racecheck is not None:
                group.observers.racecheck.tensor_memory.access(self.ins, span, some, which, True)
        if self.can_use_native_code():
            return tcgen05_ld_st.store(memory.cells, places.lines, self.lines, values, group.shape)
        index = self.index(places.cells)
        words = np.empty((len(values), 1, group.warps, 32), np.uint32)
        for out, value in zip(words, values):
            out[...] = group.to_warps(value)
        if self.packed:
            words = np.concatenate([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=1)
        if self.whole:
            memory.cells.reshape(-1).view(LANE_ROW)[index] = words.view(LANE_ROW)[..., 0]
        else:
            memory.cells.reshape(-1)[index] = words


def make_access(e, ins, registers: int, split) -> str:
    shape = next((m for m in ins.mods if m in LD_ST_SHAPES), None)
    count = next((int(m[1:]) for m in ins.mods if m[0] == "x" and m[1:].isdigit()), 0)
    if shape is None or (shape == "16x32bx2") != isinstance(split, Immediate):
        e.fail("not supported")
    if registers != LD_ST_SHAPES[shape] * count or registers > 128:
        e.fail(f"expected {LD_ST_SHAPES[shape] * count} registers")
    packed = "pack::16b" in ins.mods or "unpack::16b" in ins.mods
    return e.constant(
        TensorMemoryAccess(ins, shape, count, packed, split.value if split is not None else 0), "transfer"
    )


def handle_ld(e, ins):
    emit_warp_sync(e)
    if "red" in ins.mods:
        return load_and_reduce(e, ins)
    targets = vector_items(ins.args[0])
    site = make_access(e, ins, len(targets), ins.args[2] if len(ins.args) > 2 else None)
    e.set_tuple(targets, "u32", f"{site}.load(g, {tensor_address(e, ins.args[1])})")


def load_and_reduce(e, ins):
    """tcgen05.ld.red: also the minimum or maximum of a lane's columns."""
    if "16x32bx2" in ins.mods:
        e.fail("not supported: the ISA does not specify whether the two accesses to a lane are reduced together")
    kind, targets = next((m for m in ins.mods if m in ("f32", "u32", "s32")), None), vector_items(ins.args[0])
    allowed = {"32x32b", "f32", "abs", "NaN"} if kind == "f32" else {"32x32b", kind}
    if "x1" in ins.mods or not allowed.issuperset(set(ins.mods[4:]) - {"min", "max", f"x{len(targets)}"}):
        e.fail("unsupported form")
    values = e.temp(f"{make_access(e, ins, len(targets), None)}.load(g, {tensor_address(e, ins.args[2])})")
    operation = "min" if "min" in ins.mods else "max"
    flags = f"{'abs' in ins.mods}, {'NaN' in ins.mods}"
    e.set(ins.args[1], kind, f"reduce_columns({values}, {operation!r}, {kind}, {flags})")
    for i, target in enumerate(targets):
        if target is not SINK:
            e.set(target, "u32", f"{values}[{i}]")


@helper
def reduce_columns(values, operation, kind, absolute, keep_nan):
    values = [np.asarray(value).view(kind) for value in values]
    if kind is not np.float32:
        return (np.minimum if operation == "min" else np.maximum).reduce(values)
    out = np.abs(values[0]) if absolute else values[0]
    for value in values[1:]:
        out = float_arithmetic.min_max(operation, out, np.abs(value) if absolute else value, keep_nan)
    return out


def handle_st(e, ins):
    emit_warp_sync(e)
    values = vector_items(ins.args[-1])
    site = make_access(e, ins, len(values), ins.args[1] if len(ins.args) > 2 else None)
    sources = ", ".join(e.use(v, "u32") for v in values)
    e.line(f"{site}.store(g, {tensor_address(e, ins.args[0])}, [{sources}])")


# -- waiting -----------------------------------------------------------------------------------------
def handle_wait(e, ins):
    emit_warp_sync(e)
    table = "loading" if ins.mods[0] == "wait::ld" else "storing"
    e.line(f"tcgen05_wait({e.constant(ins, 'ins')}, g, {table!r})")


@helper
def tcgen05_wait(ins, group, table):
    ctas, warps = warps_of(group, ins)
    memory = tensor_memory_of(group)
    memory.wait_done(getattr(memory, table), ctas, warps)
    if group.observers.racecheck is not None:
        group.observers.racecheck.tensor_memory.wait(ctas, warps, table == "storing")


def handle_fence(e, ins):
    """The emulator orders all accesses, so fences only matter to racecheck."""
    is_after = ins.mods[0] == "fence::after_thread_sync"
    flat = "g.flat" if e.predicate is None else f"g.flat[g.full({e.predicate})]"
    e.line(f"if g.observers.racecheck is not None: g.observers.racecheck.tensor_memory.fence({flat}, {is_after})")


# -- commit ------------------------------------------------------------------------------------------
class Commit(Operation):
    """A tcgen05.commit, which completes after the operations that the same threads have issued before (9.7.16.6.2, 9.7.16.12.1).

    It is not ordered after other commits. Each of its arrivals, at the mbarrier of one CTA in each cluster, is performed when
    a thread tests that mbarrier.
    """

    is_commit = True

    def __init__(self, ins, ctas: np.ndarray, tids: np.ndarray):
        self.ins, self.ctas, self.tids = ins, ctas, tids
        self.issuers = ctas, int(tids[0])

    def committing_threads(self):
        return zip(self.ctas.tolist(), self.tids.tolist())

    def run(self, memory):
        """Do nothing: the queue has executed the preceding operations."""


_ONE, _NONE = np.ones(1, np.int64), np.zeros(1, np.int64)


class CommitArrival(InFlightArrival):
    """The arrival of a commit at mbarriers ``positions``; ``flat``: the committing threads."""

    def __init__(self, commit: Commit, positions, flat, clocks):
        self.commit, self.ins, self.positions, self.flat = commit, commit.ins, positions, flat
        self.is_performed, self.clocks = False, clocks

    def perform(self, batch):
        """Arrive, after the commit has completed."""
        self.is_performed = True
        arrive_and_expect_tx(batch, self.ins, self.positions, self.flat, _ONE, _NONE, clocks=self.clocks)


def handle_commit(e, ins):
    if not any(m.startswith("mbarrier::arrive::one") for m in ins.mods):
        e.fail("unknown completion mechanism")
    space = "shared" if any(m.startswith("shared") for m in ins.mods) else "generic"
    base, offset = address_expression(e, space, ins.args[0])
    site = e.constant(MbarrierSite(ins, offset), "mbarrier")
    ctas = e.use(ins.args[1], "u32") if "multicast::cluster" in ins.mods else "None"
    e.line(f"tcgen05_commit({site}, g, {base}, {ctas}, {mask_of(e)})")


@helper
def tcgen05_commit(site, group, address, multicast, mask):
    selection = selected(group, mask)
    if not len(selection.rows):
        return
    index, flat = site.where(group, address, selection)
    if multicast is not None:
        index, flat = multicast_targets(group, site.ins, selection, index, flat, multicast)
    index, flat = np.asarray(index), np.asarray(flat)
    commit = Commit(site.ins, *np.divmod(flat, group.geometry.threads))
    clocks = None if group.observers.racecheck is None else group.observers.racecheck.shared_memory.commit_tcgen05(flat)
    async_queue_of(group).issue(commit)
    if group.geometry.cluster_size == 1:
        group.sync.waits.add_in_flight(index, CommitArrival(commit, index, flat, clocks))
        return
    ranks = group.geometry.rank(index // (group.memories.shared_size // 8))
    for rank in unique_integers(ranks).tolist():
        there = ranks == rank
        known = None if clocks is None else clocks[there]
        group.sync.waits.add_in_flight(index[there], CommitArrival(commit, index[there], flat[there], known))


# -- dispatch ----------------------------------------------------------------------------------------
TCGEN05_HANDLERS = {
    "alloc": handle_alloc, "dealloc": handle_dealloc, "relinquish_alloc_permit": handle_relinquish,
    "ld": handle_ld, "st": handle_st, "wait::ld": handle_wait, "wait::st": handle_wait,
    "fence::before_thread_sync": handle_fence, "fence::after_thread_sync": handle_fence,
    "commit": handle_commit, "cp": handle_cp,
}  # fmt: skip


@handles("tcgen05")
def handle_tcgen05(e, ins):
    require_one_group(e, ins)
    handler = TCGEN05_HANDLERS.get(ins.mods[0])
    if handler is None:
        e.fail("not supported")
    return handler(e, ins)
