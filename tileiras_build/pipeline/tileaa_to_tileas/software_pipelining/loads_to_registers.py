"""Which loads of a loop's body threads may do for a later iteration, to registers."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block

from ....ir.dialects.cute import layout_of
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_loop
from ...analysis.copied_operands import depends_on_index_alone
from ...analysis.integer_ranges import width
from ...analysis.op_queries import TILED_LOAD, is_tile
from ...common.llvm_element_types import element_of
from ...job import Job
from ...schedule.iteration_latency import loads_next_iteration

MAX_REGISTERS = 32  # of a thread for one tile: twice as many would be carried
MAX_REGISTERS_OF_VIEWS = 4  # the same for tiles of views beside MMAs: scales; TMA or cp.async copy larger ones
TWO_VERSIONS = {"has_boundary_tile", "full_tile_version"}


def may_load_next_iteration(loop: TableOp, loads: list[TableOp], kernel: TableOp, job: Job) -> bool:
    """Whether an iteration of an innermost loop without dots loads what the next one needs, and computes for as long as that takes."""
    block = loop.regions[0].blocks[0]
    if not loads or any(is_loop(op) for op in walk(loop) if op is not loop):
        return False
    return all(may_run_ahead(load, block, False) for load in loads) and loads_next_iteration(loop, loads, kernel, job)


def may_run_ahead(load: TableOp, block: Block, multiplies: bool) -> bool:
    """Whether a load may be executed for a later iteration, and a thread has registers for it. Single elements are loaded beside rows."""
    if not depends_on_index_alone(load, block):
        return False
    if not is_tile(load.value):
        return not multiplies
    bits, most = element_of(load.value.type).bits, MAX_REGISTERS
    if load.name == TILED_LOAD:
        if disabling_dim(load) is None:
            return False
        most = MAX_REGISTERS_OF_VIEWS if multiplies else most
    return layout_of(load.value).num_registers * bits <= most * 32


def disabling_dim(load: TableOp) -> int | None:
    """A dimension whose index is a scalar that -1 puts out of bounds."""
    dims = (dim for dim, coord in enumerate(load.coords) if not is_tile(coord) and width(coord) >= i32.width.data)
    return next(dims, None)
