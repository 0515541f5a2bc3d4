"""Divide the loop of a matmul along k over the CTAs of a cluster, where a grid has too few tile programs for all SMs.

In:    nv_tileas without layouts; a kernel whose schedule requests ``split_k``, with a CTA for each tile program.
Out:   ``num_ctas`` on the kernel. Each CTA runs a contiguous part of the loop's iterations, by its rank; ``cluster_reduce``
       after the loop adds the accumulators of all CTAs. Each CTA has a shard of the result, and computes and stores the
       corresponding part of what follows. Kernels without the request are unchanged.
After: legalize_dot (operands of dots are final). Before: plan_cta_cluster, which divides the tiles of other kernels.
Sound: the loop only adds to accumulators that are zero before it, writes nothing, and carries nothing else; so the reduction of
       the parts is the loop's result, in another order of additions, always the same one. An empty part leaves zeros. What
       follows the loop is sharded by the rules of analysis/sharding_propagation; a kernel that they do not cover is refused.
"""

from __future__ import annotations

from ...ir.casting import as_op
from ...ir.dialects.op_definition import TableOp
from ..analysis.op_queries import has_dots
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.choose import Candidate, hear, is_listening
from ..schedule.schedule import BY_NAME
from ..schedule.schedule_attribute import schedule_of
from ..schedule.schedule_file import refusal
from .divided_k_loop import split


class SplitK(EdgePass):
    """Parts of a matmul's loop in the CTAs of a cluster."""

    name = "tileas-split-k"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        ctas = schedule_of(func).split_k or 1
        if is_listening() and has_dots(func):
            others = (each for each in BY_NAME["split_k"].values if isinstance(each, int) and each > 1)
            found = [Candidate(each, split(as_op(func.clone()), each, job)) for each in others]
            hear(func, "split_k", None if ctas == 1 else ctas, [Candidate(1)] * (ctas > 1) + found)
        if ctas > 1 and (reason := split(func, ctas, job)) is not None:
            raise refusal(job.schedule, "split_k", ctas, reason)
