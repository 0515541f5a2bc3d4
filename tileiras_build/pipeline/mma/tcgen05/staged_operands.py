"""Left operands that threads compute from what TMA loads, in stages of tensor memory: neither their writes nor the MMAs that read them take
bandwidth of shared memory.

They have as many stages as what TMA loads (``warp_specialization/allocate_pipelines.py``). A thread writes one behind the wait for such a stage,
which the last MMA that read it has released.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....ir.casting import as_op, tile_shape, tile_type
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts.tmem_layout import ALL_COLUMNS, ROWS
from ...analysis.access_vectorization import ViewAccessInfo
from ...analysis.axis_info import AxisAnalysis
from ...analysis.enclosing_control_flow import is_in_counted_loop, only_accumulates
from ...analysis.op_queries import dots_in
from ...analysis.resource_model import MIN_STAGES
from ...analysis.stored_operands import computation, is_computed_from_loads, is_invariant, source_loads
from ...common.llvm_element_types import element_of
from ...common.optimization_hints import occupancy
from ...job import Job
from ..tmem_tiles import staged_columns, tmem_tiles
from .kernel_columns import columns_of_kernel

CTAS = 2  # that may share an SM


def stage_operands(func: Operation, job: Job, warps: int) -> None:
    """Mark the dots whose left operands have stages in tensor memory, if it holds two of each."""
    dots = dots_in(func)
    if as_op(func).num_ctas is not None or (occupancy(func, job) or 1) > CTAS or not all(map(_is_plain, dots)):
        return
    staged = [dot for dot in dots if _may_be_staged(dot, warps)]
    values = {dot.lhs: staged_columns(dot, warps) for dot in staged}
    if not staged or columns_of_kernel(dots[0], warps) + MIN_STAGES * sum(values.values()) > ALL_COLUMNS // CTAS:
        return
    for dot in staged:
        dot.staged = True


def _is_plain(dot: TableOp) -> bool:
    """Whether threads read the accumulators of a dot behind its loop."""
    return dot.mma is not None and is_in_counted_loop(dot) and only_accumulates(dot) and dot.lhs_scale is None


def _may_be_staged(dot: TableOp, warps: int) -> bool:
    """Whether threads write a left operand to shared memory that they compute, along k, from what TMA loads."""
    if 0 not in (dot.stored or ()) or dot.copied or is_invariant(dot, 0) or tmem_tiles(dot, warps)[0] is None:
        return False
    if tile_shape(dot.result)[0] % ROWS or not is_computed_from_loads(dot, 0):
        return False
    if any(op.name.endswith(".permute") for op in computation(dot, 0)):
        return False
    tiles = [load for load in source_loads(dot, 0) if len(tile_type(load.value).get_shape()) > 1]
    return all(load.tma and _lies_along_k(load) and _is_as_wide(load, dot) for load in tiles)


def _is_as_wide(load: TableOp, dot: TableOp) -> bool:
    """Whether threads write as many bytes as they read: of fewer, shared memory has less to do anyway."""
    return element_of(load.value.type).bits == element_of(dot.lhs.type).bits


def _lies_along_k(load: TableOp) -> bool:
    """Whether neighbors in memory are neighbors along the last dimension of a tile."""
    order = ViewAccessInfo(load.view, AxisAnalysis()).order
    return not load.transposed and order[0] == len(order) - 1
