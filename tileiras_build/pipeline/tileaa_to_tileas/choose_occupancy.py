"""Choose how many CTAs share an SM: from the kernel's hint, or from the registers that its dots or rows need.

In:    nv_tileas without layouts; kernels with the hint ``occupancy``, and kernels without loops that load tiles after a
       reduction.
Out:   ``occupancy`` on the former: the hint, or fewer CTAs if the tiles that a loop keeps in registers for its dots
       would not fit; ``requested_occupancy`` then has the hint. On the latter, the number of CTAs for whose rows the
       registers suffice, if above one: ptxas then allocates registers for as many loads in flight.
After: legalize_dot, plan_cta_cluster (dots have their shapes). Before: select_mma_and_tma (it checks what fits).
Sound: ``occupancy`` is a hint. Registers beyond the limit spill to local memory in every iteration of a loop, which
       costs more than the additional CTAs gain. Kernels without dots get the requested occupancy.
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
                continue  # its occupancy is already chosen
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
