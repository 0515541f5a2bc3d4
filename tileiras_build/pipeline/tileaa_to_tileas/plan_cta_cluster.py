"""Shard the tiles of a kernel over the CTAs of a cluster, as its hint ``num_cta_in_cga`` requests, or as a pair is faster.

In:    nv_tileas without layouts; a kernel whose hint requests several CTAs per tile program, or one without the hint that two
       CTAs compute in less time (``schedule/candidates.py``).
Out:   the program of one CTA: it computes its shards of sharded tiles, and loads and stores the corresponding part of
       the view's tile. Every CTA computes replicated tiles, and the first one stores them. ``num_ctas`` on the kernel, and in its
       schedule, or ``num_ctas_declined`` with the reason why one CTA computes everything although more were requested.
       ``cluster_barriers`` on a kernel of which tokens or memory semantics order accesses of several CTAs, if the hint requests them.
After: legalize_dot (operands of dots are final). Before: insert_token_barriers (which orders one CTA), assign_layouts.
Sound: the sharding follows the rules of analysis/sharding_propagation, under which no CTA needs another's shard.
       Accesses that tokens order are of the same shard of the same view, hence of one CTA, or a barrier of the cluster is between
       them. A store or an atomic that is not weak is executed once for each element, and its order holds for all CTAs, as such a barrier is
       before what releases and after what acquires. A kernel stays unsharded if it has other accesses that are not weak
       (CTAs could read different values), prints, or atomics that would execute more than once. It stays unsharded, too, where
       the threads of each CTA would compute the same right operand of a dot.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation

from ...ir.casting import as_op, tile_shape, unwrap
from ...ir.dialects.nv_tileas.ops import CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.op_queries import dots_in
from ..analysis.sharding_propagation import ShardingError
from ..analysis.stored_operands import is_computed_from_loads
from ..analysis.tma_operands import may_prefetch_in_loop, tma_loads_allowed
from ..common.cse import Cse
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.family import MmaFamily, Storage, fastest_family
from ..pass_manager import EdgePass
from ..schedule.candidates import Candidates
from ..schedule.choose import Candidate, hear, is_listening
from ..schedule.grid_clusters import SERIALIZERS
from ..schedule.schedule_attribute import schedule_of, set_knobs
from .op_insertion import insert_before
from .sharded_program import ShardedProgram
from .sharding_plan import best_sharding, duplicate_cheap_tiles, order_across_ctas, sharding_of

MAX_CLUSTER_CTAS = 8  # of a cluster, on every GPU with clusters
CLUSTER_CTAS = (2, 4, MAX_CLUSTER_CTAS)  # that --explain-schedule tries


class PlanCtaCluster(EdgePass):
    """Clusters of CTAs that share a tile program."""

    name = "tileas-plan-cta-cluster"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in map(as_op, filter(is_function, module.body.block.ops)):
            requested = schedule_of(func).num_ctas or hint(func, job, "num_cta_in_cga")
            may_divide = func.num_ctas is None and job.target.has("cluster")
            ctas = (requested or _cheapest_ctas(func, job)) if may_divide else 1
            if is_listening():
                hear(func, "num_ctas", None, _candidates(func, ctas, job))
            if ctas > 1:
                _shard_over_ctas(func, job, ctas, is_requested=requested is not None)
                Cse().run(module, job)
                set_knobs(func, num_ctas=func.num_ctas)
            elif schedule_of(func).num_ctas != 1:  # a request for 1 stays in the schedule
                set_knobs(func, num_ctas=None)


def _candidates(func: TableOp, chosen: int, job: Job) -> Iterator[Candidate[int]]:
    """The CTAs of a cluster that a schedule file may request."""
    if chosen > 1:
        yield Candidate(1)
    yield from (Candidate(ctas, _limit(func, ctas, job)) for ctas in CLUSTER_CTAS)


def _limit(func: TableOp, ctas: int, job: Job) -> str | None:
    """Why the tiles of a kernel are not divided among so many CTAs; None where they may be."""
    if not job.target.has("cluster"):
        return f"{job.target.name} has no clusters"
    if func.num_ctas is not None or (schedule_of(func).grid_cluster or 1) > 1:
        return "another cluster is asked for"
    divided = func.clone()
    duplicate_cheap_tiles(divided)
    try:
        _check_serializer(job)
        _check_right_operands(divided, ctas, job)
        sharding_of(divided, job, ctas, may_wait=True)
    except ShardingError as reason:
        return str(reason)
    return None


def _check_serializer(job: Job) -> None:
    if job.serializer not in SERIALIZERS:
        raise ShardingError(f"{job.serializer} does not support clusters")


def _check_right_operands(func: Operation, ctas: int, job: Job) -> None:
    """Raise ShardingError where the threads of each CTA would compute a right operand that those of one CTA compute once, unless pairs of CTAs
    compute halves of it.
    """
    family = fastest_family(job.target)
    if not tma_loads_allowed(func):
        return
    written = [dot for dot in dots_in(func) if _needs_written_rhs(dot, family, job)]
    if not all(family.gains_by_pairs_of_rows(dot, ctas, job) for dot in written):
        raise ShardingError(f"threads of a cluster would each compute a whole right operand for {family.name}")


def _needs_written_rhs(dot: TableOp, family: MmaFamily, job: Job) -> bool:
    """Whether a family multiplies the tile of a dot, but reads its right operand only where threads write it."""
    if (
        Storage.SHARED not in family.b_storage
        or family.row_for(dot, job.target) is None
        or not may_prefetch_in_loop(dot)
    ):
        return False
    rows, columns = family.tile_steps[0]
    m, n = tile_shape(dot.result)
    is_computed = dot_operand_load(dot, 1) is None and is_computed_from_loads(dot, 1)
    return is_computed and m % rows == 0 and n % columns == 0


def _cheapest_ctas(func: TableOp, job: Job) -> int:
    """Of the cheapest whole schedule of a kernel that no hint divides."""
    found = Candidates.of(func, job)
    best = None if found is None else found.best_of_clusters()
    return 1 if best is None else best.schedule.num_ctas or 1


def _shard_over_ctas(func: Operation, job: Job, ctas: int, *, is_requested: bool) -> None:
    duplicate_cheap_tiles(func)
    try:
        _check_serializer(job)
        _check_right_operands(func, ctas, job)
        sharding = best_sharding(func, job, min(ctas, MAX_CLUSTER_CTAS), may_wait=is_requested)
    except ShardingError as reason:
        as_op(func).num_ctas_declined = str(reason) if is_requested else None
    else:
        as_op(func).cluster_barriers = order_across_ctas(func, sharding) is not None
        rank = insert_before(CtaRankOp.make([], [i32]), unwrap(func.regions[0].blocks[0].first_op))
        ShardedProgram(func, sharding, rank).run()
        as_op(func).num_ctas = sharding.ctas
