"""Loops of two chained dots, as in attention: the first computes the left operand of the second, whose accumulator is
loop-carried."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, parent_block, parent_op, terminator
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_counted_loop, is_value_forwarding
from .dot_loop_registers import tile_registers
from .dot_operand_chains import source_load_of
from .enclosing_control_flow import has_no_early_exit, is_zero
from .op_queries import DOT, LOADS, dots_in, is_tile, operations_behind

SCALE = "nv_tileas.mulf"


@dataclass(frozen=True)
class RescaledAccumulator:
    """The accumulator of a dot: loop-carried, multiplied by ``factor`` in each iteration by ``scale``, if there is one."""

    argument: BlockArgument
    factor: SSAValue | None = None
    scale: Operation | None = None


@dataclass(frozen=True)
class ChainedDots:
    """``first`` starts from zero; ``last`` accumulates, and its left operand is computed from the result of ``first``."""

    first: TableOp
    last: TableOp

    @property
    def rows(self) -> int:
        """Rows of both accumulators."""
        return self.first.result.type.get_shape()[0]

    @property
    def loaded_registers(self) -> int:
        """Registers of all threads for the tiles that an iteration loads beside operands, such as a bias: they are live with the scores."""
        block = parent_block(self.first)
        operands = operations_behind([self.first.lhs, self.first.rhs, self.last.rhs], block)
        return sum(map(tile_registers, loaded_tiles(block, operands)))


def loaded_tiles(block: Block, operands: Collection[Operation] = ()) -> list[SSAValue]:
    """The tiles that threads load in a block, but for those of the loads of ``operands``."""
    loads = (as_op(op) for op in block.ops if op.name in LOADS and op not in operands)
    return [load.value for load in loads if is_tile(load.value)]


def find_chained_dots(loop: Operation) -> ChainedDots | None:
    """The two dots of a counted loop; None where it has other dots, or other uses of their accumulators."""
    dots = dots_in(loop)
    if len(dots) != 2 or not is_counted_loop(loop) or not has_no_early_exit(loop):
        return None
    first, last = dots
    block = loop.regions[0].blocks[0]
    if first.parent is not block or last.parent is not block or not is_zero(first.acc):
        return None
    chained = rescaled_accumulator(last) is not None and _comes_from(last.lhs, first, block)
    return ChainedDots(first, last) if chained else None


def chained_dots_of(func: Operation) -> list[ChainedDots]:
    """The chained dots of a kernel; none where it has other dots as well."""
    loops = dict.fromkeys(enclosing_loop(dot) for dot in dots_in(func))
    found = [find_chained_dots(loop) for loop in loops]
    chains = [chain for chain in found if chain is not None]
    return chains if len(chains) == len(found) else []


def rescaled_accumulator(dot: TableOp) -> RescaledAccumulator | None:
    """The loop-carried accumulator of a dot; None where the loop does more than rescale it and accumulate."""
    if dot.acc.owner is parent_block(dot):
        return _carried(dot, RescaledAccumulator(dot.acc))
    scale = dot.acc.owner
    if not isinstance(scale, Operation) or not _only_scales(scale, dot):
        return None
    for argument, factor in (scale.operands, reversed(scale.operands)):
        if isinstance(argument, BlockArgument) and argument.owner is dot.parent:
            return _carried(dot, RescaledAccumulator(argument, factor, scale))
    return None


def _only_scales(scale: Operation, dot: TableOp) -> bool:
    """Whether a multiplication by 1 would leave the accumulator unchanged, and the dot reads no other result of it."""
    if scale.name != SCALE or scale.parent is not dot.parent or len(list(scale.results[0].uses)) != 1:
        return False
    return as_op(scale).rounding_mode == "nearest_even" and not as_op(scale).flush_to_zero


def _carried(dot: TableOp, found: RescaledAccumulator) -> RescaledAccumulator | None:
    """``found``, if the loop carries it for no other use."""
    if found.argument.index == 0 or len(list(found.argument.uses)) != 1:
        return None
    uses, last = list(dot.result.uses), terminator(parent_block(dot))
    returned = len(uses) == 1 and uses[0].operation is last and uses[0].index == found.argument.index - 1
    return found if returned else None


def _comes_from(value: SSAValue, dot: Operation, block: Block) -> bool:
    """Whether a value of a block depends on the accumulator of a dot."""
    return dot in operations_behind([value], block)


def is_computed_by_dot(value: SSAValue, block: Block) -> bool:
    """Whether a value of a block depends on the accumulator of some dot there."""
    return any(op.name == DOT for op in operations_behind([value], block))


def has_scores(func: Operation) -> bool:
    """Whether a dot of a kernel computes the left operand of another one, as in attention."""
    return any(is_computed_by_dot(dot.lhs, parent_block(dot)) for dot in dots_in(func))


def stationary_lhs_load(dot: TableOp) -> tuple[TableOp, list[Operation]] | None:
    """The tiled_load before the loop of a dot that loads its left operand, and the operations between; None where the
    tile has other uses.
    """
    found = source_load_of(dot.lhs)
    if found is None or found[0].parent is dot.parent:
        return None
    load, chain = found
    read = all(_is_lhs_of(load.value, use.operation, use.index) for use in load.value.uses)
    return found if read and all(link.parent is load.parent for link in chain) else None


def _is_lhs_of(value: SSAValue, user: Operation, index: int) -> bool:
    """Whether a tile is used only as the left operand of dots."""
    if user.name == DOT:
        return index == 0
    results = user.results if is_value_forwarding(user) else ()
    return bool(results) and all(
        _is_lhs_of(result, use.operation, use.index) for result in results for use in result.uses
    )


def enclosing_loop(dot: Operation) -> Operation:
    """The loop whose body contains a dot."""
    return parent_op(dot)
