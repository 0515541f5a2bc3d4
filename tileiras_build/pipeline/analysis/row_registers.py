"""Registers of the tiles that are live across the reductions and stores of a kernel without dots, before layouts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, defining_op, parent_block, tile_size, tile_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_combiner_region, is_rematerializable, is_view_like
from .access_vectorization import pointer_vector
from .axis_info import AxisAnalysis
from .dot_loop_registers import tile_registers
from .op_queries import LOADS, POINTER_LOAD, REDUCE, is_tile
from .resource_model import STORES, reduces_only


def late_words(func: Operation) -> int:
    """32-bit words of the tiles that a kernel without loops loads after a reduction, of all threads."""
    late = _late_loads(func)
    singles = {load: tile_size(load.value) for load in _of_singles(late)}
    return sum(singles.get(load, tile_registers(load.value)) for load in late)


def single_words(func: Operation) -> list[int]:
    """32-bit words of each tile that a kernel without loops loads after a reduction by pointers to single elements, of all threads.

    A thread should have registers for all of them: ptxas would wait for one before it loads the next, where vectors have some at once.
    """
    return [tile_size(load.value) for load in _of_singles(_late_loads(func))]


def row_and_single_words(func: Operation) -> int:
    """``row_words`` with all ``single_words``, for which a thread has registers at the same time; 0 where no row is live."""
    words = row_words(func)
    return words + sum(single_words(func)) if words else 0


def _of_singles(loads: list[TableOp]) -> list[TableOp]:
    analysis = AxisAnalysis()
    return [load for load in loads if load.name == POINTER_LOAD and pointer_vector(load, analysis)[0] == 1]


def _late_loads(func: Operation) -> list[TableOp]:
    """The loads of tiles after the first reduction of a kernel without loops."""
    ops = list(func.regions[0].blocks[0].ops)
    if any(op.regions and not is_combiner_region(op) for op in ops):
        return []
    first = next((position for position, op in enumerate(ops) if op.name == REDUCE), len(ops))
    return [as_op(op) for op in ops[first:] if op.name in LOADS and is_tile(op.results[0])]


def row_words(func: Operation) -> int:
    """32-bit words of the tiles that are live across a reduction, or across a store before one, of all threads; 0 for kernels with dots or
    without reductions.
    """
    operations = walk(func)
    if not reduces_only(operations):
        return 0
    blocks = dict.fromkeys(parent_block(op) for op in operations if op.name == REDUCE)
    return max(max(_words_live_across(list(block.ops))) for block in blocks)


def held_words(func: Operation) -> int:
    """32-bit words of the tiles that a loop with reductions carries, or has from outside, of all threads."""
    blocks = dict.fromkeys(parent_block(op) for op in walk(func) if op.name == REDUCE)
    inner = (block for block in blocks if block is not func.regions[0].blocks[0])
    return max((sum(map(tile_registers, _held(block))) for block in inner), default=0)


def peak_words(func: Operation) -> int:
    """32-bit words of the floats that are live at once in a block with a reduction, of all threads: ptxas computes many elements of a thread
    at the same time, and keeps what each of them still needs. Pointers and indices follow from one of a vector.
    """
    blocks = dict.fromkeys(parent_block(op) for op in walk(func) if op.name == REDUCE)
    return max((_peak_of(list(block.ops)) for block in blocks), default=0)


def _peak_of(ops: list[Operation]) -> int:
    positions = {op: position for position, op in enumerate(ops)}
    changes = [0] * (len(ops) + 1)
    results = (result for op in ops if not is_rematerializable(op) for result in op.results)
    for tile in results:
        begin, end = positions[defining_op(tile)], _last_use(tile, positions)
        if end > begin and is_tile(tile) and isinstance(tile_type(tile).element_type, AnyFloat):
            changes[begin] += tile_registers(tile)
            changes[end] -= tile_registers(tile)
    return max(accumulate(changes))


def _held(block: Block) -> set[SSAValue]:
    """The tiles that a block uses and no operation in it defines; what is recomputed is none."""
    inner = list(block.walk())
    used = {operand for op in inner for operand in op.operands if is_tile(operand)}
    used -= {result for op in inner for result in op.results}
    used -= {argument for op in inner for region in op.regions for other in region.blocks for argument in other.args}
    return {tile for tile in used if isinstance(tile.owner, Block) or not is_rematerializable(tile.owner)}


def _words_live_across(ops: list[Operation]) -> Iterator[int]:
    """Words of the tiles of a block that are live across each of its reductions and stores; what is recomputed has none.

    Loads do not move behind stores: a tile that is reduced afterwards is in registers as a whole.
    """
    positions = {op: position for position, op in enumerate(ops)}
    tiles = [
        tile for op in ops if not is_rematerializable(op) or is_view_like(op) for tile in op.results if is_tile(tile)
    ]
    for here in (position for op, position in positions.items() if op.name == REDUCE or op.name in STORES):
        live = (tile for tile in tiles if positions[defining_op(tile)] < here < _last_use(tile, positions))
        yield sum(map(tile_registers, live))


def _last_use(tile: SSAValue, positions: dict[Operation, int]) -> int:
    """The position of a tile's last user in its block; users in inner regions count as none."""
    return max((positions.get(use.operation, -1) for use in tile.uses), default=-1)
