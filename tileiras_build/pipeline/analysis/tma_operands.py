"""Operands of dots that TMA can load ahead of the program, and their placement for MMA instructions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from ...ir.casting import ancestor_in, as_op, parent_block, unwrap
from ...ir.dialects.cuda_tile.location import source_location
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_token_ordered
from ...ir.layouts import SharedLayout
from ..common.optimization_hints import hint
from ..job import Job
from ..schedule.schedule_attribute import schedule_of
from .axis_info import AxisAnalysis
from .dot_operand_chains import dot_operand_load, smem_layout_after_views
from .enclosing_control_flow import early_returns, enclosing_kernel, is_grid_wait, is_in_counted_loop
from .op_queries import DOT
from .scalar_slice import ScalarSlice, follows_no_write, writes_after
from .tma_tensor_maps import TensorBox, tensor_box

COPIED_BY_THREADS = "unspecialize"  # the strategy of a kernel that gives up TMA
# A load, the operations between it and the dot, and the box of the load.
TmaOperand = tuple[TableOp, list[Operation], TensorBox]


def tma_loads_allowed(func: Operation) -> bool:
    """Whether every partition can compute where a kernel returns, and where it waits for other grids, and shared memory holds
    its stages.
    """
    return schedule_of(func).strategy != COPIED_BY_THREADS and _return_obstacle(func) is None


def may_prefetch_in_loop(op: Operation) -> bool:
    """Whether a dot is in a counted loop, and scalars alone determine how often that loop runs, and whether."""
    return is_in_counted_loop(op) and ScalarSlice().add_control(op)


def is_prefetchable_once(dot: TableOp) -> bool:
    """Whether a dot is in no counted loop, and scalars alone determine whether it runs."""
    return dot.lhs_scale is None and not is_in_counted_loop(dot) and ScalarSlice().add_control(dot)


def control_flow_obstacles(dot: Operation) -> list[str]:
    """The control flow of a kernel that prevents TMA loads of the operands of a dot."""
    found = (_return_obstacle(enclosing_kernel(dot)), _control_flow_obstacle(dot))
    return [limit for limit in found if limit is not None]


def _return_obstacle(func: Operation) -> str | None:
    slice = ScalarSlice()
    if all([slice.add_control(op) for op in (*early_returns(func), *filter(is_grid_wait, walk(func)))]):
        return None
    return f"whether the kernel returns early, or waits for another grid, depends on {_source_of(slice)}"


def _control_flow_obstacle(op: Operation) -> str | None:
    slice = ScalarSlice()
    if slice.add_control(op):
        return None
    return f"whether it is executed, or how often, depends on {_source_of(slice)}"


def _source_of(slice: ScalarSlice) -> str:
    """What a slice cannot compute."""
    if not slice.refused:
        return "a region of another operation"
    [op, *_] = slice.refused
    location = source_location(op)
    line = "" if location is None or not location.line else f" (line {location.line})"
    kind = "memory that the kernel writes or synchronizes on" if is_token_ordered(op) else "the contents of a tile"
    return kind + line


def tma_operand(op: TableOp, index: int, job: Job, analysis: AxisAnalysis) -> TmaOperand | None:
    """The load, the chain and the box of an operand that TMA can load."""
    found = dot_operand_load(op, index)
    return None if found is None else with_tma_box(*found, job, analysis)


def is_copied_by_tma(dot: TableOp, job: Job) -> bool:
    """Whether a loop can prefetch a dot's operands, and TMA copy both."""
    analysis = AxisAnalysis()
    return may_prefetch_in_loop(dot) and all(tma_operand(dot, index, job, analysis) is not None for index in (0, 1))


def with_tma_box(
    load: TableOp, chain: list[Operation], job: Job, analysis: AxisAnalysis, *, for_threads: bool = False
) -> TmaOperand | None:
    """A load, the chain to a dot and the TMA box of the tile."""
    slice = ScalarSlice()
    if not all(slice.add(coord) and coord.type == i32 for coord in load.coords) or not follows_no_write(load.token):
        return None
    if not slice.add(load.view):
        return None
    if hint(load, job, "allow_tma") == 0 or is_overwritten_before_read(load, chain):
        return None
    box = tensor_box(load, chain, analysis, for_threads=for_threads)
    return None if box is None else (load, chain, box)


def is_overwritten_before_read(load: TableOp, chain: list[Operation]) -> bool:
    """Whether a token orders a write after a load that comes before the first reader of the tile, which waits for it."""
    block, tile = parent_block(load), chain[-1].results[0] if chain else load.value
    readers = [unwrap(ancestor_in(use.operation, block)) for use in tile.uses]
    places = [place for op in writes_after(load.result_token) if (place := ancestor_in(op, block)) is not None]
    return any(
        load.is_before_in_block(place) and not any(reader.is_before_in_block(place) for reader in readers)
        for place in places
    )


def operand_placement(found: TmaOperand) -> tuple[TableOp, TensorBox, SharedLayout | None]:
    """The load and the placement of an operand; two dots for which these are equal may share a stage."""
    load, chain, box = found
    return load, box, smem_layout_after_views(chain, box.placement)


def tile_key(load: TableOp) -> Hashable:
    """Equal for loads of the same tile in the same iteration."""
    return load.parent, load.view, *load.coords


def is_tma_operand(op: TableOp, index: int) -> bool:
    """Whether TMA was selected to load an operand."""
    found = dot_operand_load(op, index)
    return found is not None and found[0].tma and not found[0].read_by_threads


def dots_of_loaded_tiles(func: Operation) -> Iterator[TableOp]:
    """The dots with operands that TMA loads, in program order."""
    for op in walk(func):
        if op.name == DOT and (
            as_op(op).stored is not None or any(is_tma_operand(as_op(op), index) for index in (0, 1))
        ):
            yield as_op(op)
