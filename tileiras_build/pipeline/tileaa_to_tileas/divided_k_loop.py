"""The loop along k of a matmul, divided over the CTAs of a cluster: where that is possible, and the rewriting (``split_k.py``)."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ...ir.casting import as_op, parent_block, parent_op, tile_shape, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ClusterReduceOp, CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_atomic_rmw, is_counted_loop, is_store
from ..analysis.enclosing_control_flow import has_no_early_exit, is_zero, only_accumulates
from ..analysis.integer_ranges import constant_of
from ..analysis.op_queries import dots_in, has_dots, is_tile
from ..analysis.scalar_slice import TOKEN
from ..analysis.sharding_propagation import Sharding, ShardingError
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint
from ..job import Job
from ..rewriting.arith_builder import ArithBuilder
from ..rewriting.folding_builder import Value
from ..schedule.grid_clusters import grid_cluster_limit
from ..schedule.schedule_attribute import schedule_of
from .sharded_program import ShardedProgram
from .sharding_plan import check_accesses, check_executed_once, duplicate_cheap_tiles

ACCUMULATOR_BITS = 32


def split(func: TableOp, ctas: int, job: Job) -> str | None:
    """Divide the loop of a kernel; the reason why it has none that can be divided. The kernel may then be changed in part."""
    if (reason := _cluster_limit(func, job)) is not None:
        return reason
    loops = [as_op(op) for op in func.regions[0].blocks[0].ops if has_dots(op)]
    if len(loops) != 1:
        return "the kernel has no loop with all of its dots, once for each tile program"
    if (reason := _loop_limit(loops[0])) is not None:
        return reason
    try:
        _split_loop(func, loops[0], ctas)
    except ShardingError as failed:
        return f"what follows the loop cannot be divided: {failed}"
    func.num_ctas = ctas
    return None


# ---- what is legal ---------------------------------------------------------------------------------
def _cluster_limit(func: TableOp, job: Job) -> str | None:
    """Why the CTAs of a cluster cannot have a tile program of this kernel."""
    schedule = schedule_of(func)
    asked = (schedule.num_ctas, schedule.grid_cluster, hint(func, job, "num_cta_in_cga"))
    if max(each or 1 for each in asked) > 1:
        return "another cluster is asked for"
    return grid_cluster_limit(func, job)[0]


def _loop_limit(loop: TableOp) -> str | None:
    """Why the iterations of a loop cannot be divided."""
    dots = dots_in(loop)
    if not is_counted_loop(loop) or not has_no_early_exit(loop) or loop.unsigned or loop.lower.type != i32:
        return "the loop of its dots is not counted in i32, or may be left early"
    if any(parent_op(dot) is not loop or dot.lhs_scale is not None for dot in dots):
        return "a dot is inside of a loop or a branch of its own, or has block scales"
    if any(is_store(op) or is_atomic_rmw(op) for op in walk(loop)):
        return "the loop of its dots writes memory"
    carried = [index for index, result in enumerate(loop.results) if is_tile(result)]
    scalars = [result for result in loop.results if not is_tile(result) and result.type.name != TOKEN]
    if scalars or len(carried) != len(dots) or not all(map(only_accumulates, dots)):
        return "the loop of its dots carries more than their accumulators"
    if not all(is_zero(loop.initial[index]) for index in carried):
        return "an accumulator is not zero before the loop; add to it after the loop"
    if any(element_of(loop.results[index].type).bits != ACCUMULATOR_BITS for index in carried):
        return f"an accumulator has not {ACCUMULATOR_BITS} bits"
    return None


# ---- rewriting -------------------------------------------------------------------------------------
def _split_loop(func: TableOp, loop: TableOp, ctas: int) -> None:
    """Let each CTA run its part of a loop, and the rest of the kernel on its shard of the result; may raise ShardingError."""
    check_executed_once(func)
    b = ArithBuilder.before(unwrap(func.regions[0].blocks[0].first_op))
    rank = b.insert(CtaRankOp.make([], [i32]))
    _divide(loop, rank, ctas)
    reduced = [_reduce(loop, result) for result in loop.results if is_tile(result)]
    duplicate_cheap_tiles(func)
    sharding = _sharding(func, reduced, ctas)
    for op in reduced:
        op.dim = sharding.dims[op.result]
    ShardedProgram(func, sharding, rank).run()


def _divide(loop: TableOp, rank: SSAValue, ctas: int) -> None:
    """Bounds of the part of a loop that a CTA runs: as many iterations in each, but for the last ones."""
    b = ArithBuilder.before(loop)
    lower, upper, step = (_known(value) for value in (loop.lower, loop.upper, loop.step))
    iterations = b.div(b.add(b.sub(upper, lower), b.sub(step, 1)), step)
    part = b.mul(b.div(b.add(iterations, ctas - 1), ctas), step)
    start = b.add(lower, b.mul(rank, part))
    end = b.of(b.add(start, part), i32)
    loop.operands[0] = b.of(start, i32)
    loop.operands[1] = b.select(b.compare("slt", end, loop.upper), end, loop.upper)


def _known(value: SSAValue) -> Value:
    found = constant_of(value)
    return value if found is None else found


def _reduce(loop: TableOp, result: SSAValue) -> TableOp:
    op = ClusterReduceOp.make([result], [result.type], dim=0)
    parent_block(loop).insert_op_after(op, loop)
    result.replace_uses_with_if(op.result, lambda use: use.operation is not op)
    return op


def _sharding(func: TableOp, reduced: list[TableOp], ctas: int) -> Sharding:
    """Shards of the reduced accumulators and of all that depends on them: columns, which are in registers of a thread, else other dimensions.
    Raises ShardingError.
    """
    reason: ShardingError | None = None
    for dim in reversed(range(len(tile_shape(reduced[0].result)))):
        found = Sharding(ctas)
        try:
            for op in reduced:
                found.shard(op, op.result, dim)
            check_accesses(func, found)
        except ShardingError as failed:
            reason = reason or failed
        else:
            return found
    raise unwrap(reason)
