"""Select the MMA instruction of each dot, and the tiles that TMA loads.

In:    nv_tileas dots without layouts.
Out:   ``tma`` on the tiled_loads that TMA performs ahead of time, ``swizzle`` where their placement in shared memory
       differs from the default; ``mma`` on the dots that read these tiles there, a row of the target, with the
       attributes of its family (``mma/<family>/family.py``). Of these, dots in no counted loop
       are in a loop of one trip (``one_trip_loops.py``). Other dots get their instruction with their layouts.
After: legalize_dot (operand types are final). Before: assign_layouts (accumulators have the layouts of their
       instruction), specialize_warps (which builds the pipelines).
Sound: a load may run ahead of the program if its coordinates and the control flow around it depend on scalars alone
       (``scalar_slice.py``), if no token orders it after a write or an acquire, and if the dot, which waits for the tile,
       comes before all writes that a token orders after the load.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ...ir.layouts.matrix_descriptor import WIDE
from ..analysis.axis_info import AxisAnalysis
from ..analysis.chained_dots import DOT
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.resource_model import MIN_WARPS, choose_warps, two_stages_fit
from ..analysis.tma_operands import is_prefetchable_once, may_prefetch_in_loop, tma_loads_allowed, tma_operand
from ..job import Job
from ..mma.family import MmaFamily, family_of, fastest_family
from ..pass_manager import EdgePass
from ..schedule.mma_choice import families_for
from .one_trip_loops import OneTripLoop


class SelectMmaAndTma(EdgePass):
    """TMA loads, and wgmma or tcgen05 instructions."""

    name = "tileas-select-mma-and-tma"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.target.has("tma"):
            return
        for func in module.body.block.ops:
            if is_function(func) and (warps := choose_warps(func, job)) >= MIN_WARPS:
                _select(func, job, warps)


def _select(func: Operation, job: Job, warps: int) -> None:
    if not tma_loads_allowed(func):
        return
    analysis = AxisAnalysis()
    for place, op in enumerate([as_op(op) for op in walk(func) if op.name == DOT]):
        families = families_for(place, job)
        if may_prefetch_in_loop(op):
            _select_mma(op, families, job, warps, analysis)
        elif is_prefetchable_once(op) and (fastest := fastest_family(job.target)) in families:
            loop = OneTripLoop.around(op)
            selected = _select_mma(op, [fastest], job, warps, analysis)
            loop.keep() if selected else loop.undo()
    for op in [as_op(op) for op in walk(func) if op.name == DOT]:
        if op.mma is not None:
            family_of(op).keep_lhs_in_smem(op, job)


def _select_mma(op: TableOp, families: Sequence[MmaFamily], job: Job, warps: int, analysis: AxisAnalysis) -> bool:
    """Select the instruction of a dot, and the operands that TMA loads for it; return whether there is one."""
    loaded = {index: found for index in (0, 1) if (found := tma_operand(op, index, job, analysis)) is not None}
    bytes = sum(box.tile_bytes for _, _, box in loaded.values())
    # A right operand may be computed; one that is loaded is loaded, or else nothing is.
    if not loaded or (1 not in loaded and dot_operand_load(op, 1) is not None) or not two_stages_fit(bytes, job):
        return False
    for family in families:
        if (read := family.select(op, loaded, job, warps)) is not None:
            for load, _, box in read.values():
                load.tma, load.swizzle = True, WIDE if box.swizzle == WIDE else None
            return True
    return False
