"""Which operands of dots TMA can load ahead of the program, and how MMA instructions read them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from ...ir.casting import as_op, unwrap
from ...ir.dialects.fast_xdsl import string_of, walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import has_side_effects, waits_for_grid
from ...ir.layouts import SharedLayout, matrix_operand
from ...ir.layouts.wgmma_layout import A_VIA_REGISTERS_SWIZZLES
from ...target.mma_atoms import Tcgen05Atom, WgmmaAtom
from ..common.optimization_hints import hint
from ..job import Job
from .axis_info import AxisAnalysis
from .enclosing_control_flow import early_returns, enclosing_kernel, enclosing_loops, ifs_around_loops
from .scalar_slice import ScalarSlice, is_unordered_token
from .tma_tensor_maps import TensorBox, tensor_box, widened_box
from .view_chains import dot_operand_load, smem_layout_after_views

# A load, what is between it and the dot, and the box that is loaded.
TmaOperand = tuple[TableOp, list[Operation], TensorBox]


def tma_loads_allowed(func: Operation) -> bool:
    """Whether tokens order all that loads must come after, and every partition can compute where a kernel returns.

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
    """The control flow of a kernel that keeps TMA from loading the operands of a dot."""
    found = (_return_obstacle(enclosing_kernel(dot)), _control_flow_obstacle(dot))
    return [limit for limit in found if limit is not None]


def _return_obstacle(func: Operation) -> str | None:
    if all(map(ScalarSlice().add_return, early_returns(func))):
        return None
    return "a return stands in a loop, or depends on a tile or on what a loop leaves"


def _control_flow_obstacle(op: Operation) -> str | None:
    loops = enclosing_loops(op)
    if loops is None:
        return "a loop around it breaks, continues early or has no count, or it stands in a branch inside of its loop"
    if not loops:
        return "it stands in no loop"
    slice = ScalarSlice()
    conditions = [choice.condition for choice in ifs_around_loops(op)]
    if all(map(slice.add, conditions)) and all(map(slice.add_loop, loops)):
        return None
    return "the bounds of a loop around it, or the condition of a branch, depend on a tile or on what a loop leaves"


def tma_operand(op: TableOp, index: int, job: Job, analysis: AxisAnalysis) -> TmaOperand | None:
    """The load, the chain and the box of an operand that TMA can load."""
    found = dot_operand_load(op, index)
    return None if found is None else with_tma_box(*found, job, analysis)


def with_tma_box(load: TableOp, chain: list[Operation], job: Job, analysis: AxisAnalysis) -> TmaOperand | None:
    """A load, the chain to a dot and the box in which TMA can load the tile."""
    slice = ScalarSlice()
    if not all(slice.add(coord) and coord.type == i32 for coord in load.coords) or not is_unordered_token(load.token):
        return None
    if hint(load, job, "allow_tma") == 0:
        return None
    box = tensor_box(load, chain, analysis)
    return None if box is None else (load, chain, box)


def wgmma_atom(op: TableOp, job: Job) -> WgmmaAtom | None:
    """The wgmma instruction for the types of a dot."""
    if op.lhs_scale is not None or len(op.lhs.type.get_shape()) != 2:
        return None
    return job.target.wgmma_atom(*element_types(op))


def rows_need_registers(found: TmaOperand, k_dim: int, bits: int) -> bool:
    """Whether the rows of an operand are in swizzled lines, which ``WgmmaTiling`` spreads over lanes for A via
    registers.
    """
    _, chain, box = found
    placement = smem_layout_after_views(chain, box.placement)
    operand = matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
    return operand is not None and not operand.k_major and operand.swizzle in A_VIA_REGISTERS_SWIZZLES.get(bits, ())


def is_canonical_smem_layout(found: TmaOperand, k_dim: int, atom: WgmmaAtom | Tcgen05Atom) -> bool:
    """Whether an instruction can read an operand in the placement of TMA."""
    return as_instruction_reads(found, k_dim, atom) is not None


def as_instruction_reads(found: TmaOperand, k_dim: int, atom: WgmmaAtom | Tcgen05Atom) -> TmaOperand | None:
    """An operand with a box whose placement the instruction can read; None where there is none."""
    load, chain, box = found
    for one in (box, widened_box(load, box)):
        if one is None:
            continue
        placement = smem_layout_after_views(chain, one.placement)
        operand = matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
        if operand is not None and (operand.k_major or operand.swizzle in atom.mn_major):
            return load, chain, one
    return None


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


def element_types(op: TableOp) -> list[str]:
    """The element types of the left operand, the right one and the accumulator."""
    return [string_of(value.type.element_type) for value in (op.lhs, op.rhs, op.result)]
