"""Assign a layout to every tile, and insert layout conversions where operations need different ones.

In:    nv_tileas operations on tiles without layouts.
Out:   every tile has a #cute.layout encoding, with convert_layout between different layouts of a value; vector,
       in_bounds, atom and warps on the operations that need them; num_warps on kernels.
After: convert_tileaa_to_tileas. Before: scratch is allocated (its sizes depend on the layouts).
Sound: the layouts of an operation's operands and results satisfy the rules of ``layout_inference_rules.py``; the lowering to
       LLVM IR rejects any others.

The tiles of elementwise operations form an equivalence class with one layout. Anchors vote for a preferred layout: dots
for their accumulator fragment, memory accesses for the coalesced layout. Classes are decided in the order of their
heaviest vote. Each decision propagates through views, broadcasts and reductions as a vote for neighboring classes.
The addresses of a gathered operand of a dot are computed from tiles of their own (``separate_addresses.py``).
"""

from __future__ import annotations

from ...ir.casting import parent_op
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_combiner_region
from ..analysis.resource_model import choose_warps
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.mma_choice import choose_mma
from .layout_assignment.apply_layouts import ConvertLayoutInserter
from .layout_assignment.equivalence_classes import LayoutClasses
from .layout_assignment.hoist_conversions import hoist_conversions
from .layout_assignment.layout_constraints import add_constraints
from .layout_assignment.layout_seeds import seed
from .layout_assignment.op_layout_rewrites import write
from .layout_assignment.separate_addresses import separate_addresses


class AssignLayouts(EdgePass):
    """Layouts of tiles, and conversions between them."""

    name = "tileas-assign-layouts"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        warps = choose_warps(func, job)
        func.num_warps = warps
        choose_mma(func, job)
        separate_addresses(func)
        _assign(LayoutClasses(func, job, warps))
        hoist_conversions(func)


def _assign(classes: LayoutClasses) -> None:
    for op in classes.ops:
        add_constraints(classes, op)
    for op in classes.ops:
        seed(classes, op)
    classes.decide()
    writer = ConvertLayoutInserter(classes)
    for op in classes.ops:
        if is_combiner_region(op) or not is_combiner_region(parent_op(op)):
            write(writer, op)
