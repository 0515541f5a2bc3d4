"""Which operations on tensor memory are ordered by themselves (PTX ISA 9.0, section 9.7.16.6.2, pipelined instructions).

Those of one thread may be executed in any order, but for pairs that form a pipeline: a copy and an MMA behind it, two
MMAs with the same accumulators and shape. Others that touch the same columns, one of them to write there, need a commit
between them that has been waited for.

One thing is let pass that the ISA leaves open: an MMA whose sum overwrites what an earlier product of the thread reads. Attention
kernels of every make multiply by a left operand that lies in the columns of the next sum, and issue both without a wait.
"""

from __future__ import annotations

from ..memory.tensor_memory import Operation, Span, fault
from ..simt.broadcasting import is_any

WRITES, READS = "writes", "reads"
SMALL_QUEUE = 3  # operations that are looked at as fast as a table that says whether one of them may be in the way
UNORDERED_FINDINGS = {
    ("mma", "cp"): "copy-not-ordered",
    ("cp", "cp"): "copy-not-ordered",
}  # hardware carries these out in turn


def require_order(memory, operation: Operation, ctas, tid: int) -> None:
    """No earlier operation that need not be done uses what this one writes, or writes what it reads."""
    queue = [earlier for earlier in memory.unordered(operation) if not earlier.is_commit]
    is_long = len(queue) > SMALL_QUEUE
    for span in operation.reads if queue else ():
        if not is_long or is_any(span.of(memory.writing)):
            _look(memory, queue, operation, span, "reads", (WRITES,), ctas, tid)
    for span in operation.writes if queue else ():
        if not is_long or is_any(span.of(memory.writing)) or is_any(span.of(memory.reading)):
            _look(memory, queue, operation, span, "overwrites", (WRITES, READS), ctas, tid)


def _look(
    memory, queue: list[Operation], operation: Operation, span: Span, does: str, uses: tuple[str, ...], ctas, tid: int
) -> None:
    """Fault where an earlier operation uses columns of a span, and is in no pipeline with this one."""
    batch, name = memory.batch, operation.ins.mods[0]
    for earlier in queue:
        for use in uses:
            others = () if _is_pipelined(earlier, use, operation, does) else getattr(earlier, use)
            if any(span.overlaps(other, batch.geometry.ctas) for other in others):
                before = earlier.ins.mods[0]
                why = f"an earlier tcgen05.{before} still {use} what this one {does} in tensor memory: wait for its commit first"
                fault(
                    batch.observers,
                    operation.ins,
                    why,
                    ctas[0],
                    tid,
                    span.first,
                    UNORDERED_FINDINGS.get((before, name)),
                )
                return


def _is_pipelined(earlier: Operation, use: str, later: Operation, does: str) -> bool:
    """Whether what the earlier operation does comes before what the later one does in the same columns."""
    if (pair := (earlier.ins.mods[0], later.ins.mods[0])) != ("mma", "mma"):
        return pair == ("cp", "mma")
    return use == READS or (does == "overwrites" and later.has_accumulators_of(earlier))
