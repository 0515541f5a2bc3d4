"""Give tile programs the order that the kernel's attributes record.

In:    nv_tileas without layouts; ``grid_swizzle`` and ``grid_reversed``, which swizzle_grid has chosen.
Out:   permuted program ids, those of clusters where neighbours of the grid form one. Those of persistent kernels are
       permuted already, before the loop over tile programs.
After: cluster_grid (program ids along axis 0 are those of clusters). Before: all passes that match scalars.
Sound: see ``rewriting/permuted_program_ids.py`` and swizzle_grid.
"""

from __future__ import annotations

from ...ir.dialects.op_definition import TableOp
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.permuted_program_ids import ProgramOrder, permute_program_ids


class OrderGrid(EdgePass):
    """Permute program ids."""

    name = "tileas-order-grid"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        is_loop = func.persistent_axes is not None or func.persistent_declined is not None
        if not is_loop:
            permute_program_ids(func, ProgramOrder.of(func))
