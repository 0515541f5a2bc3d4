"""Read each slice of an accumulator from tensor memory where it is used.

In:    reads of accumulators (tmem_load) whose only users are slices of columns (extract_slice at constant indices), such as the halves
       that an epilogue stores one after the other.
Out:   a read of each slice, from its first column on, before its first use. Threads would exchange its elements through shared
       memory, and hold the whole tile meanwhile.
After: overlap_mmas and hoist_async_mma_issue (no later pass moves MMAs or reads), assign_layouts (a slice has the layout of a read).
       Before: reload_accumulators, limit_conversion_scratch (extract_slice takes scratch).
Sound: no operation between the former read and the new one stores to tensor memory, or tells another partition that an MMA may be issued.
       Where a barrier was between them, one more follows the last read: this partition issues no MMA before all of its threads have read.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import ancestor_in, as_op, parent_block, tile_shape, unwrap
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import BarrierOp, TmemLoadOp
from ...ir.dialects.op_definition import TableOp
from ..analysis.accumulator_reads import leaves_tensor_memory
from ..analysis.accumulator_slices import column_slice_layout, column_slices
from ..analysis.integer_ranges import constant_of
from ..job import Job
from ..pass_manager import EdgePass
from .issue_behind import ops_between


class ReadAccumulatorSlices(EdgePass):
    """A read for each slice."""

    name = "tileas-read-accumulator-slices"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        for load in [as_op(op) for op in walk(func) if op.name == TmemLoadOp.name]:
            slices = column_slices(load.result)
            if slices and all(_is_readable(part, func.num_warps) for part in slices):
                _read_each(load, slices)


def _is_readable(part: TableOp, num_warps: int) -> bool:
    """Whether threads can read a slice in its layout."""
    layout = column_slice_layout(part, layout_of(part.source), num_warps)
    return layout is not None and layout.register_permutation(layout_of(part.result)) is not None


def _read_each(load: TableOp, slices: list[TableOp]) -> None:
    block = parent_block(load)
    reads = [_read(load, part, _place(load, part)) for part in slices]
    last = max(reads, key=list(block.ops).index)
    if any(isinstance(op, BarrierOp) for op in ops_between(load, last)):
        block.insert_op_after(BarrierOp.make([], []), last)
    load.detach()
    load.erase()


def _place(load: TableOp, part: TableOp) -> Operation:
    """The first user of a slice in the block of the whole read, or this one if tensor memory may change in between."""
    block = parent_block(load)
    users = {ancestor_in(use.operation, block) for use in part.result.uses}
    first = next((op for op in block.ops if op in users), None)
    if None in users or first is None or not all(map(leaves_tensor_memory, ops_between(load, first))):
        return load
    return first


def _read(load: TableOp, part: TableOp, place: Operation) -> Operation:
    """Replace a slice by a read before ``place``."""
    first = unwrap(constant_of(part.indices[-1])) * tile_shape(part.result)[-1]
    slice = first, tile_shape(part.source)[-1]
    read = TmemLoadOp.make([load.source, load.stage], [part.result.type], slice=slice)
    parent_block(load).insert_op_before(read, place)
    part.result.replace_all_uses_with(read.results[0])
    part.detach()
    part.erase()
    return read
