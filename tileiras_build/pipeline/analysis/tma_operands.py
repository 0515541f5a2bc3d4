"""Which operands of products TMA can fetch ahead of the program, and how instructions read them where it puts them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from ...ir.casting import given, row
from ...ir.dialects.fast_xdsl import text_of, walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import acts_outside, waits_for_grid
from ...ir.layouts import SharedLayout, matrix_operand
from ...ir.layouts.wgmma_layout import SCATTERED_SWIZZLES
from ...target.targets import TensorMemoryAtom, WarpgroupAtom
from ..common.optimization_hints import hint
from ..job import Job
from .axis_info import AxisAnalysis
from .tma_tensor_maps import TensorBox, tensor_box, wide_box
from .view_chains import (
    ScalarSlice,
    choices_around_loops,
    early_returns,
    kernel_of,
    loops_around,
    placement_after,
    runs_free,
    source_load,
)

# A load, what is between it and the product, and the box that is fetched.
Found = tuple[TableOperation, list[Operation], TensorBox]


def may_fetch(func: Operation) -> bool:
    """Whether tokens say all of what loads come after, and every agent can tell where a kernel returns.

    Tokens do not say what may be read before the grid that a kernel depends on.
    """
    return not any(waits_for_grid(op) for op in walk(func)) and _return_limit(func) is None


def may_run_ahead(op: Operation) -> bool:
    """In a loop that writes nothing, and scalars alone decide whether it runs and its trips, and those of the loops around it."""
    if _control_limit(op) is not None:
        return False
    return not any(acts_outside(inner) for inner in walk(given(loops_around(op))[-1]))


def control_limits(product: Operation) -> list[str]:
    """What of a kernel's control flow keeps TMA from fetching the operands of a product."""
    found = (_return_limit(kernel_of(product)), _control_limit(product))
    return [limit for limit in found if limit is not None]


def _return_limit(func: Operation) -> str | None:
    if all(map(ScalarSlice().add_return, early_returns(func))):
        return None
    return "a return stands in a loop, or depends on a tile or on what a loop leaves"


def _control_limit(op: Operation) -> str | None:
    loops = loops_around(op)
    if loops is None:
        return "a loop around it breaks, continues early or has no count, or it stands in a branch inside of its loop"
    if not loops:
        return "it stands in no loop"
    slice = ScalarSlice()
    conditions = [choice.condition for choice in choices_around_loops(op)]
    if all(map(slice.add, conditions)) and all(map(slice.add_loop, loops)):
        return None
    return "the bounds of a loop around it, or the condition of a branch, depend on a tile or on what a loop leaves"


def fetched(op: TableOperation, index: int, job: Job, analysis: AxisAnalysis) -> Found | None:
    """The load, the chain and the box of an operand that TMA can fetch."""
    found = source_load(op, index)
    return None if found is None else boxed(*found, job, analysis)


def boxed(load: TableOperation, chain: list[Operation], job: Job, analysis: AxisAnalysis) -> Found | None:
    """A load, the chain to a product and the box in which TMA can fetch the tile."""
    slice = ScalarSlice()
    if not all(slice.add(coord) and coord.type == i32 for coord in load.coords) or not runs_free(load.token):
        return None
    if hint(load, job, "allow_tma") == 0:
        return None
    box = tensor_box(load, chain, analysis)
    return None if box is None else (load, chain, box)


def warpgroup_row(op: TableOperation, job: Job) -> WarpgroupAtom | None:
    """The wgmma row for the types of a product of matrices."""
    if op.lhs_scale is not None or len(op.lhs.type.get_shape()) != 2:
        return None
    return job.target.warpgroup_atom(*element_types(op))


def is_scattered(found: Found, k_dim: int, bits: int) -> bool:
    """Whether an operand lies with its rows in swizzled lines, as ``WarpgroupTiling`` spreads scattered rows over lanes."""
    _, chain, box = found
    placement = placement_after(chain, box.placement)
    operand = matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
    return operand is not None and not operand.k_major and operand.swizzle in SCATTERED_SWIZZLES.get(bits, ())


def is_canonical(found: Found, k_dim: int, atom: WarpgroupAtom | TensorMemoryAtom) -> bool:
    """Whether an instruction can read an operand where TMA puts it."""
    return as_read(found, k_dim, atom) is not None


def as_read(found: Found, k_dim: int, atom: WarpgroupAtom | TensorMemoryAtom) -> Found | None:
    """An operand with the box in which an instruction can read it where TMA puts it; None where there is none."""
    load, chain, box = found
    for one in (box, wide_box(load, box)):
        if one is None:
            continue
        placement = placement_after(chain, one.placement)
        operand = matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
        if operand is not None and (operand.k_major or operand.swizzle in atom.mn_major):
            return load, chain, one
    return None


def placed(found: Found) -> tuple[TableOperation, TensorBox, SharedLayout | None]:
    """What is fetched, and where an instruction finds it: two products with one of it may share a stage."""
    load, chain, box = found
    return load, box, placement_after(chain, box.placement)


def is_fetched(op: TableOperation, index: int) -> bool:
    """Whether TMA was chosen to fetch an operand."""
    found = source_load(op, index)
    return found is not None and found[0].tma


def products(func: Operation) -> Iterator[TableOperation]:
    """The products that read what TMA fetches, in program order."""
    for op in walk(func):
        if op.name == "nv_tileas.dot" and any(is_fetched(row(op), index) for index in (0, 1)):
            yield row(op)


def element_types(op: TableOperation) -> list[str]:
    """Of the left operand, the right one and the sum."""
    return [text_of(value.type.element_type) for value in (op.lhs, op.rhs, op.result)]
