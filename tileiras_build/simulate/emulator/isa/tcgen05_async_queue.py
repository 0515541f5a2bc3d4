"""The queue of asynchronous tcgen05 operations: mma, cp and commit (PTX ISA 9.0, section 9.7.16).

Operations are queued at their issue. They execute when a thread tests an mbarrier on which a later commit arrives
(``mbarrier_waits.py``): the latest moment that the ISA allows, so that a missing wait reads stale data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import fault_at
from ..matmul.matmul import BLAS_ORDER
from ..memory.tensor_memory import TensorMemory, tensor_memory_of
from ..native.native_code import is_ready
from ..native.smem_chunk_copies import chunks_equal, gather
from ..simt.broadcasting import are_all, is_any

MAX_BATCHED, MAX_BATCHED_LARGE = 16, 8  # operations that are executed together; more would exceed the CPU's caches


def async_queue_of(group) -> Tcgen05AsyncQueue:
    """The queue of a group's batch, created on first use."""
    if group.memories.tcgen05_queue is None:
        rounding = group.options.matmul_rounding
        group.memories.tcgen05_queue = Tcgen05AsyncQueue(tensor_memory_of(group), rounding)
    return group.memories.tcgen05_queue


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

    def __init__(self, group, ins, what: str, ctas: np.ndarray, chunks: np.ndarray, issuers: tuple):
        """``issuers``: (issuing CTA for each CTA, index of the issuing thread)."""
        self.memories, self.observers, self.ins, self.what, self.ctas = group.memories, group.observers, ins, what, ctas
        self.starts = tensor_memory_of(group).starts_of(ctas)
        self.chunks = np.ascontiguousarray(chunks, np.int64)
        self.issued: np.ndarray | None = self.fetch()
        if self.observers.racecheck is not None:
            self.observers.racecheck.shared_memory.tcgen05_reads(ins, self.index, *issuers)

    @property
    def index(self) -> np.ndarray:
        """The chunks in the batch's shared memory (CTAs, …)."""
        return self.starts.reshape(-1, *[1] * self.chunks.ndim) + self.chunks

    def fetch(self) -> np.ndarray:
        if not is_ready():
            return np.ascontiguousarray(self.memories.shared_view(np.complex128)[self.index])
        out = np.empty((len(self.starts), *self.chunks.shape), np.complex128)
        gather(self.memories.shared, None, self.starts, self.chunks, out)
        return out

    def read(self) -> np.ndarray:
        """The bytes at completion (CTAs, …, 16)."""
        issued, self.issued = self.issued, None
        assert issued is not None  # an operation executes once
        if not (is_ready() and chunks_equal(self.memories.shared, self.starts, self.chunks, issued)):
            changed = (self.fetch().view(np.uint64) != issued.view(np.uint64)).reshape(len(self.ctas), -1).any(axis=1)
            if is_any(changed):
                why = f"shared memory of {self.what} changed between the issue of this instruction and its completion"
                fault_at(self.observers.geometry, self.ins, (self.ctas[int(np.argmax(changed))], 0), why)
        return issued[..., None].view(np.uint8)


class Tcgen05AsyncQueue:
    """The operations of one batch that have been issued and not executed, in the order of issue."""

    def __init__(self, memory: TensorMemory, rounding: str):
        self.memory, self.rounding = memory, rounding
        self.operations: list[Operation] = []
        self.issued = 0  # total number of issued operations
        # By ``place_key``: how many had been issued at the last look at their order.
        self.ordered: dict[tuple, int] = {}

    def issue(self, operation: Operation) -> None:
        for span in operation.writes:
            self.memory.count_use(self.memory.writing, span, 1)
        for span in operation.reads:
            self.memory.count_use(self.memory.reading, span, 1)
        self.operations.append(operation)
        self.issued += 1

    def unordered(self, operation: Operation) -> list[Operation]:
        """The operations in the queue whose order to this one has not been checked yet; marks them as checked."""
        key = operation.place_key
        if key is None:
            return self.operations
        since, self.ordered[key] = self.issued - self.ordered.get(key, 0), self.issued
        return self.operations[max(len(self.operations) - since, 0) :]

    def complete_commits(self, commits: Sequence[Operation]) -> None:
        """Execute all operations that precede commits, before a thread tests the mbarriers of the commits."""
        wanted = set(map(id, commits))
        for i in reversed(range(len(self.operations))):
            if id(self.operations[i]) in wanted:
                return self.run_first(self.reorder_for_commits(i + 1, wanted))

    def reorder_for_commits(self, count: int, wanted: set[int]) -> int:
        """Move those of the first ``count`` operations to the front that precede one of the commits ``wanted``; returns their number.

        A commit waits for operations of its own thread (9.7.16.12.1), and so for operations pipelined before them.
        """
        leading: list[Operation] = []
        others: list[Operation] = []
        threads: dict[int, set[int]] = {}  # index of a thread -> the CTAs in which it commits
        for operation in reversed(self.operations[:count]):
            if id(operation) in wanted:
                for cta, tid in operation.committing_threads():
                    threads.setdefault(tid, set()).add(cta)
            leads = _is_of(operation, threads) or any(self.is_ahead_of(operation, other) for other in leading)
            (leading if leads else others).append(operation)
        while others and others[-1].is_commit:  # all operations before it have executed
            others.pop()
        self.operations[:count] = [*reversed(leading), *reversed(others)]
        return len(leading)

    def is_ahead_of(self, operation: Operation, later: Operation) -> bool:
        """Whether an operation of another thread conflicts with a later one, and so executes first."""
        ctas = self.memory.geometry.ctas
        pairs = [(operation.writes, later.writes + later.reads), (operation.reads, later.writes)]
        return any(one.overlaps(other, ctas) for mine, theirs in pairs for one in mine for other in theirs)

    def run_first(self, count: int) -> None:
        """Execute the first ``count`` operations, combining those that can join.

        Combining changes no results, except for the rounding of BLAS, which depends on the sizes of matrices.
        """
        is_apart = self.rounding == BLAS_ORDER
        most = MAX_BATCHED_LARGE if is_apart else MAX_BATCHED
        done, self.operations = self.operations[:count], self.operations[count:]
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
            some[0].run_joined(self.memory, some[1:])
        for operation in some:
            self.complete(operation)

    def complete(self, operation: Operation) -> None:
        for span in operation.writes:
            self.memory.count_use(self.memory.writing, span, -1)
        for span in operation.reads:
            self.memory.count_use(self.memory.reading, span, -1)


def _is_of(operation: Operation, threads: dict[int, set[int]]) -> bool:
    """Whether one of these threads (index -> CTAs) has issued an operation."""
    ctas, tid = operation.issuers
    return tid in threads and not threads[tid].isdisjoint(ctas.tolist())


# -- CTA pairs ---------------------------------------------------------------------------------------
def pair_of(group, ins, ctas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(even, odd) CTAs of the pairs of ``ctas``: their ranks in the cluster differ in the last bit (9.7.16.5.1)."""
    geometry = group.geometry
    if geometry.cluster_size % 2:
        fault_at(group.geometry, ins, (ctas[0], 0), "cta_group::2 needs a cluster of an even number of CTAs")
    rank = geometry.rank(ctas)
    even, odd = geometry.ctas_with_rank(ctas, rank & ~1), geometry.ctas_with_rank(ctas, rank | 1)
    if not are_all(group.scheduler.are_ctas_alive(even) & group.scheduler.are_ctas_alive(odd)):
        fault_at(group.geometry, ins, (ctas[0], 0), "the peer CTA has exited")
    return even, odd
