"""A kernel's program as a loop over equal slices of its tiles."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region

from ...ir.casting import terminator
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ..analysis.enclosing_control_flow import early_returns
from ..analysis.op_queries import is_pure, is_tile, may_divide_by_zero, may_end
from ..analysis.sharding_propagation import Sharding, ShardingError
from ..common.cse import eliminate_dead_code
from ..common.nest_early_returns import nest_early_returns
from ..job import Job
from .op_insertion import insert_before, insertion_before
from .sharded_program import ShardedProgram
from .sharding_plan import duplicate_cheap_tiles, sharding_of

ContinueOp, ForOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("continue", "for", "yield"))


def slices_of(func: Operation, slices: int, job: Job, dim: int | None = None) -> Sharding | None:
    """How the tiles of a kernel are divided into ``slices``, those that it stores along ``dim`` if it is given; None where they
    are not independent. Early returns become branches.
    """
    duplicate_cheap_tiles(func)
    nest_early_returns(func.regions[0].blocks[0], YieldOp)
    if early_returns(func):
        return None  # the return in one iteration would end all iterations
    try:
        return sharding_of(func, job, slices, dim)
    except ShardingError:
        return None


def slice_program(func: Operation, sharding: Sharding) -> None:
    """Compute one slice in each iteration of a loop around the program."""
    body = _loop_over_slices(func, sharding.ctas)
    ShardedProgram(func, sharding, body.args[0]).run()
    eliminate_dead_code(func.regions[0].blocks[0])  # whole tiles that were replaced by slices


def _loop_over_slices(func: Operation, slices: int) -> Block:
    """The body of a loop over ``slices`` around all that may differ between slices."""
    entry, body = func.regions[0].blocks[0], Block(arg_types=[i32])
    moved, may_have_ended = set[Operation](), False
    for op in list(entry.ops)[:-1]:
        if not _is_slice_invariant(op, moved) or (may_have_ended and may_divide_by_zero(op)):
            moved.add(op)
            may_have_ended = may_have_ended or may_end(op)
            op.detach()
            body.add_op(op)
    last = terminator(entry)
    bounds = [insertion_before(last).constant(number) for number in (0, slices, 1)]
    body.add_op(ContinueOp.make([[]], []))
    insert_before(ForOp.make([*bounds, []], [], {}, [Region(body)]), last)
    return body


def _is_slice_invariant(op: Operation, moved: set[Operation]) -> bool:
    """Whether an operation is pure, has no tiles, and depends on nothing that was moved."""
    if not is_pure(op) or op.regions or any(is_tile(value) for value in (*op.operands, *op.results)):
        return False
    return not any(value.owner in moved for value in op.operands)
