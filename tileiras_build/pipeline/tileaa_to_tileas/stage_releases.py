"""Which of the dots that read one stage releases it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, parent_block
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConsumerReleaseOp, ConsumerWaitOp
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_async_mma
from ..analysis.op_queries import is_pure
from .rotate_mma_loop import BARRIER, is_scalar


def users_of_released_stage(dot: TableOp, ops: Iterable[Operation]) -> list[Operation]:
    """The operations among ``ops``, in order, on the stage that a dot releases."""
    if dot.pipeline is None:
        return []
    buffers = {
        value for use in dot.pipeline.uses for value in use.operation.operands if isinstance(value.type, BufferType)
    }
    return [op for op in ops if buffers & {value for inner in walk(op) for value in inner.operands}]


def previous_op(op: Operation) -> Operation | None:
    """The operation before another one, scalar operations left aside."""
    before = op.prev_op
    while before is not None and is_scalar(before):
        before = before.prev_op
    return before


def barrier_before(dot: Operation) -> list[Operation]:
    """The barrier before an MMA, with only scalar operations in between."""
    op = previous_op(dot)
    return [op] if op is not None and op.name == BARRIER else []


def needs_barrier(op: Operation) -> bool:
    """Whether what an operation does in memory needs a barrier behind it, before other threads rely on it."""
    orders_or_issues = is_async_mma(op) or isinstance(op, (ConsumerWaitOp, ConsumerReleaseOp)) or op.name == BARRIER
    return not (orders_or_issues or is_pure(op))


def erase_repeated_barriers(block: Block, orders_nothing: Callable[[Operation], bool]) -> None:
    """Erase the barriers of a block since the last of which ``orders_nothing`` holds for each operation, and that are of no more CTAs."""
    last: TableOp | None = None
    for op in list(block.ops):
        if op.name != BARRIER:
            last = last if orders_nothing(op) else None
        elif last is not None and (last.cluster or not as_op(op).cluster):
            op.detach()
            op.erase()
        else:
            last = as_op(op)


def may_release(readers: Sequence[Operation]) -> bool:
    """Whether the last of the operations on a stage can release it once it is complete, and they are."""
    last = as_op(readers[-1])
    return (
        is_async_mma(last) and last.pipeline is None and (all(map(is_async_mma, readers)) or bool(barrier_before(last)))
    )


def give_release(dot: TableOp, reader: TableOp) -> TableOp:
    """Let another reader of the stage release it in place of a dot; returns the dot in its place."""
    _with_operands(reader, pipeline=dot.pipeline, token=dot.token)
    return _with_operands(dot, pipeline=None, token=None)


def _with_operands(dot: TableOp, **operands: SSAValue | None) -> TableOp:
    given = {name: getattr(dot, name) for name, _ in dot.operand_groups} | operands
    new = type(dot).make(list(given.values()), [], dict(dot.attributes))
    parent_block(dot).insert_op_before(new, dot)
    dot.detach()
    dot.erase()
    return new
