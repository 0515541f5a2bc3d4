"""Give each warpgroup 64 rows of chained products, and a multiprocessor as many of them as find room: one multiplies while
another computes.

In:    nv_tileas without layouts, in kernels whose products are all chained (``chained_dots.py``) and of warpgroups.
Out:   ``num_warps`` on the kernel, a warpgroup for each 64 rows, ``occupancy`` where two CTAs share a multiprocessor, and
       ``uses_setmaxnreg``: a warpgroup fetches and gives its own away. That is done where several warpgroups share a
       multiprocessor then: in two CTAs threads have registers for both sums, in one for two left operands of the second
       product as well, which overlap_products multiplies while it computes the next. Other kernels stay.
After: compute_in_parts (tiles have their rows). Before: choose_occupancy, select_async (they ask how many warps there are).
Sound: how many threads hold a tile changes nothing that a program says.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import as_op
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.chained_dots import ChainedDots, chained_dots_of
from ..analysis.live_tile_registers import tile_registers
from ..analysis.resource_model import choose_warps, registers_fit_with_setmaxnreg
from ..analysis.stationary_operands import is_stationary, stages_fit
from ..analysis.tma_operands import tma_loads_allowed, wgmma_atom
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass

ROWS, WARPS = 64, 4  # of a warpgroup
MAX_WARPGROUPS, MIN_WARPGROUPS = 4, 2  # of a CTA, and of those that share a multiprocessor
CTAS = (2, 1)


class ChooseAttentionWarpgroups(EdgePass):
    """Warpgroups of chained products."""

    name = "tileas-choose-attention-warpgroups"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.target.has("wgmma"):
            return
        for func in module.body.block.ops:
            if is_function(func) and tma_loads_allowed(func) and as_op(func).num_ctas is None:
                _choose(as_op(func), job)


def _choose(func: TableOp, job: Job) -> None:
    chains = chained_dots_of(func)
    if not chains or not all(_fits_wgmma(chain, job) for chain in chains):
        return
    rows, asked = chains[0].rows, occupancy(func, job)
    before = func.num_warps, func.occupancy, func.uses_setmaxnreg
    warpgroups = rows // ROWS
    for ctas in CTAS if asked is None else (asked,):
        if warpgroups * ctas >= MIN_WARPGROUPS and rows == warpgroups * ROWS <= MAX_WARPGROUPS * ROWS:
            func.num_warps, func.occupancy = WARPS * warpgroups, ctas if ctas > 1 else None
            func.uses_setmaxnreg = True
            if all(_fits(chain, func, ctas, job) for chain in chains):
                return
    func.num_warps, func.occupancy, func.uses_setmaxnreg = before


def _fits_wgmma(chain: ChainedDots, job: Job) -> bool:
    return all(wgmma_atom(product, job) is not None for product in (chain.first, chain.last))


def _fits(chain: ChainedDots, func: TableOp, ctas: int, job: Job) -> bool:
    """Whether each of so many CTAs has registers for what is under way at once, and shared memory for its stages."""
    tiles = [chain.first.result, chain.last.result]
    if ctas == 1:
        tiles.append(chain.last.lhs)
    if not is_stationary(chain.first, job):
        tiles.append(chain.first.lhs)
    words, warps = sum(map(tile_registers, tiles)), choose_warps(func, job)
    return registers_fit_with_setmaxnreg(words, warps, ctas, job.target) and stages_fit(chain.first, ctas, job)
