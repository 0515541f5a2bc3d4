"""Keep the accumulators of chained dots in tensor memory, so that two tiles of 128 rows share an SM.

In:    nv_tileas dots without layouts, in kernels whose dots are all chained (``chained_dots.py``): the result of the
       first dot becomes the left operand of the second, whose accumulator is rescaled in each iteration.
Out:   ``rescaled`` on the second dot: its accumulator stays in tensor memory, and its left operand overwrites the
       accumulator of the first dot after it was read. ``stationary`` on the first dot: its left operand is loaded before
       the loop and stays in shared memory. ``mma`` on both, ``tma`` on the loads. On the kernel, ``num_warps`` (one thread
       per row), ``query_tiles`` if a CTA has two tiles of 128 rows, and ``occupancy`` if two CTAs have one each.
After: select_mma_and_tma (whose choice it replaces). Before: expand_block_scales, assign_layouts.
Sound: rescaling by 1 is exact. A thread overwrites only the scores of its own row, which it already holds in registers.
       The MMAs of one thread (``mma_issuer.py``) execute in the order of issue, so the next scores are written
       after the dot that reads what they overwrite. Each tile of 128 rows has columns of its own.
"""

from __future__ import annotations

from ...ir.casting import as_op, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.matrix_descriptor import WIDE
from ..analysis.op_queries import TILED_LOAD
from ..job import Job
from ..mma.family import fastest_family
from ..pass_manager import EdgePass
from ..schedule.choose import Candidate, hear
from ..schedule.schedule_attribute import schedule_of, set_knobs
from ..schedule.tmem_chains import TmemChain, chains_in_tmem


class KeepAccumulatorsInTmem(EdgePass):
    """Accumulators of chained dots that stay in tensor memory."""

    name = "tileas-keep-accumulators-in-tmem"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if chains := chains_in_tmem(func, job):
            _keep_in_tmem(func, chains)


def _keep_in_tmem(func: TableOp, chains: list[TmemChain]) -> None:
    ctas, tiles = unwrap(chains[0].fitting_ctas(func)), chains[0].query_tiles
    set_knobs(func, num_warps=chains[0].warps, tmem_accumulators=True)
    if ctas > 1 or schedule_of(func).occupancy:
        set_knobs(func, occupancy=ctas)
    hear(func, "occupancy", ctas, [Candidate(ctas)])
    if tiles > 1:
        set_knobs(func, query_tiles=tiles)
    for op in [as_op(op) for op in walk(func) if op.name == TILED_LOAD]:
        op.tma = op.read_by_threads = None  # softmax warps read no stages
    for chain in chains:
        _mark(chain)


def _mark(chain: TmemChain) -> None:
    target = chain.job.target
    for dot, boxes in zip(chain.pair, unwrap(chain.boxes), strict=True):
        dot.mma = unwrap(fastest_family(target).row_for(dot, target)).name
        for load, _, box in boxes.values():
            load.tma, load.swizzle = True, WIDE if box.swizzle == WIDE else None
    chain.dots.first.stationary, chain.dots.last.rescaled = True, True
