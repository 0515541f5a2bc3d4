"""Tensor memory: allocation, tcgen05.ld and .st, cp, shift, commit, wait and fence (PTX ISA 9.0, 9.7.16.7 to .12).

``tensor.py`` keeps the memory and the queue of asynchronous operations; ``tcgen05_mma.py`` has the products.

tcgen05.shift is refused: the ISA does not say in words to which of its two neighbours a row moves.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .. import descriptor, numerics, tensor
from ..access import Selection, Site, flat_threads
from ..emit import items_of
from ..group import pick
from ..parse import SINK, Address, Immediate
from ..tensor import Operation, Span, fault, rows_of, tensor_of
from .matrix import DECOMPRESS
from .mbarrier import BarrierSite, change
from .memory import address_expression
from .registry import WARP_WIDE, handles, helper
from .warp import wait_for_mates

WARP_WIDE.add("tcgen05")
SHAPES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}  # registers per repetition


# -- operands ----------------------------------------------------------------------------------------
def tensor_address(e, operand) -> str:
    """Source of a tensor-memory address: lane in the high, column in the low 16 bits."""
    if not isinstance(operand, Address):
        e.fail("the tensor-memory address must be in brackets")
    base = e.use(operand.base, "u32")
    return f"{base} + {e.scalar('u32', operand.offset)}" if operand.offset else base


def is_pair(ins) -> bool:
    return "cta_group::2" in ins.mods


def require_one_group(e, ins):
    """All tcgen05 instructions of a kernel have the same .cta_group (section 9.7.16.7.1)."""
    groups = {m for other in e.program.code if other.op == "tcgen05" for m in other.mods if m.startswith("cta_group")}
    if len(groups) > 1:
        e.fail("all tcgen05 instructions of a kernel must have the same .cta_group")


def mask_of(e) -> str:
    return e.predicate or "None"


def per_warp(group, ins, value) -> np.ndarray:
    """A value that all lanes of a warp share, one per warp."""
    if np.ndim(value) == 0:
        return np.full(group.warps, value)
    lanes = group.to_warps(value)
    if (lanes != lanes[:, :1]).any():
        row = int(np.argmax((lanes != lanes[:, :1]).any(axis=1)))
        cta, tid = divmod(int(group.flat[row * 32]), group.machine.threads)
        fault(group.machine, ins, "the threads of a warp give different operands", cta, tid)
    return lanes[:, 0]


def warps_of(group, ins) -> tuple[np.ndarray, np.ndarray]:
    """(CTA, warp in the CTA) of each warp of the group; all of its lanes must be there."""
    if not group.dense:
        cta, tid = divmod(int(group.flat[0]), group.machine.threads)
        fault(group.machine, ins, "not all 32 threads of the warp execute this instruction", cta, tid)
    cta, tid = np.divmod(group.flat[::32], group.machine.threads)
    return cta, tid // 32


class Issuers:
    """The threads that issue a single-thread instruction, with their operands."""

    def __init__(self, group, mask, *operands):
        self.selection = Selection(group, True if mask is None else mask)
        count = len(self.selection.rows)
        self.ctas = np.broadcast_to(self.selection.pick(group.cta), count)
        self.tids = np.broadcast_to(self.selection.pick(np.broadcast_to(group.tid, group.shape)), count)
        self.operands = [np.broadcast_to(self.selection.pick(o), count).astype(np.uint64) for o in operands]

    def batches(self):
        """(CTAs, their first thread, operands): CTAs whose same warp issues with the same operands, each at most once at a time."""
        if not len(self.ctas):
            return
        rounds = self.turns()
        table = np.stack([*self.operands, (self.tids // 32).astype(np.uint64)])
        for turn in range(int(rounds.max()) + 1):
            chosen = np.flatnonzero(rounds == turn)
            while len(chosen):
                same = (table[:, chosen] == table[:, chosen[:1]]).all(axis=0)
                some = chosen[same]
                yield self.ctas[some], int(self.tids[some[0]]), [int(o[some[0]]) for o in self.operands]
                chosen = chosen[~same]

    def turns(self) -> np.ndarray:
        """How many earlier threads of its CTA each thread comes after."""
        if len(self.ctas) < 2 or (np.diff(self.ctas) > 0).all():
            return np.zeros(len(self.ctas), np.int64)
        out, seen = np.zeros(len(self.ctas), np.int64), {}
        for i, cta in enumerate(self.ctas.tolist()):
            out[i] = seen.get(cta, 0)
            seen[cta] = out[i] + 1
        return out


def sides(machine, ins, ctas) -> list[np.ndarray]:
    """The CTAs an operation works in: its own, or the even and the odd ones of the pairs."""
    return list(tensor.pair_of(machine, ins, ctas)) if is_pair(ins) else [ctas]


# -- allocation --------------------------------------------------------------------------------------
def handle_alloc(e, ins):
    """A block of its own (Program.is_barrier): the warp may have to wait for columns."""
    wait_for_mates(e)
    space = "shared" if any(m.startswith("shared") for m in ins.mods) else "generic"
    base, offset = address_expression(e, space, ins.args[0])
    site = e.constant(Site(ins, space, 4, 1, offset), "site")
    return f"return Event('run', tensor_alloc, {site}, {base}, {e.use(ins.args[1], 'u32')}, {e.pc + 1})"


@helper
def tensor_alloc(group, site, address, columns, after):
    memory, ins = tensor_of(group.machine), site.ins
    ctas, warps = warps_of(group, ins)
    counts = per_warp(group, ins, columns)
    starts = np.full(len(ctas), tensor.FREE)
    for _ in range(2 if is_pair(ins) else 1):  # the second CTA of a pair serves the first one
        for i in np.flatnonzero(starts == tensor.FREE).tolist():
            starts[i] = claim(memory, ins, int(ctas[i]), int(warps[i]) * 32, int(counts[i]))
    served = starts != tensor.FREE
    if not served.all():
        return serve_some(group, site, address, starts, after)
    write_starts(group, site, address, starts)
    group.pc = after
    return group


def serve_some(group, site, address, starts, after):
    """Park the warps that must wait; those that have their columns go on."""
    machine, served = group.machine, starts != tensor.FREE
    mask = group.from_warps(np.repeat(served[:, None], 32, axis=1))
    rest = group.take(~mask)
    rest.pc = group.pc
    machine.parked.append((rest, "waits for free columns of tensor memory"))
    if not served.any():
        return
    part = group.take(mask)
    write_starts(part, site, pick(address, part.select), starts[served])
    part.pc = after
    machine.push(part)


def write_starts(group, site, address, starts):
    """One lane of each warp stores the address of its columns."""
    leaders = np.broadcast_to((group.tid & 31) == 0, group.shape)
    value = group.from_warps(np.repeat(starts.astype(np.uint32)[:, None], 32, axis=1))
    site.store(group, address, [value], leaders)
    if group.machine.race is not None:
        selection = Selection(group, leaders)
        place = site.in_shared(group, selection.pick(address), selection)
        index = np.broadcast_to(place.index(4), len(selection.rows))
        group.machine.race.tensor_writes(site.ins, 4 * index, flat_threads(group, selection))


def claim(memory, ins, cta: int, tid: int, columns: int) -> int:
    """The first column of a new allocation, or FREE where the warp has to wait."""
    memory.check_count(ins, cta, tid, columns)
    if not memory.permitted[cta]:
        fault(memory.machine, ins, "tcgen05.alloc after tcgen05.relinquish_alloc_permit", cta, tid)
    if columns > memory.largest[cta]:
        fault(
            memory.machine,
            ins,
            f"{columns} columns: more than the allocation of {memory.largest[cta]} before",
            cta,
            tid,
        )
    if is_pair(ins):
        return claim_in_pair(memory, ins, cta, columns)
    start = memory.fit([cta], columns)
    if start != tensor.FREE:
        grant(memory, ins, [cta], start, columns)
    return start


def grant(memory, ins, ctas, start: int, columns: int):
    for cta in ctas:
        memory.take(cta, start, columns)
        memory.largest[cta] = columns
        memory.sources[cta] = ins


def claim_in_pair(memory, ins, cta: int, columns: int) -> int:
    """Both CTAs of a pair allocate together: the first one waits for the second."""
    waiting = memory.requests.get(cta)
    if waiting is not None and waiting[1] != tensor.FREE:
        return memory.requests.pop(cta)[1]
    even, odd = (int(side[0]) for side in tensor.pair_of(memory.machine, ins, np.array([cta])))
    peer = odd if cta == even else even
    memory.requests[cta] = (columns, tensor.FREE)
    other = memory.requests.get(peer)
    if other is None:
        return tensor.FREE
    if other[0] != columns:
        fault(memory.machine, ins, f"the peer CTA allocates {other[0]} columns, this one {columns}", cta)
    start = memory.fit([cta, peer], columns)
    if start != tensor.FREE:
        grant(memory, ins, [cta, peer], start, columns)
        memory.requests[peer] = (columns, start)
        del memory.requests[cta]
        memory.machine.unpark()
    return start


def handle_dealloc(e, ins):
    wait_for_mates(e)
    address = e.use(ins.args[0], "u32")
    e.line(f"tensor_dealloc({e.constant(ins, 'ins')}, g, {address}, {e.use(ins.args[1], 'u32')})")


@helper
def tensor_dealloc(ins, group, address, columns):
    memory = tensor_of(group.machine)
    ctas, warps = warps_of(group, ins)
    for cta, warp, start, count in zip(ctas, warps, per_warp(group, ins, address), per_warp(group, ins, columns)):
        memory.release(ins, int(cta), int(warp) * 32, int(start), int(count))
        if group.machine.race is not None and is_pair(ins):
            clusters = group.machine.clusters
            group.machine.race.tensor_freed(
                ins, int(cta), int(warp), int(clusters.of_rank(cta, clusters.rank(cta) ^ 1))
            )
    group.machine.unpark()


def handle_relinquish(e, ins):
    wait_for_mates(e)
    e.line(f"tensor_relinquish({e.constant(ins, 'ins')}, g)")


@helper
def tensor_relinquish(ins, group):
    tensor_of(group.machine).permitted[warps_of(group, ins)[0]] = False


# -- ld and st ---------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def fragment_cells(shape: str, count: int, packed: bool, split: int) -> tuple[np.ndarray, np.ndarray]:
    """(lanes, columns), each (registers, parts, 32): the cell of every register (section 9.7.16.2.3.1).

    Packed registers have two parts, the low halves of two neighbouring columns.
    """
    lane = np.arange(32)[None]
    r = np.arange(SHAPES[shape] * count)[:, None]
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


class Transfer:
    """One tcgen05.ld or tcgen05.st."""

    def __init__(self, ins, shape: str, count: int, packed: bool, split: int):
        self.ins, self.packed = ins, packed
        lanes, columns = fragment_cells(shape, count, packed, split)
        self.offsets = (columns * tensor.LANES + lanes)[:, :, None]  # (registers, parts, 1, 32)
        self.whole = shape == "32x32b"
        width = count * {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}[shape] * (1 + packed)
        self.runs = [(0, width), (split, width)] if shape == "16x32bx2" else [(0, width)]

    def places(self, group, address):
        """(memory, CTAs, warps, halves, first columns, indices of the cells) after the checks of the address."""
        memory = tensor_of(group.machine)
        ctas, warps = warps_of(group, self.ins)
        words = per_warp(group, self.ins, address).astype(np.int64)
        lanes, columns = words >> 16, words & 0xFFFF
        legal = lanes == warps % 4 * 32
        halves = np.zeros(len(words), np.int64)
        if not self.whole:
            upper = lanes == warps % 4 * 32 + 16
            legal, halves = legal | upper, halves + upper
        if not legal.all():
            self.wrong_lanes(group, ctas, warps, lanes, legal)
        base = (ctas * tensor.COLUMNS + columns) * tensor.LANES + lanes
        return memory, ctas, warps, halves, columns, base[:, None] + self.offsets

    def wrong_lanes(self, group, ctas, warps, lanes, legal):
        i = int(np.argmin(legal))
        first = int(warps[i]) % 4 * 32
        why = f"lane {lanes[i]}: warp {warps[i]} may only access lanes {first} to {first + 31} of tensor memory"
        fault(group.machine, self.ins, why, ctas[i], warps[i] * 32)

    def spans(self, ctas, warps, halves, columns):
        """(span, CTAs, warps) of warps that access the same columns and half."""
        for first in np.unique(columns):
            for half in (None,) if self.whole else np.unique(halves[columns == first]):
                chosen = columns == first if half is None else (columns == first) & (halves == half)
                for offset, width in self.runs:
                    part = slice(None) if half is None else slice(int(half), int(half) + 1)
                    yield Span(ctas[chosen], int(first) + offset, width, part), ctas[chosen], warps[chosen]

    def load(self, group, address):
        """The registers, each of the group's shape."""
        memory, ctas, warps, halves, columns, index = self.places(group, address)
        for span, some, which in self.spans(ctas, warps, halves, columns):
            memory.require_allocated(self.ins, span, some, "tcgen05.ld")
            memory.require_quiet(
                self.ins,
                span,
                some,
                memory.writing,
                "an asynchronous operation still writes here: commit and wait first",
            )
            memory.require_quiet(
                self.ins,
                span,
                some,
                memory.storing,
                "a tcgen05.st to these columns has not been waited for (tcgen05.wait::st)",
            )
            memory.loading[some, which, span.halves, span.first : span.last] = True
            if group.machine.race is not None:
                group.machine.race.tensor_columns(span, some, which)
        if group.machine.race is not None:
            group.machine.race.tensor_moved(ctas, warps)
        words = memory.cells.reshape(-1)[index]
        out = words[:, 0] if not self.packed else (words[:, 0] & 0xFFFF) | (words[:, 1] << np.uint32(16))
        return [group.from_warps(value) for value in out]

    def store(self, group, address, values):
        memory, ctas, warps, halves, columns, index = self.places(group, address)
        for span, some, which in self.spans(ctas, warps, halves, columns):
            memory.require_allocated(self.ins, span, some, "tcgen05.st")
            for table in (memory.writing, memory.reading):
                memory.require_quiet(
                    self.ins,
                    span,
                    some,
                    table,
                    "an asynchronous operation still uses these columns: commit and wait first",
                )
            why = "a tcgen05.ld of these columns has not been waited for (tcgen05.wait::ld)"
            memory.require_quiet(self.ins, span, some, memory.loading, why)
            memory.storing[some, which, span.halves, span.first : span.last] = True
            if group.machine.race is not None:
                group.machine.race.tensor_columns(span, some, which)
        if group.machine.race is not None:
            group.machine.race.tensor_moved(ctas, warps)
        words = np.stack([np.broadcast_to(group.to_warps(v), (group.warps, 32)) for v in values])[:, None]
        if self.packed:
            words = np.concatenate([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=1)
        memory.cells.reshape(-1)[index] = words


def transfer(e, ins, registers: int, split) -> str:
    shape = next((m for m in ins.mods if m in SHAPES), None)
    count = next((int(m[1:]) for m in ins.mods if m[0] == "x" and m[1:].isdigit()), 0)
    if shape is None or (shape == "16x32bx2") != isinstance(split, Immediate):
        e.fail("not supported")
    if registers != SHAPES[shape] * count or registers > 128:
        e.fail(f"expected {SHAPES[shape] * count} registers")
    packed = "pack::16b" in ins.mods or "unpack::16b" in ins.mods
    return e.constant(Transfer(ins, shape, count, packed, split.value if split is not None else 0), "transfer")


def handle_ld(e, ins):
    wait_for_mates(e)
    if "red" in ins.mods:
        return load_and_reduce(e, ins)
    targets = items_of(ins.args[0])
    site = transfer(e, ins, len(targets), ins.args[2] if len(ins.args) > 2 else None)
    e.set_tuple(targets, "u32", f"{site}.load(g, {tensor_address(e, ins.args[1])})")


def load_and_reduce(e, ins):
    """tcgen05.ld.red: also the least or greatest of a lane's columns."""
    if "16x32bx2" in ins.mods:
        e.fail("not supported: the ISA does not say whether the two accesses to a lane are reduced together")
    kind, targets = next((m for m in ins.mods if m in ("f32", "u32", "s32")), None), items_of(ins.args[0])
    allowed = {"32x32b", "f32", "abs", "NaN"} if kind == "f32" else {"32x32b", kind}
    if "x1" in ins.mods or not allowed.issuperset(set(ins.mods[4:]) - {"min", "max", f"x{len(targets)}"}):
        e.fail("no such form")
    values = e.temp(f"{transfer(e, ins, len(targets), None)}.load(g, {tensor_address(e, ins.args[2])})")
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
        out = numerics.extreme(operation, out, np.abs(value) if absolute else value, keep_nan)
    return out


def handle_st(e, ins):
    wait_for_mates(e)
    values = items_of(ins.args[-1])
    site = transfer(e, ins, len(values), ins.args[1] if len(ins.args) > 2 else None)
    sources = ", ".join(e.use(v, "u32") for v in values)
    e.line(f"{site}.store(g, {tensor_address(e, ins.args[0])}, [{sources}])")


# -- waiting -----------------------------------------------------------------------------------------
def handle_wait(e, ins):
    wait_for_mates(e)
    table = "loading" if ins.mods[0] == "wait::ld" else "storing"
    e.line(f"tensor_wait({e.constant(ins, 'ins')}, g, {table!r})")


@helper
def tensor_wait(ins, group, table):
    ctas, warps = warps_of(group, ins)
    getattr(tensor_of(group.machine), table)[ctas, warps] = False


def handle_fence(e, ins):
    """The waits and barriers of the emulator order everything: the fence has nothing left to do."""


# -- commit ------------------------------------------------------------------------------------------
class Commit(Operation):
    """Arrives at mbarriers once everything before it has been carried out; ``flat`` are the threads that commit."""

    def __init__(self, ins, positions, flat):
        self.ins, self.positions, self.flat, self.landed = ins, positions, flat, False
        self.clocks = None  # of the race check

    def land(self, machine):
        machine.tensor.reach(self)

    def run(self, memory):
        self.landed = True
        arrivals = np.ones(len(self.positions), np.int64)
        change(memory.machine, self.ins, self.positions, self.flat, arrivals, 0, clocks=self.clocks)


def handle_commit(e, ins):
    if not any(m.startswith("mbarrier::arrive::one") for m in ins.mods):
        e.fail("unknown completion mechanism")
    space = "shared" if any(m.startswith("shared") for m in ins.mods) else "generic"
    base, offset = address_expression(e, space, ins.args[0])
    site = e.constant(BarrierSite(ins, offset), "mbarrier")
    ctas = e.use(ins.args[1], "u32") if "multicast::cluster" in ins.mods else "None"
    e.line(f"tensor_commit({site}, g, {base}, {ctas}, {mask_of(e)})")


@helper
def tensor_commit(site, group, address, multicast, mask):
    selection = Selection(group, True if mask is None else mask)
    if not len(selection.rows):
        return
    index, flat = site.where(group, address, selection)
    if multicast is not None:
        index, flat = in_cluster(group, site.ins, selection, index, flat, multicast)
    commit = Commit(site.ins, np.asarray(index), np.asarray(flat))
    if group.machine.race is not None:
        commit.clocks = group.machine.race.commit_tensor(commit.flat)
    tensor_of(group.machine).issue(commit)
    group.machine.waits.fly(commit.positions, commit)


def in_cluster(group, ins, selection, index, flat, multicast):
    """The same barrier in every CTA of the cluster whose bit of ``multicast`` is set."""
    machine, words = group.machine, group.machine.shared_size // 8
    ctas = np.broadcast_to(selection.pick(group.cta), len(index))
    masks = np.broadcast_to(selection.pick(multicast), len(index))
    places, threads = [index[:0]], [flat[:0]]
    for rank in range(16):
        chosen = masks >> np.uint32(rank) & np.uint32(1) != 0
        if chosen.any():
            if rank >= machine.clusters.size:
                fault(machine, ins, f"CTA {rank} of the mask is not in the cluster", ctas[0])
            there = machine.clusters.of_rank(ctas[chosen], rank)
            places.append(there * words + index[chosen] % words)
            threads.append(flat[chosen])
    return np.concatenate(places), np.concatenate(threads)


# -- cp ----------------------------------------------------------------------------------------------
# Shape and multicast -> lanes of each source row, (copies, rows) (section 9.7.16.9.2).
_ROWS32 = np.arange(32)
COPIES = {
    ("128x256b", None): np.arange(128)[None],
    ("128x128b", None): np.arange(128)[None],
    ("4x256b", None): np.arange(4)[None] * 32,
    ("64x128b", "warpx2::02_13"): np.arange(64)[None] + np.array([[0], [64]]),
    ("64x128b", "warpx2::01_23"): np.concatenate([_ROWS32, _ROWS32 + 64])[None] + np.array([[0], [32]]),
    ("32x128b", "warpx4"): _ROWS32[None] + np.array([[0], [32], [64], [96]]),
}


class Copy(Operation):
    """tcgen05.cp of some CTAs: ``chunks`` (rows, columns) of shared memory to ``lanes`` (copies, rows)."""

    def __init__(self, machine, ins, ctas, chunks, lanes, column: int, change, issuers):
        self.ins, self.ctas, self.lanes, self.column, self.change = ins, ctas, lanes, column, change
        self.source = tensor.Source(machine, ins, "the copied matrix", ctas, chunks, issuers)
        self.writes = (Span(rows_of(ctas), column, chunks.shape[1] * 4),)

    def run(self, memory):
        data = self.source.read()
        words = np.ascontiguousarray(self.change(data) if self.change else data).view(np.uint32)
        words = words.reshape(*data.shape[:2], -1).transpose(0, 2, 1)  # (CTAs, columns, rows)
        columns = np.arange(self.column, self.column + words.shape[1])
        for lanes in self.lanes:
            memory.cells[self.ctas[:, None, None], columns[None, :, None], lanes[None, None]] = words


def handle_cp(e, ins):
    shape = next((m for m in ins.mods if "x" in m and m.endswith("b") and m[0].isdigit()), None)
    multicast = next((m for m in ins.mods if m.startswith("warpx")), None)
    formats = [m for m in ins.mods if m.startswith(("b4x16", "b6x16"))]
    if (shape, multicast) not in COPIES or ("b8x16" in ins.mods) != bool(formats):
        e.fail("no such form of tcgen05.cp")
    form = e.constant((ins, shape, multicast, DECOMPRESS[formats[0]] if formats else None), "copy")
    e.line(f"tensor_copy({form}, g, {tensor_address(e, ins.args[0])}, {e.use(ins.args[1], 'u64')}, {mask_of(e)})")


@helper
def tensor_copy(form, group, address, word, mask):
    ins, shape, multicast, change = form
    memory = tensor_of(group.machine)
    for ctas, tid, (place, source) in Issuers(group, mask, address, word).batches():
        lanes = COPIES[shape, multicast] + (place >> 16)
        if int(lanes.max()) >= tensor.LANES:
            fault(group.machine, ins, f"lane {place >> 16}: the copy leaves tensor memory", ctas[0], tid)
        chunks = source_chunks(
            group.machine, ins, source, lanes.shape[1], 2 if shape.endswith("256b") else 1, ctas, tid
        )
        for side in sides(group.machine, ins, ctas):
            copy = Copy(group.machine, ins, side, chunks, lanes, place & 0xFFFF, change, (ctas, tid))
            require_usable(memory, copy)
            memory.issue(copy)


def source_chunks(machine, ins, word: int, rows: int, columns: int, ctas, tid: int) -> np.ndarray:
    """Chunks of a K-major matrix, inside the CTA's shared memory."""
    fields = read_fields(machine, ins, word, ctas, tid)
    return inside_shared(machine, ins, descriptor.k_major_chunks(fields, rows, columns), ctas, tid)


def read_fields(machine, ins, word: int, ctas, tid: int) -> descriptor.Descriptor:
    fields = descriptor.read_descriptor(word)
    if isinstance(fields, str):
        fault(machine, ins, fields, ctas[0], tid)
    return fields


def inside_shared(machine, ins, chunks: np.ndarray, ctas, tid: int) -> np.ndarray:
    end = (int(chunks.max()) + 1) * descriptor.CHUNK
    if end > machine.shared_limit:
        limit = f"the shared memory ({machine.shared_limit} bytes)"
        fault(machine, ins, f"the matrix leaves {limit}", ctas[0], tid, end - descriptor.CHUNK)
    return chunks


def require_usable(memory, operation: Operation) -> None:
    """The columns of an asynchronous operation are allocated, and no tcgen05.ld or .st is under way in them."""
    ins = operation.ins
    for span in operation.writes + operation.reads:
        numbers = np.arange(memory.machine.ctas)[span.ctas]
        memory.require_allocated(ins, span, numbers, f"tcgen05.{ins.mods[0]}")
        memory.require_quiet(
            ins,
            span,
            numbers,
            memory.storing,
            "a tcgen05.st to these columns has not been waited for (tcgen05.wait::st)",
        )
    for span in operation.writes:
        numbers = np.arange(memory.machine.ctas)[span.ctas]
        memory.require_quiet(
            ins,
            span,
            numbers,
            memory.loading,
            "a tcgen05.ld of these columns has not been waited for (tcgen05.wait::ld)",
        )


# -- dispatch ----------------------------------------------------------------------------------------
FORMS = {
    "alloc": handle_alloc, "dealloc": handle_dealloc, "relinquish_alloc_permit": handle_relinquish,
    "ld": handle_ld, "st": handle_st, "wait::ld": handle_wait, "wait::st": handle_wait,
    "fence::before_thread_sync": handle_fence, "fence::after_thread_sync": handle_fence,
    "commit": handle_commit, "cp": handle_cp,
}  # fmt: skip


@handles("tcgen05")
def handle_tcgen05(e, ins):
    require_one_group(e, ins)
    handler = FORMS.get(ins.mods[0])
    if handler is None:
        e.fail("not supported")
    return handler(e, ins)
