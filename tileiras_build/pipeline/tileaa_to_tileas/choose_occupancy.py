"""Choose how many CTAs share an SM: what the kernel's hint asks for, or what its dots leave registers for.

In:    nv_tileas without layouts; kernels with the hint ``occupancy``, and those without loops that load tiles after a
       reduction.
Out:   ``occupancy`` on the former: what the hint says, or fewer where the tiles that a loop keeps in registers for its
       dots do not fit otherwise; then ``requested_occupancy`` has the hint's number. On the latter what their rows leave
       registers for, where that is several: told so, ptxas has as many loads in flight as registers are left for.
After: legalize_dot, plan_cta_cluster (dots have their sizes). Before: select_mma_and_tma (it asks what fits).
Sound: a hint is no promise. Registers that a thread does not have are memory, in each iteration of a loop; CTAs that a
       SM does not have are not missed so much. Kernels without dots get what they ask for.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import as_op
from ...ir.dialects.op_traits import is_combiner_region, is_function
from ..analysis.dot_loop_registers import live_tile_registers, tile_registers
from ..analysis.op_queries import is_tile
from ..analysis.resource_model import choose_warps, ctas_by_row_registers, registers_fit
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.family import fastest_family
from ..pass_manager import EdgePass


class ChooseOccupancy(EdgePass):
    """CTAs per SM."""

    name = "tileas-choose-occupancy"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if is_function(func) and as_op(func).uses_setmaxnreg:
                continue  # its number of CTAs is chosen
            if is_function(func) and (requested := hint(func, job, "occupancy")):
                chosen = _choose(func, requested, job)
                as_op(func).occupancy, as_op(func).requested_occupancy = (
                    chosen,
                    requested if chosen != requested else None,
                )
            elif is_function(func) and (regs := _live_registers(func)):
                ctas = ctas_by_row_registers(regs, choose_warps(func, job), job.target)
                as_op(func).occupancy = ctas if ctas > 1 else None


def _choose(func: Operation, requested: int, job: Job) -> int:
    warps, family = choose_warps(func, job), fastest_family(job.target)
    regs = live_tile_registers(func, job.target, lambda dot: family.lhs_stays_in_smem(dot, job))
    return (
        next((ctas for ctas in range(requested, 1, -1) if registers_fit(regs, warps, ctas, job.target)), 1)
        if regs
        else requested
    )


# ---- rows ------------------------------------------------------------------------------------------
LOADS, REDUCE = ("nv_tileas.tiled_load", "nv_tileas.load"), "nv_tileas.reduce"


def _live_registers(func: Operation) -> int:
    """Registers of all threads for the tiles that are live across a reduction; 0 where no load comes after one."""
    ops = list(func.regions[0].blocks[0].ops)
    positions = {op: position for position, op in enumerate(ops)}
    reductions = [position for op, position in positions.items() if op.name == REDUCE]
    straight = all(is_combiner_region(op) or not op.regions for op in ops)
    if not straight or not reductions or not any(op.name in LOADS for op in ops[reductions[0] :]):
        return 0
    return max(_registers_live_across(ops, positions, reduction) for reduction in reductions)


def _registers_live_across(ops: list[Operation], positions: dict[Operation, int], reduction: int) -> int:
    tiles = (value for op in ops[:reduction] for value in op.results if is_tile(value))
    return sum(tile_registers(tile) for tile in tiles if any(positions[use.operation] > reduction for use in tile.uses))
