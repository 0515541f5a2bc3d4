"""CTAs per SM for which a thread has registers for all that it loads at once."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation

from ...ir.casting import as_op, parent_block, tile_size
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import LayoutTrait, is_counted_loop, traits_of
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.op_queries import DOT, LOADS, REDUCE, is_tile
from ..analysis.peak_registers import peak_of_block
from ..analysis.resource_model import STORES, choose_warps, ctas_by_row_registers, reduces_only
from ..analysis.row_registers import row_words
from ..common.llvm_element_types import element_of
from ..job import Job
from .kernel import instructions_of_element

# Kernels whose elements are not independent of each other, words of a thread that ptxas loads one after the other, and threads of an SM
# that have registers for them.
EXCHANGES, MANY_WORDS, THREADS_WITH_LOADS = frozenset({DOT, REDUCE, "nv_tileas.scan"}), 16, 1024
# Of a thread, on what it loads, with results in the same registers: of fewer, ptxas issues all loads first by itself.
MANY_INSTRUCTIONS = 120
LIBDEVICE_TANH = 14  # instructions, by the SASS of sm_90 and sm_100


def ctas_with_loads_in_flight(func: TableOp, job: Job) -> int:
    """CTAs per SM for which a thread has registers for all that it loads in a block at once, of a kernel that stores element-wise results
    of it, or reduces it in a loop; 1 for other kernels, and where little is loaded. ptxas would issue loads late to have fewer registers,
    and too few bytes would be in flight.
    """
    warps = choose_warps(func, job)
    if job.opt_level == 0:
        return 1
    blocks = _blocks_with_loads_in_flight(func, warps)
    words = max((_words_of_loads_in_flight(block, warps, job.target) for block in blocks), default=0)
    if not words:
        return 1
    return min(THREADS_WITH_LOADS // (WARP * warps), ctas_by_row_registers(words, warps, job.target))


def _blocks_with_loads_in_flight(func: TableOp, warps: int) -> list[Block]:
    """The blocks that store element-wise results. Of a kernel that reduces tiles the loops that store nothing, unless threads hold what they
    load across a reduction: ptxas loads that at once.
    """
    operations = walk(func)
    if EXCHANGES.isdisjoint(op.name for op in operations):
        return list(dict.fromkeys(parent_block(op) for op in operations if op.name in STORES))
    if not reduces_only(operations) or row_words(func) >= MANY_WORDS * WARP * warps:
        return []
    loops = [op for op in operations if is_counted_loop(op)]
    return [loop.regions[0].blocks[0] for loop in loops if not any(op.name in STORES for op in walk(loop))]


def _words_of_loads_in_flight(block: Block, warps: int, target: Target) -> int:
    """The registers of all threads that are live at once in a block that loads at least ``MANY_WORDS`` for each thread; 0 for other blocks,
    for those that compute little with what they load in place, as copies do, and where bytes are loaded, which have a register each while
    they are computed with. Where DRAM is slow, also for those that store what they compute in more registers: many threads keep others busy.
    """
    tiles = [as_op(op).value for op in block.ops if op.name in LOADS and is_tile(as_op(op).value)]
    loaded = sum(map(tile_registers, tiles))
    if loaded < MANY_WORDS * WARP * warps or any(element_of(tile.type).bits < 16 for tile in tiles):
        return 0
    peak, work = peak_of_block(block, target), sum(_instructions(op, target) for op in block.ops)
    in_place = sum(tile_registers(tile) for tile in tiles if tile_size(tile) > 1)
    is_busy = in_place * work >= MANY_INSTRUCTIONS * WARP * warps
    may_grow = target.sm_limits.has_fast_dram or not any(op.name in STORES for op in block.ops)
    return peak if may_grow and peak > loaded or is_busy and in_place <= peak <= loaded else 0


def _instructions(op: Operation, target: Target) -> float:
    """Instructions of a thread on each element of a tile of floats; 0 for conversions, and what computes no elements of such."""
    if traits_of(op).layouts is not LayoutTrait.ELEMENTWISE or op.name == "nv_tileas.fp_to_fp":
        return 0
    if not any(is_tile(value) and tile_size(value) > 1 and element_of(value.type).is_float for value in op.operands):
        return 0
    if op.name == "math.tanh" and op.attributes.get("rounding_mode") != StringAttr("approx"):
        return LIBDEVICE_TANH
    return sum(instructions_of_element(op, target).values())
