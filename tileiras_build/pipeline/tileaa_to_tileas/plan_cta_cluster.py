"""Shard the tiles of a kernel over the CTAs of a cluster, as its hint ``num_cta_in_cga`` asks.

In:    nv_tileas without layouts; a kernel whose hint asks for several CTAs for each tile program.
Out:   the program of one of them: divided tiles are that CTA's parts, loads and stores of them go to its part of the
       view's tile, what is not divided is computed in each CTA and stored by the first. ``num_ctas`` on the kernel, or
       ``num_ctas_declined``, the reason why one CTA has it all.
After: legalize_dot (operands of dots are final). Before: insert_barriers (its barriers are those of one CTA),
       assign_layouts.
Sound: a division follows the rules of analysis/sharding_propagation, under which no CTA needs another's part. Memory that the
       program accesses in an order (by tokens) is accessed there by one CTA only: both tiles are the same part of
       the same view. Accesses that other programs may see in the middle (not weak), prints and atomics that would
       happen more than once leave the kernel whole.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation

from ...ir.casting import as_op, unwrap
from ...ir.dialects.nv_tileas.ops import CtaRankOp
from ...ir.dialects.op_traits import is_function
from ..analysis.sharding_propagation import ShardingError
from ..common.cse import Cse
from ..common.optimization_hints import hint
from ..job import Job
from ..pass_manager import EdgePass
from .op_insertion import insert_before
from .sharded_program import ShardedProgram
from .sharding_plan import best_sharding, duplicate_cheap_tiles

SERIALIZERS = ("nvptx",)  # libNVVM's LLVM 7 has neither the registers nor the directives of clusters
MAX_CLUSTER_CTAS = 8  # of a cluster on every GPU that has them


class PlanCtaCluster(EdgePass):
    """Clusters of CTAs that share a tile program."""

    name = "tileas-plan-cta-cluster"

    def run(self, module: ModuleOp, job: Job) -> None:
        asking = [func for func in module.body.block.ops if _requested_ctas(func, job) > 1]
        if not asking or not job.target.has("cluster"):
            return
        for func in asking:
            _shard_over_ctas(func, job)
        Cse().run(module, job)


def _requested_ctas(func: Operation, job: Job) -> int:
    return hint(func, job, "num_cta_in_cga") or 1 if is_function(func) else 1


def _shard_over_ctas(func: Operation, job: Job) -> None:
    duplicate_cheap_tiles(func)
    try:
        if job.serializer not in SERIALIZERS:
            raise ShardingError(f"{job.serializer} knows no clusters")
        division = best_sharding(func, job, min(_requested_ctas(func, job), MAX_CLUSTER_CTAS))
    except ShardingError as reason:
        as_op(func).num_ctas_declined = str(reason)
    else:
        rank = insert_before(CtaRankOp.make([], [i32]), unwrap(func.regions[0].blocks[0].first_op))
        ShardedProgram(func, division, rank).run()
        as_op(func).num_ctas = division.ctas
