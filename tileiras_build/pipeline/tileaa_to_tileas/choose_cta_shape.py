"""Choose how many CTAs share an SM, and how many warpgroups compute attention (``schedule/cta_shape.py``).

In:    nv_tileas without layouts; kernels whose dots are all chained (``chained_dots.py``) and use warpgroups, kernels with the
       hint ``occupancy``, and kernels without loops that load tiles after a reduction.
Out:   in the schedule of a kernel: ``occupancy``, the hint or fewer CTAs if the tiles that are live at once in a loop of its
       dots would not fit; eight warps in place of four if those tiles exceed the registers of four; more warps where pointers
       access single elements; for chained dots ``num_warps``, ``occupancy`` where two CTAs share an SM, and ``setmaxnreg``: the
       producer warpgroup releases registers to the others. The code is unchanged: all later passes carry this out, as they divide
       tiles, registers and shared memory by these counts, and passes before change what a warp holds at once.
After: shrink_k_tile, swap_operands (dots have their shapes). Before: load_for_each_dot and select_mma_and_tma (they check what
       fits).
Sound: results do not depend on the number of threads that hold a tile, nor on how many CTAs share an SM.
"""

from __future__ import annotations

from ...ir.dialects.op_definition import TableOp
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.cta_shape import choose_cta_shape


class ChooseCtaShape(EdgePass):
    """CTAs per SM, and warpgroups of attention."""

    name = "tileas-choose-cta-shape"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        choose_cta_shape(func, job)
