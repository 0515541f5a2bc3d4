"""Loops of two products of which one makes the left operand of the other, whose sum the loop carries: attention's."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import block_of, last_op, parent, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_counted_loop, passes_through
from .view_chains import is_zero, load_behind, runs_to_its_end

DOT, LOAD, SCALE = "nv_tileas.dot", "nv_tileas.tiled_load", "nv_tileas.mulf"


@dataclass(frozen=True)
class RunningSum:
    """What a product adds to: a tile that the loop carries, multiplied by ``factor`` in each iteration by ``scale``,
    where there are such."""

    argument: BlockArgument
    factor: SSAValue | None = None
    scale: Operation | None = None


@dataclass(frozen=True)
class ChainedProducts:
    """``first`` starts from zero; ``last`` has a running sum, and a left operand that is computed from the first one's."""

    first: TableOperation
    last: TableOperation

    @property
    def rows(self) -> int:
        """Of both sums."""
        return self.first.result.type.get_shape()[0]


def chained_products(loop: Operation) -> ChainedProducts | None:
    """The two products of a counted loop; None where it has others, or does something else with their sums."""
    products = [op for op in walk(loop) if op.name == DOT]
    if len(products) != 2 or not is_counted_loop(loop) or not runs_to_its_end(loop):
        return None
    first, last = map(row, products)
    block = loop.regions[0].blocks[0]
    if first.parent is not block or last.parent is not block or not is_zero(first.acc):
        return None
    chained = running_sum(last) is not None and _comes_from(last.lhs, first, block)
    return ChainedProducts(first, last) if chained else None


def chains_of(func: Operation) -> list[ChainedProducts]:
    """The chained products of a kernel; none where it has others as well."""
    loops = dict.fromkeys(loop_of(op) for op in walk(func) if op.name == DOT)
    found = [chained_products(loop) for loop in loops]
    chains = [chain for chain in found if chain is not None]
    return chains if len(chains) == len(found) else []


def running_sum(product: TableOperation) -> RunningSum | None:
    """The sum that a loop carries for a product alone; None where it does more with it than to scale it and to add."""
    if product.acc.owner is block_of(product):
        return _carried(product, RunningSum(product.acc))
    scale = product.acc.owner
    if not isinstance(scale, Operation) or not _only_scales(scale, product):
        return None
    for argument, factor in (scale.operands, reversed(scale.operands)):
        if isinstance(argument, BlockArgument) and argument.owner is product.parent:
            return _carried(product, RunningSum(argument, factor, scale))
    return None


def _only_scales(scale: Operation, product: TableOperation) -> bool:
    """Whether a multiplication leaves a number alone where the factor is 1, and the product reads no other result of it."""
    if scale.name != SCALE or scale.parent is not product.parent or len(list(scale.results[0].uses)) != 1:
        return False
    return row(scale).rounding_mode == "nearest_even" and not row(scale).flush_to_zero


def _carried(product: TableOperation, found: RunningSum) -> RunningSum | None:
    """``found``, if the loop carries it for nothing else."""
    if found.argument.index == 0 or len(list(found.argument.uses)) != 1:
        return None
    uses, last = list(product.result.uses), last_op(block_of(product))
    returned = len(uses) == 1 and uses[0].operation is last and uses[0].index == found.argument.index - 1
    return found if returned else None


def _comes_from(value: SSAValue, product: Operation, block: Block) -> bool:
    """Whether a value of a block is computed from the sum of a product."""
    seen: set[Operation] = set()
    waiting = [value]
    while waiting:
        op = waiting.pop().owner
        if op is product:
            return True
        if isinstance(op, Operation) and op.parent is block and op not in seen:
            seen.add(op)
            waiting += [operand for inner in walk(op) for operand in inner.operands]
    return False


def resident_load(product: TableOperation) -> tuple[TableOperation, list[Operation]] | None:
    """The tiled_load outside the loop of a product whose tile is its left operand, and the operations between; None where
    something else reads the tile."""
    found = load_behind(product.lhs)
    if found is None or found[0].parent is product.parent:
        return None
    load, chain = found
    read = all(_is_left_operand(load.value, use.operation, use.index) for use in load.value.uses)
    return found if read and all(link.parent is load.parent for link in chain) else None


def _is_left_operand(value: SSAValue, user: Operation, index: int) -> bool:
    """Whether a use of a tile makes it the left operand of products, and nothing else."""
    if user.name == DOT:
        return index == 0
    results = user.results if passes_through(user) else ()
    return bool(results) and all(
        _is_left_operand(result, use.operation, use.index) for result in results for use in result.uses
    )


def loop_of(product: Operation) -> Operation:
    """The loop in whose body a product stands."""
    return parent(product)
