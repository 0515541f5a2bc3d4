"""Hoist views and memory references out of the loops whose loads and stores use them.

In:    nv_tileas memory references and views, anywhere in the program.
Out:   those that depend on no value of a loop are created once before it. Consecutive loops that load from one array
       then use the same view, and can share stages in shared memory.
After: convert_tileaa_to_tileas. Before: all passes that compare views.
Sound: a memory reference or a view computes nothing and accesses no memory, so it can be created unconditionally.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import parent_block, parent_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_traits import is_loop
from ..analysis.enclosing_control_flow import enclosing_kernel, is_defined_in_loop
from ..common.cse import merge
from ..job import Job
from ..pass_manager import EdgePass

VIEWS = (COUNTERPARTS["nv_tileaa.make_memref"], COUNTERPARTS["nv_tileaa.block_tile"])


class HoistViews(EdgePass):
    """Memory references and views before loops."""

    name = "tileas-hoist-views"

    def run(self, module: ModuleOp, job: Job) -> None:
        moved = [op for op in walk(module) if op.__class__ in VIEWS and _hoisted(op)]
        for func in dict.fromkeys(map(enclosing_kernel, moved)):
            merge(func.regions[0].blocks[0], lambda op: op.__class__ in VIEWS)


def _hoisted(op: Operation) -> bool:
    """Hoist ``op`` before the outermost loop that it does not depend on; return whether there was one."""
    outermost = None
    place = parent_op(op)
    while is_loop(place) and not any(is_defined_in_loop(operand, place) for operand in op.operands):
        outermost, place = place, parent_op(place)
    if outermost is None:
        return False
    op.detach()
    parent_block(outermost).insert_op_before(op, outermost)
    return True
