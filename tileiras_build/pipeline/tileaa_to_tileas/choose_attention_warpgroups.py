"""Assign 64 rows of chained dots to each warpgroup, with as many warpgroups per SM as fit.

One warpgroup issues MMAs while another computes the softmax.

In:    nv_tileas without layouts, in kernels whose dots are all chained (``chained_dots.py``) and use warpgroups.
Out:   ``num_warps`` on the kernel: one warpgroup per 64 rows; ``occupancy`` where two CTAs share an SM. If several
       warpgroups share an SM, ``uses_setmaxnreg``: the producer warpgroup releases registers to the others. With two
       CTAs, threads then have registers for both accumulators; with one, also for two left operands of the second dot,
       which rotate_mma_loop overlaps with the next iteration. Other kernels are unchanged.
After: loop_over_tile_slices (tiles have their rows). Before: choose_occupancy, select_mma_and_tma (they read num_warps).
Sound: results do not depend on the number of threads that hold a tile.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import as_op, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.chained_dots import ChainedDots, chained_dots_of
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.resource_model import choose_warps, registers_fit_with_setmaxnreg
from ..analysis.tma_operands import tma_loads_allowed
from ..common.optimization_hints import occupancy
from ..job import Job
from ..mma.family import MmaFamily, fastest_family
from ..pass_manager import EdgePass

MAX_WARPGROUPS, MIN_WARPGROUPS = 4, 2  # warpgroups of a CTA, and of all CTAs that share an SM
CTAS = (2, 1)


class ChooseAttentionWarpgroups(EdgePass):
    """Warpgroups of chained dots."""

    name = "tileas-choose-attention-warpgroups"

    def run(self, module: ModuleOp, job: Job) -> None:
        if fastest_family(job.target).group is None:
            return
        for func in module.body.block.ops:
            if is_function(func) and tma_loads_allowed(func) and as_op(func).num_ctas is None:
                _choose(as_op(func), job)


def _choose(func: TableOp, job: Job) -> None:
    chains, family = chained_dots_of(func), fastest_family(job.target)
    if not chains or not all(_has_instructions(chain, family, job) for chain in chains):
        return
    rows, requested = chains[0].rows, occupancy(func, job)
    before = func.num_warps, func.occupancy, func.uses_setmaxnreg
    rows_of_group, warps_of_group = unwrap(family.group)
    groups = rows // rows_of_group
    for ctas in CTAS if requested is None else (requested,):
        if groups * ctas >= MIN_WARPGROUPS and groups <= MAX_WARPGROUPS and rows == groups * rows_of_group:
            func.num_warps, func.occupancy = warps_of_group * groups, ctas if ctas > 1 else None
            func.uses_setmaxnreg = True
            if all(_fits(chain, family, func, ctas, job) for chain in chains):
                return
    func.num_warps, func.occupancy, func.uses_setmaxnreg = before


def _has_instructions(chain: ChainedDots, family: MmaFamily, job: Job) -> bool:
    return all(family.row_for(dot, job.target) is not None for dot in (chain.first, chain.last))


def _fits(chain: ChainedDots, family: MmaFamily, func: TableOp, ctas: int, job: Job) -> bool:
    """Whether the registers of each of ``ctas`` CTAs hold the tiles that are live at once, and shared memory its stages."""
    tiles = [chain.first.result, chain.last.result]
    if ctas == 1:
        tiles.append(chain.last.lhs)
    if not family.lhs_stays_in_smem(chain.first, job):
        tiles.append(chain.first.lhs)
    regs, warps = sum(map(tile_registers, tiles)), choose_warps(func, job)
    return registers_fit_with_setmaxnreg(regs, warps, ctas, job.target) and family.stages_fit(chain.first, ctas, job)
