"""Let neighbouring tile programs of the grid share loads: each runs in a CTA of its own, ``grid_cluster`` of them in a cluster.

In:    nv_tileas without layouts; a kernel whose schedule requests ``grid_cluster``, with a CTA for each tile program.
Out:   ``num_ctas`` and ``grid_cluster`` on the kernel, whose grid counts CTAs. A program id along axis 0 is that of the
       cluster, times its CTAs, plus the rank; so later passes see which tiles all programs of a cluster load, for multicast
       or MMAs of CTA pairs.
After: plan_cta_cluster (a tile program has one CTA). Before: all passes that ask for the CTAs of a cluster.
Sound: the program ids are those of the CTAs, as clusters are neighbours along x (CUDA C++ Programming Guide, "Thread Block
       Clusters"). A launch whose extent is no multiple of the cluster fails. Passes that let CTAs share tiles check that their
       loops do not depend on the rank; a program that returns early would not take part, so such kernels are refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import i32

from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.fast_xdsl import replace_uses, walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, CtaRankOp
from ...ir.dialects.op_definition import TableOp
from ..analysis.op_queries import has_dots
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.arith_builder import ArithBuilder
from ..schedule.choose import Candidate, hear, is_listening
from ..schedule.grid_clusters import grid_cluster_limit
from ..schedule.schedule import BY_NAME
from ..schedule.schedule_attribute import schedule_of
from ..schedule.schedule_file import refusal

ProgramIdOp, NumProgramsOp = (COUNTERPARTS[f"nv_tileaa.get_{name}"] for name in ("program_id", "num_programs"))


class ClusterGrid(EdgePass):
    """Clusters of tile programs."""

    name = "tileas-cluster-grid"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        ctas = schedule_of(func).grid_cluster or 1
        if is_listening() and has_dots(func):
            hear(func, "grid_cluster", None, _candidates(func, job))
        if ctas > 1:
            _check(func, ctas, job)
            _cluster(func, ctas)


def _candidates(func: TableOp, job: Job) -> Iterator[Candidate[int]]:
    """The clusters that a schedule file may request."""
    reason, remedy = grid_cluster_limit(func, job)
    yield from (Candidate(int(ctas), reason, remedy) for ctas in BY_NAME["grid_cluster"].values if ctas != 1)


def _check(func: TableOp, ctas: int, job: Job) -> None:
    """Raise InvalidInput[schedule-refused] for a kernel whose grid cannot have clusters."""
    reason, remedy = grid_cluster_limit(func, job)
    if reason is not None:
        raise refusal(job.schedule, "grid_cluster", ctas, reason, remedy)


def _cluster(func: TableOp, ctas: int) -> None:
    b = ArithBuilder.before(unwrap(func.regions[0].blocks[0].first_op))
    rank = b.insert(CtaRankOp.make([], [i32]))
    queries = [op for op in walk(func) if isinstance(op, ProgramIdOp | NumProgramsOp) and as_op(op).axis == 0]
    for op in queries:
        clusters = b.binary("mul", b.insert(type(op).make([], [i32], axis=0)), ctas)
        replace_uses(op.results[0], b.binary("add", clusters, rank) if isinstance(op, ProgramIdOp) else clusters)
    for op in queries:
        parent_block(op).erase_op(op)
    func.num_ctas = func.grid_cluster = ctas
