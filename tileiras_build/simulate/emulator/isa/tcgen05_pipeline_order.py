"""The implicit order of tcgen05 operations (PTX ISA 9.0, section 9.7.16.6.2, pipelined instructions).

Operations of one thread may execute in any order, except pairs that form a pipeline: a copy and a later MMA, or two MMAs
with the same accumulators and shape. Other conflicting operations on the same columns need a commit and a wait between them.

One case that the ISA leaves open is accepted: an MMA whose accumulator overwrites the left operand of an earlier MMA of the
same thread. Common attention kernels place the left operand in the columns of the next accumulator, without a wait.
"""

from __future__ import annotations

from ..errors import fault_of
from ..memory.tensor_memory import Span, TensorMemory
from ..simt.broadcasting import is_any
from .tcgen05_async_queue import Operation, Tcgen05AsyncQueue

WRITES, READS = "writes", "reads"
SMALL_QUEUE = 3  # operations up to which a linear search is as fast as a table
UNORDERED_FINDINGS = {
    ("mma", "cp"): "copy-not-ordered",
    ("cp", "cp"): "copy-not-ordered",
}  # hardware executes these in order


def require_order(queue: Tcgen05AsyncQueue, operation: Operation, ctas, tid: int) -> None:
    """Require that no earlier operation in flight conflicts with this one."""
    memory, queued = queue.memory, [earlier for earlier in queue.unordered(operation) if not earlier.is_commit]
    is_long = len(queued) > SMALL_QUEUE
    for span in operation.reads if queued else ():
        if not is_long or is_any(span.of(memory.writing)):
            _look(memory, queued, operation, span, "reads", (WRITES,), ctas, tid)
    for span in operation.writes if queued else ():
        if not is_long or is_any(span.of(memory.writing)) or is_any(span.of(memory.reading)):
            _look(memory, queued, operation, span, "overwrites", (WRITES, READS), ctas, tid)


def _look(
    memory: TensorMemory,
    queued: list[Operation],
    operation: Operation,
    span: Span,
    does: str,
    uses: tuple[str, ...],
    ctas,
    tid: int,
) -> None:
    """Report an earlier operation that uses columns of a span and is not pipelined with this one."""
    name = operation.ins.mods[0]
    for earlier in queued:
        for use in uses:
            others = () if _is_pipelined(earlier, use, operation, does) else getattr(earlier, use)
            if any(span.overlaps(other, memory.geometry.ctas) for other in others):
                before = earlier.ins.mods[0]
                why = f"an earlier tcgen05.{before} still {use} columns of tensor memory that this one {does}: wait for its commit first"
                memory.observers.findings.report(
                    UNORDERED_FINDINGS.get((before, name)),
                    fault_of(memory.geometry, operation.ins, (ctas[0], tid), why, span.first),
                )
                return


def _is_pipelined(earlier: Operation, use: str, later: Operation, does: str) -> bool:
    """Whether the earlier access of the same columns is ordered before the later one."""
    if (pair := (earlier.ins.mods[0], later.ins.mods[0])) != ("mma", "mma"):
        return pair == ("cp", "mma")
    return use == READS or (does == "overwrites" and later.has_accumulators_of(earlier))
