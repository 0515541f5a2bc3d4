"""Operands of dots that TMA can load ahead of the program, and their placement for MMA instructions."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from ...ir.casting import as_op, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import has_side_effects, waits_for_grid
from ...ir.layouts import SharedLayout
from ..common.optimization_hints import hint
from ..job import Job
from .axis_info import AxisAnalysis
from .dot_operand_chains import dot_operand_load, smem_layout_after_views
from .enclosing_control_flow import early_returns, enclosing_kernel, enclosing_loops, ifs_around_loops
from .scalar_slice import ScalarSlice, is_unordered_token
from .tma_tensor_maps import TensorBox, tensor_box

# A load, the operations between it and the dot, and the box of the load.
TmaOperand = tuple[TableOp, list[Operation], TensorBox]


def tma_loads_allowed(func: Operation) -> bool:
    """Whether tokens express all dependences of loads, and every partition can compute where a kernel returns.

    Tokens do not order reads after the grid that a kernel depends on.
    """
    return not any(waits_for_grid(op) for op in walk(func)) and _return_obstacle(func) is None


def may_prefetch_in_loop(op: Operation) -> bool:
    """Whether a loop writes nothing, and scalars alone determine whether it runs and its trip counts, and those of the
    loops around it.
    """
    if _control_flow_obstacle(op) is not None:
        return False
    return not any(has_side_effects(inner) for inner in walk(unwrap(enclosing_loops(op))[-1]))


def control_flow_obstacles(dot: Operation) -> list[str]:
    """The control flow of a kernel that prevents TMA loads of the operands of a dot."""
    found = (_return_obstacle(enclosing_kernel(dot)), _control_flow_obstacle(dot))
    return [limit for limit in found if limit is not None]


def _return_obstacle(func: Operation) -> str | None:
    if all(map(ScalarSlice().add_return, early_returns(func))):
        return None
    return "a return is in a loop, or depends on a tile or on the result of a loop"


def _control_flow_obstacle(op: Operation) -> str | None:
    loops = enclosing_loops(op)
    if loops is None:
        return "a loop around it has a break, an early continue or no count, or it is in a branch inside of its loop"
    if not loops:
        return "it stands in no loop"
    slice = ScalarSlice()
    conditions = [choice.condition for choice in ifs_around_loops(op)]
    if all(map(slice.add, conditions)) and all(map(slice.add_loop, loops)):
        return None
    return "the bounds of a loop around it, or the condition of a branch, depend on a tile or on the result of a loop"


def tma_operand(op: TableOp, index: int, job: Job, analysis: AxisAnalysis) -> TmaOperand | None:
    """The load, the chain and the box of an operand that TMA can load."""
    found = dot_operand_load(op, index)
    return None if found is None else with_tma_box(*found, job, analysis)


def with_tma_box(load: TableOp, chain: list[Operation], job: Job, analysis: AxisAnalysis) -> TmaOperand | None:
    """A load, the chain to a dot and the TMA box of the tile."""
    slice = ScalarSlice()
    if not all(slice.add(coord) and coord.type == i32 for coord in load.coords) or not is_unordered_token(load.token):
        return None
    if hint(load, job, "allow_tma") == 0:
        return None
    box = tensor_box(load, chain, analysis)
    return None if box is None else (load, chain, box)


def operand_placement(found: TmaOperand) -> tuple[TableOp, TensorBox, SharedLayout | None]:
    """The load and the placement of an operand; two dots for which these are equal may share a stage."""
    load, chain, box = found
    return load, box, smem_layout_after_views(chain, box.placement)


def is_tma_operand(op: TableOp, index: int) -> bool:
    """Whether TMA was selected to load an operand."""
    found = dot_operand_load(op, index)
    return found is not None and found[0].tma


def dots_of_loaded_tiles(func: Operation) -> Iterator[TableOp]:
    """The dots with operands that TMA loads, in program order."""
    for op in walk(func):
        if op.name == "nv_tileas.dot" and any(is_tma_operand(as_op(op), index) for index in (0, 1)):
            yield as_op(op)
