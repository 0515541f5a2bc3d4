"""Give every tile a layout, and change layouts where operations ask for different ones.

In:    nv_tileas operations on tiles without layouts.
Out:   every tile has a #cute.layout encoding; convert_layout where layouts meet; vector, in_bounds, atom and warps on
       the operations that need them; num_warps on kernels.
After: convert_tileaa_to_tileas. Before: scratch memory is assigned (it follows from the layouts).
Sound: an operation's operands and results have the layouts its rule in ``layout_inference.py`` relates; the writer of
       LLVM IR refuses any other.

Tiles that work element by element together share a layout (a class). Anchors vote for the layout they want: products
their accumulator fragment, memory accesses the coalesced one. Classes are decided by the heaviest vote first, and each
decision is passed through views, broadcasts and reductions as a vote for its neighbors.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import parent, row
from ...ir.dialects.op_traits import is_combination, is_entry
from ..analysis.resource_model import choose_warps
from ..job import Job
from ..pass_manager import EdgePass
from .layout_assignment.convert_layout_inserter import LayoutWriter
from .layout_assignment.equivalence_classes import LayoutClasses
from .layout_assignment.layout_constraints import unify
from .layout_assignment.layout_seeds import anchor
from .layout_assignment.op_layout_rewrites import write


class AssignLayouts(EdgePass):
    """Votes, decisions, conversions."""

    name = "tileas-assign-layouts"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in module.body.block.ops:
            if is_entry(op):
                warps = choose_warps(op, job)
                row(op).num_warps = warps
                _assign(LayoutClasses(op, job, warps))


def _assign(classes: LayoutClasses) -> None:
    for op in classes.ops:
        unify(classes, op)
    for op in classes.ops:
        anchor(classes, op)
    classes.decide()
    writer = LayoutWriter(classes)
    for op in classes.ops:
        if is_combination(op) or not is_combination(parent(op)):
            write(writer, op)
