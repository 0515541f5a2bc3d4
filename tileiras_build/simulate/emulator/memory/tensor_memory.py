"""Tensor memory of a batch of CTAs: its cells, their allocation, and the accesses of them that are not complete.

Each CTA has 128 lanes x 512 columns of 32 bits, stored as (CTAs, columns, lanes): a matmul D^T = B A^T needs no
transposition, and a register of tcgen05.ld is a row of consecutive lanes (PTX ISA 9.0, section 9.7.16). Accesses of columns
that a queued operation uses (``tcgen05_async_queue.py``) are faults. Columns are tracked by halves of 16 lanes of each 32,
which MMAs of 64 rows use.
"""

from __future__ import annotations

import numpy as np

from ..errors import fault_at, fault_of
from ..isa.smem_matrix_descriptors import CHUNK
from ..simt.broadcasting import are_all, is_any
from ..simt.geometry import Geometry
from . import buffer_pool

LANES, COLUMNS, GRANULE = 128, 512, 32
POISON = np.uint32(0xFFFFFFFF)
BYTES = LANES * COLUMNS * 4
FREE = -1


def tensor_memory_of(group) -> TensorMemory:
    """The tensor memory of a group's batch, created on first use."""
    if group.memories.tensor_memory is None:
        group.memories.tensor_memory = TensorMemory(group.geometry, group.observers, group.memories.shared_size)
    return group.memories.tensor_memory


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


class TensorMemory:
    def __init__(self, geometry: Geometry, observers, shared_size: int):
        ctas, warps = geometry.ctas, -(-geometry.threads // 32)
        self.geometry, self.observers, self.shared_size, self.warps = geometry, observers, shared_size, warps
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
            starts = np.asarray(ctas, np.int64) * (self.shared_size // CHUNK)
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
            fault_at(self.geometry, ins, (cta, tid), f"{columns} columns: must be a power of two from 32 to 512")

    def release(self, ins, cta: int, tid: int, start: int, columns: int) -> None:
        self.check_count(ins, cta, tid, columns)
        held = np.flatnonzero(self.owner[cta] == start)
        if start >= COLUMNS or len(held) != columns or held[0] != start:
            fault_at(
                self.geometry, ins, (cta, tid), f"no allocation of {columns} columns starts at this address", start
            )
        span = Span(cta, start, columns)
        if is_any(span.of(self.writing)) or is_any(span.of(self.reading)):
            fault_at(self.geometry, ins, (cta, tid), "operations on these columns have not been waited for", start)
        for table in (self.loading, self.storing):
            self.apply_marks(table)
        if self.are_marked[id(self.loading)] and is_any(self.loading[cta, :, :, start : start + columns]):
            why = "a tcgen05.ld of these columns has not been waited for"
            self.observers.findings.report("load-not-waited", fault_of(self.geometry, ins, (cta, tid), why, start))
        if self.are_marked[id(self.storing)] and is_any(self.storing[cta, :, :, start : start + columns]):
            fault_at(self.geometry, ins, (cta, tid), "a tcgen05.st to these columns has not been waited for", start)
        self.owner[cta, start : start + columns] = FREE
        self.allocated.clear()

    def finish(self) -> None:
        """Check at the end of the batch that all columns are deallocated."""
        for cta in np.flatnonzero((self.owner != FREE).any(axis=1))[:1].tolist():
            count = int((self.owner[cta] != FREE).sum())
            fault_at(
                self.geometry,
                self.sources[cta],
                (cta, 0),
                f"{count} columns of tensor memory are still allocated at exit",
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
        fault_at(
            self.geometry, ins, (np.asarray(ctas)[bad], 0), f"{what}: {columns} of tensor memory are not allocated"
        )

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
        return np.arange(self.geometry.ctas)[span.ctas]

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
            self.observers.findings.report(
                finding, fault_of(self.geometry, ins, (rows[int(np.argmax(busy))], 0), why, span.first)
            )

    # -- queued operations ---------------------------------------------------------------------------
    def count_use(self, table: np.ndarray, span: Span, more: int) -> None:
        """Add or remove a use of a span by an operation; the table has one entry for equal spans."""
        if span.key is None:
            return span.add(table, more)
        key = id(table), span.key
        before = self.uses.get(key, 0)
        self.uses[key] = after = before + more
        if not (before and after):
            span.add(table, more)


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
