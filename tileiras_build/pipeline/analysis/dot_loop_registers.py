"""Registers of the tiles that the dots of a loop keep live from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, parent_block, tile_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import LayoutTrait, is_loop, traits_of
from ..common.llvm_element_types import element_of
from ..mma.family import MmaFamily, Storage
from .dot_buffer_sharing import is_lhs_computed_in_loop
from .enclosing_control_flow import is_zero, only_accumulates, summed_dots
from .op_queries import DOT


def live_tile_registers(func: Operation, family: MmaFamily, in_tmem_or_smem: Callable[[TableOp], bool]) -> int:
    """Registers of all threads for the tiles that dots keep live, in the loop with the most, counted or left early.

    ``family``: the one of the dots, whose accumulators may be in tensor memory. ``in_tmem_or_smem``: whether a dot's left operand
    stays in shared memory instead (``stationary_operands``).
    """
    once = cache(in_tmem_or_smem)  # it looks at all loads of the loop
    return max((_live_in_loop(loop, family, once) for loop in walk(func) if is_loop(loop)), default=0)


def _live_in_loop(loop: Operation, family: MmaFamily, in_tmem_or_smem: Callable[[TableOp], bool]) -> int:
    dots = [as_op(op) for op in loop.regions[0].blocks[0].ops if op.name == DOT]
    tiles = dict.fromkeys(tile for dot in dots for tile in _live_for_dot(dot, family, in_tmem_or_smem))
    if any(map(in_tmem_or_smem, dots)):
        # Twice: a computed operand is read by the MMA while the next one is computed.
        tiles |= dict.fromkeys(dot.lhs for dot in dots if is_lhs_computed_in_loop(dot))
    return sum(tile_registers(tile) for tile in [*tiles, *_carried_besides(loop, dots)])


def _carried_besides(loop: Operation, dots: list[TableOp]) -> list[SSAValue]:
    """Tiles of accumulators' types that a loop carries, and in which no dot accumulates: they are live beside the results."""
    types = {dot.result.type for dot in dots}
    block = loop.regions[0].blocks[0]
    continued = {argument for dot in dots for argument in _arguments_of(dot.acc, block)}
    return [argument for argument in block.args if argument.type in types and argument not in continued]


def _arguments_of(value: SSAValue, block: Block) -> Iterator[SSAValue]:
    """The block's arguments from which elementwise operations compute a value."""
    if isinstance(value, BlockArgument):
        yield value
    elif (
        isinstance(op := value.owner, Operation)
        and op.parent is block
        and traits_of(op).layouts is LayoutTrait.ELEMENTWISE
    ):
        for operand in op.operands:
            yield from _arguments_of(operand, block)


def _live_for_dot(dot: TableOp, family: MmaFamily, in_tmem_or_smem: Callable[[TableOp], bool]) -> Iterator[SSAValue]:
    """The accumulator, unless it only accumulates in tensor memory, or another dot goes on with it in the registers of one warpgroup, and a
    loop-invariant left operand. What several dots add up in tensor memory has columns for each, where rows are halved for less. Rows of
    two warpgroups have registers for each dot, so that both warpgroups get them and alternate at the tensor core.
    """
    in_tensor_memory = family.accumulator is Storage.TENSOR
    if dot.rescaled:
        return
    rows_of_warpgroup = family.tile_steps[0][0]
    goes_on = summed_dots(dot)[-1] is not dot and dot.result.type.get_shape()[-2] <= rows_of_warpgroup
    if not only_accumulates(dot) if in_tensor_memory else not goes_on:
        yield dot.result
    if not in_tensor_memory and not is_lhs_computed_in_loop(dot) and not in_tmem_or_smem(dot):
        yield dot.lhs


def result_registers(dot: TableOp) -> int:
    """Registers of all threads for the largest result of a dot's block, beside the accumulators that results are added to."""
    dots = [as_op(op) for op in parent_block(dot).ops if op.name == DOT]
    carried = sum(tile_registers(other.result) for other in dots if not is_zero(other.acc))
    return carried + max(tile_registers(other.result) for other in dots)


def tile_registers(tile: SSAValue) -> int:
    """32-bit registers of a tile, of all threads together."""
    size = element_of(tile.type).bits
    for extent in tile_type(tile).get_shape():
        size *= extent
    return size // 32
