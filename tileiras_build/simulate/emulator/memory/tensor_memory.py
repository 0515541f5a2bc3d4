"""Tensor memory of a batch of CTAs, and the asynchronous operations on it (PTX ISA 9.0, section 9.7.16).

Each CTA has 128 lanes x 512 columns of 32 bits, stored as (CTAs, columns, lanes): a matmul D^T = B A^T needs no
transposition, and a register of tcgen05.ld is a row of consecutive lanes.

mma, cp and commit are queued at their issue. They execute when a thread tests an mbarrier on which a later commit arrives
(``mbarrier_waits.py``): the latest moment that the ISA allows, so that a missing wait reads stale data. Until then, accesses
of their columns are faults. Columns are tracked by halves of 16 lanes of each 32, which MMAs of 64 rows use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import EmulatorFault
from ..isa.smem_matrix_descriptors import CHUNK
from ..jit.smem_chunk_copies import chunks_equal, gather
from ..matmul import gemm_jit
from ..matmul.matmul import BLAS_ORDER
from ..simt.broadcasting import are_all, is_any
from . import buffer_pool

LANES, COLUMNS, GRANULE = 128, 512, 32
POISON = np.uint32(0xFFFFFFFF)
BYTES = LANES * COLUMNS * 4
FREE = -1
MAX_BATCHED, MAX_BATCHED_LARGE = 16, 8  # operations that are executed together; more would exceed the CPU's caches


def tensor_memory_of(batch) -> TensorMemory:
    """The batch's tensor memory, created on first use."""
    if batch.memories.tensor_memory is None:
        batch.memories.tensor_memory = TensorMemory(batch)
    return batch.memories.tensor_memory


def fault(reporter, ins, why: str, cta: int, tid: int = 0, address: int | None = None, finding: str | None = None):
    """Raise a fault, or report a finding. ``reporter`` has the batch's geometry and findings (Observers)."""
    found = EmulatorFault(
        why,
        instruction=ins.text,
        line=ins.line,
        thread=reporter.geometry.thread_name(int(cta), int(tid)),
        address=address,
    )
    if finding is None:
        raise found
    reporter.findings.report(finding, found)


def _overlap(one, other, count: int) -> bool:
    """Whether two indices into ``count`` elements overlap."""
    mark = np.zeros(count, bool)
    mark[one] = True
    return is_any(mark[other])


class Span:
    """A run of columns of some CTAs: rows ``ctas`` (an index), ``halves`` of the lanes, columns [first, last)."""

    __slots__ = ("ctas", "first", "halves", "key", "last")

    def __init__(self, ctas, first: int, columns: int, halves=slice(None)):
        self.ctas, self.first, self.last, self.halves = ctas, first, first + columns, halves
        known = key_of(ctas)
        # Equal for spans of the same columns of the same CTAs; None if ``key_of`` has no key for the CTAs.
        self.key: tuple | None = None if known is None else (known, *halves.indices(2)[:2], first, self.last)

    def of(self, table: np.ndarray) -> np.ndarray:
        """The part of a (CTAs, 2, columns) table."""
        return table[self.ctas, self.halves, self.first : self.last]

    def shares_columns(self, other: Span) -> bool:
        return self.first < other.last and other.first < self.last

    def overlaps(self, other: Span, ctas: int) -> bool:
        if self.first >= other.last or other.first >= self.last:
            return False
        return _overlap(self.halves, other.halves, 2) and _overlap(self.ctas, other.ctas, ctas)

    def add(self, table: np.ndarray, amount) -> None:
        table[self.ctas, self.halves, self.first : self.last] += table.dtype.type(amount)


class Operation:
    """An asynchronous operation of some CTAs. ``writes`` and ``reads`` are Spans, ``ins`` its instruction."""

    ins: Any = None
    writes: tuple = ()
    reads: tuple = ()
    issuers: tuple[np.ndarray, int] = (np.zeros(0, np.int64), 0)  # (CTAs, index of the thread in each)
    is_commit = False  # a commit only marks a position in the queue
    place_key: tuple | None = None  # equal for operations with the same ordering requirements

    def run(self, tensor) -> None:
        raise NotImplementedError

    def committing_threads(self) -> Iterable[tuple[int, int]]:
        """The (CTA, thread index) of the threads that execute a commit."""
        return ()

    def has_accumulators_of(self, other) -> bool:
        """Whether both are MMAs with the same accumulators and shape."""
        return False

    def can_join(self, earlier) -> bool:
        """Whether this may execute together with the preceding operation, see ``run_batch``."""
        return False

    def run_joined(self, tensor, others) -> None:
        """Execute this operation and those that join it."""
        self.run(tensor)


class SharedSource:
    """Chunks of shared memory that an operation reads at some time between its issue and its completion.

    They must have the same contents at both times: data that arrives late, or is overwritten early, is a fault.
    """

    def __init__(self, batch, ins, what: str, ctas: np.ndarray, chunks: np.ndarray, issuers: tuple):
        """``issuers``: (issuing CTA for each CTA, index of the issuing thread)."""
        self.batch, self.ins, self.what, self.ctas = batch, ins, what, ctas
        self.starts = tensor_memory_of(batch).starts_of(ctas)
        self.chunks = np.ascontiguousarray(chunks, np.int64)
        self.issued: np.ndarray | None = self.fetch()
        if batch.observers.racecheck is not None:
            batch.observers.racecheck.tensor_reads(ins, self.index, *issuers)

    @property
    def index(self) -> np.ndarray:
        """The chunks in the batch's shared memory (CTAs, …)."""
        return self.starts.reshape(-1, *[1] * self.chunks.ndim) + self.chunks

    def fetch(self) -> np.ndarray:
        if not gemm_jit.is_ready():
            return np.ascontiguousarray(self.batch.memories.shared_view(np.complex128)[self.index])
        out = np.empty((len(self.starts), *self.chunks.shape), np.complex128)
        gather(self.batch.memories.shared, None, self.starts, self.chunks, out)
        return out

    def read(self) -> np.ndarray:
        """The bytes at completion (CTAs, …, 16)."""
        issued, self.issued = self.issued, None
        assert issued is not None  # an operation executes once
        if not (gemm_jit.is_ready() and chunks_equal(self.batch.memories.shared, self.starts, self.chunks, issued)):
            changed = (self.fetch().view(np.uint64) != issued.view(np.uint64)).reshape(len(self.ctas), -1).any(axis=1)
            if is_any(changed):
                why = f"shared memory of {self.what} changed between the issue of this instruction and its completion"
                fault(self.batch.observers, self.ins, why, self.ctas[int(np.argmax(changed))])
        return issued[..., None].view(np.uint8)


class TensorMemory:
    def __init__(self, batch):
        ctas, warps = batch.geometry.ctas, -(-batch.geometry.threads // 32)
        self.batch, self.warps = batch, warps
        self.cells = buffer_pool.acquire("tensor memory", ctas * BYTES).view(np.uint32).reshape(ctas, COLUMNS, LANES)
        self.owner = np.full((ctas, COLUMNS), FREE, np.int16)  # first column of the allocation that contains a column
        self.allocated: set[tuple] = set()  # keys of spans checked since the last deallocation
        self.sources: dict[int, object] = {}  # CTA -> its last alloc instruction
        self.permitted = np.ones(ctas, bool)
        self.largest = np.full(ctas, COLUMNS)  # upper bound of the next allocation
        self.writing = np.zeros((ctas, 2, COLUMNS), np.int16)  # queued operations that write
        self.reading = np.zeros((ctas, 2, COLUMNS), np.int16)
        self.loading = np.zeros((ctas, warps, 2, COLUMNS), bool)  # tcgen05.ld not waited for
        self.storing = np.zeros((ctas, warps, 2, COLUMNS), bool)
        # Warps with entries in these tables.
        self.marked = {id(table): np.zeros((ctas, warps), bool) for table in (self.loading, self.storing)}
        self.are_marked = dict.fromkeys(self.marked, False)
        # Entries not yet in these tables, because a wait often removes them soon.
        self.notes: dict[int, list[tuple[np.ndarray, np.ndarray, Span]]] = {number: [] for number in self.marked}
        self.apart: dict[tuple[int, ...], tuple] = {}  # see ``are_apart``
        self.uses: dict[tuple, int] = {}  # (table, key of a span) -> number of queued operations that use it
        self.known: dict[bytes, tuple[slice | np.ndarray, np.ndarray]] = {}  # see ``of_ctas``
        self.queue: list[Operation] = []
        self.issued = 0  # total number of issued operations
        self.ordered: dict[
            tuple, int
        ] = {}  # by ``place_key``: how many had been issued at the last look at their order
        self.requests: dict[int, tuple[int, int]] = {}  # CTA of a pair -> (columns, start if granted, else FREE)

    def rows_of(self, ctas: np.ndarray) -> slice | np.ndarray:
        """Like the function ``rows_of``, cached."""
        return self.of_ctas(ctas)[0]

    def starts_of(self, ctas: np.ndarray) -> np.ndarray:
        """The index of the first chunk of each CTA in the batch's shared memory."""
        return self.of_ctas(ctas)[1]

    def of_ctas(self, ctas: np.ndarray) -> tuple[slice | np.ndarray, np.ndarray]:
        key = ctas.tobytes()
        if (found := self.known.get(key)) is None:
            starts = np.asarray(ctas, np.int64) * (self.batch.memories.shared_size // CHUNK)
            found = self.known[key] = rows_of(ctas), starts
        return found

    # -- allocation ----------------------------------------------------------------------------------
    def find_free(self, ctas, columns: int) -> int:
        """The first column from which ``columns`` are free in all ``ctas``, else FREE."""
        free = (self.owner[ctas] == FREE).all(axis=0).reshape(-1, GRANULE).all(axis=1)
        need = columns // GRANULE
        for start in range(len(free) - need + 1):
            if are_all(free[start : start + need]):
                return start * GRANULE
        return FREE

    def allocate(self, cta: int, start: int, columns: int) -> None:
        self.owner[cta, start : start + columns] = start
        self.cells[cta, start : start + columns] = POISON

    def check_count(self, ins, cta: int, tid: int, columns: int) -> None:
        """Check the number of columns of alloc and dealloc."""
        if columns < GRANULE or columns > COLUMNS or columns & (columns - 1):
            fault(self.batch.observers, ins, f"{columns} columns: must be a power of two from 32 to 512", cta, tid)

    def release(self, ins, cta: int, tid: int, start: int, columns: int) -> None:
        self.check_count(ins, cta, tid, columns)
        held = np.flatnonzero(self.owner[cta] == start)
        if start >= COLUMNS or len(held) != columns or held[0] != start:
            fault(
                self.batch.observers,
                ins,
                f"no allocation of {columns} columns starts at this address",
                cta,
                tid,
                start,
            )
        span = Span(cta, start, columns)
        if self.queue and (is_any(span.of(self.writing)) or is_any(span.of(self.reading))):
            fault(self.batch.observers, ins, "operations on these columns have not been waited for", cta, tid, start)
        for table in (self.loading, self.storing):
            self.apply_marks(table)
        if self.are_marked[id(self.loading)] and is_any(self.loading[cta, :, :, start : start + columns]):
            why = "a tcgen05.ld of these columns has not been waited for"
            fault(self.batch.observers, ins, why, cta, tid, start, "load-not-waited")
        if self.are_marked[id(self.storing)] and is_any(self.storing[cta, :, :, start : start + columns]):
            fault(self.batch.observers, ins, "a tcgen05.st to these columns has not been waited for", cta, tid, start)
        self.owner[cta, start : start + columns] = FREE
        self.allocated.clear()

    def finish(self) -> None:
        """Check at the end of the batch that all columns are deallocated."""
        for cta in np.flatnonzero((self.owner != FREE).any(axis=1))[:1].tolist():
            count = int((self.owner[cta] != FREE).sum())
            fault(
                self.batch.observers,
                self.sources[cta],
                f"{count} columns of tensor memory are still allocated at exit",
                cta,
            )
        buffer_pool.release("tensor memory", self.cells)

    # -- checks --------------------------------------------------------------------------------------
    def require_allocated(self, ins, span: Span, ctas, what: str) -> None:
        """``ctas``: indices of the span's CTAs, or None to compute them if the span is not cached."""
        if (key := span.key if ctas is None else None) in self.allocated:
            return
        inside = span.first >= 0 and span.last <= COLUMNS
        if inside and are_all(self.owner[span.ctas, span.first : span.last] != FREE):
            if key is not None:
                self.allocated.add(key)
            return
        ctas, bad = self.ctas_of(span) if ctas is None else ctas, 0
        if inside:
            held = self.owner[np.asarray(ctas), span.first : span.last] != FREE
            bad = int(np.argmin(held.all(axis=1)))
        columns = f"columns {span.first} to {span.last - 1}"
        fault(self.batch.observers, ins, f"{what}: {columns} of tensor memory are not allocated", np.asarray(ctas)[bad])

    def mark(self, table: np.ndarray, ctas, warps, span: Span) -> None:
        """Record accesses of columns by warps, until their wait."""
        self.notes[id(table)].append((ctas, warps, span))

    def are_apart(self, some: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray]) -> bool:
        """Whether two sets of warps (CTAs, warps) are disjoint."""
        key = id(some[0]), id(some[1]), id(others[0]), id(others[1])
        if (found := self.apart.get(key)) is None:
            one, other = (set(zip(*(part.tolist() for part in warps))) for warps in (some, others))
            found = self.apart[key] = (
                one.isdisjoint(other),
                some,
                others,
            )  # retained, so that their ids are not reused
        return found[0]

    def apply_marks(self, table: np.ndarray) -> None:
        """Apply all pending marks to a table."""
        notes = self.notes[id(table)]
        for note in notes:
            self._enter(table, *note)
        notes.clear()

    def _enter(self, table: np.ndarray, ctas, warps, span: Span) -> None:
        table[ctas, warps, span.halves, span.first : span.last] = True
        self.marked[id(table)][ctas, warps] = self.are_marked[id(table)] = True

    def wait_done(self, table: np.ndarray, ctas, warps) -> None:
        """Clear the marks of warps after their wait."""
        if notes := self.notes[id(table)]:
            notes[:] = [note for note in notes if note[0] is not ctas or note[1] is not warps]
            if not all(self.are_apart((ctas, warps), note[:2]) for note in notes):
                self.apply_marks(table)
        if self.are_marked[id(table)]:
            marked = self.marked[id(table)]
            table[ctas, warps] = marked[ctas, warps] = False
            self.are_marked[id(table)] = is_any(marked)

    def ctas_of(self, span: Span) -> np.ndarray:
        """The CTAs of a span."""
        return np.arange(self.batch.geometry.ctas)[span.ctas]

    def require_no_pending(self, ins, span: Span, ctas, table, why: str) -> None:
        """Require no access in a (CTAs, 2, columns) or (CTAs, warps, 2, columns) table; ``ctas`` as in ``require_allocated``."""
        if (notes := self.notes.get(id(table))) and any(note[2].shares_columns(span) for note in notes):
            self.apply_marks(table)
        if not self.are_marked.get(id(table), True):
            return
        at = (span.ctas, slice(None), span.halves) if table.ndim == 4 else (span.ctas, span.halves)
        found = table[(*at, slice(span.first, span.last))]
        if is_any(found):
            rows = np.atleast_1d(np.asarray(self.ctas_of(span) if ctas is None else ctas))
            busy = found.reshape(len(rows), -1).any(axis=1)
            finding = "load-not-waited" if table is self.loading else None
            fault(self.batch.observers, ins, why, rows[int(np.argmax(busy))], address=span.first, finding=finding)

    # -- the queue -----------------------------------------------------------------------------------
    def issue(self, operation: Operation) -> None:
        for span in operation.writes:
            self.count_use(self.writing, span, 1)
        for span in operation.reads:
            self.count_use(self.reading, span, 1)
        self.queue.append(operation)
        self.issued += 1

    def unordered(self, operation: Operation) -> list[Operation]:
        """The operations in the queue whose order to this one has not been checked yet; marks them as checked."""
        key = operation.place_key
        if key is None:
            return self.queue
        since, self.ordered[key] = self.issued - self.ordered.get(key, 0), self.issued
        return self.queue[max(len(self.queue) - since, 0) :]

    def complete_commits(self, commits: Sequence[Operation]) -> None:
        """Execute all operations that precede commits, before a thread tests the mbarriers of the commits."""
        wanted = set(map(id, commits))
        for i in reversed(range(len(self.queue))):
            if id(self.queue[i]) in wanted:
                return self.run_first(self.reorder_for_commits(i + 1, wanted))

    def reorder_for_commits(self, count: int, wanted: set[int]) -> int:
        """Move those of the first ``count`` operations to the front that precede one of the commits ``wanted``; returns their number.

        A commit waits for operations of its own thread (9.7.16.12.1), and so for operations pipelined before them.
        """
        leading: list[Operation] = []
        others: list[Operation] = []
        threads: dict[int, set[int]] = {}  # index of a thread -> the CTAs in which it commits
        for operation in reversed(self.queue[:count]):
            if id(operation) in wanted:
                for cta, tid in operation.committing_threads():
                    threads.setdefault(tid, set()).add(cta)
            leads = _is_of(operation, threads) or any(self.is_ahead_of(operation, other) for other in leading)
            (leading if leads else others).append(operation)
        while others and others[-1].is_commit:  # all operations before it have executed
            others.pop()
        self.queue[:count] = [*reversed(leading), *reversed(others)]
        return len(leading)

    def is_ahead_of(self, operation: Operation, later: Operation) -> bool:
        """Whether an operation of another thread conflicts with a later one, and so executes first."""
        ctas = self.batch.geometry.ctas
        pairs = [(operation.writes, later.writes + later.reads), (operation.reads, later.writes)]
        return any(one.overlaps(other, ctas) for mine, theirs in pairs for one in mine for other in theirs)

    def run_first(self, count: int) -> None:
        """Execute the first ``count`` operations, combining those that can join.

        Combining changes no results, except for the rounding of BLAS, which depends on the sizes of matrices.
        """
        is_apart = self.batch.options.matmul_rounding == BLAS_ORDER
        most = MAX_BATCHED_LARGE if is_apart else MAX_BATCHED
        done, self.queue = self.queue[:count], self.queue[count:]
        some: list[Operation] = []
        for operation in done:
            if operation.is_commit and not is_apart:
                continue
            if some and not (len(some) < most and operation.can_join(some[-1])):
                self.run_batch(some)
                some = []
            some.append(operation)
        self.run_batch(some)

    def run_batch(self, some: list[Operation]) -> None:
        """Execute operations that join each other."""
        if some:
            some[0].run_joined(self, some[1:])
        for operation in some:
            self.complete(operation)

    def complete(self, operation: Operation) -> None:
        for span in operation.writes:
            self.count_use(self.writing, span, -1)
        for span in operation.reads:
            self.count_use(self.reading, span, -1)

    def count_use(self, table: np.ndarray, span: Span, more: int) -> None:
        """Add or remove a use of a span by an operation; the table has one entry for equal spans."""
        if span.key is None:
            return span.add(table, more)
        key = id(table), span.key
        before = self.uses.get(key, 0)
        self.uses[key] = after = before + more
        if not (before and after):
            span.add(table, more)


def _is_of(operation: Operation, threads: dict[int, set[int]]) -> bool:
    """Whether one of these threads (index -> CTAs) has issued an operation."""
    ctas, tid = operation.issuers
    return tid in threads and not threads[tid].isdisjoint(ctas.tolist())


# -- CTA pairs ---------------------------------------------------------------------------------------
def pair_of(batch, ins, ctas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(even, odd) CTAs of the pairs of ``ctas``: their ranks in the cluster differ in the last bit (9.7.16.5.1)."""
    geometry = batch.geometry
    if geometry.cluster_size % 2:
        fault(batch.observers, ins, "cta_group::2 needs a cluster of an even number of CTAs", ctas[0])
    rank = geometry.rank(ctas)
    even, odd = geometry.ctas_with_rank(ctas, rank & ~1), geometry.ctas_with_rank(ctas, rank | 1)
    if not are_all(batch.scheduler.are_ctas_alive(even) & batch.scheduler.are_ctas_alive(odd)):
        fault(batch.observers, ins, "the peer CTA has exited", ctas[0])
    return even, odd


def key_of(rows) -> object:
    """The result of ``rows_of`` as a key; None for other indices."""
    if isinstance(rows, slice):
        return rows.start, rows.stop
    return rows.tobytes() if isinstance(rows, np.ndarray) else None


def rows_of(ctas: np.ndarray):
    """CTA indices as an index: a slice if they are contiguous, which creates views instead of copies."""
    if len(ctas) and int(ctas[-1]) - int(ctas[0]) + 1 == len(ctas) and are_all(ctas[1:] > ctas[:-1]):
        return slice(int(ctas[0]), int(ctas[-1]) + 1)
    return ctas
