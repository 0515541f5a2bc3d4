"""The way of a tile from its load to a matrix product, and what may run ahead of the program to fetch it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import block_of, last_op, owner, parent, row, tile_type
from ...ir.dialects.fast_xdsl import text_of, walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import (
    changes_memory,
    is_agents,
    is_choice,
    is_continue,
    is_counted_loop,
    is_entry,
    is_exit,
    is_loop,
    is_return,
    keeps_zeros,
    passes_through,
    waits_for_grid,
)
from ...ir.layouts import SharedLayout
from .memory_order import acquires
from .op_queries import is_pure, is_tile, may_divide_by_zero, may_end, tiles

# What multiplies: in registers, or with operands in shared memory.
PRODUCTS = ("nv_tileas.dot", "nv_tileas.async.dot")
TOKEN = "nv_tileaa.mem_token"


def chain_to(load: TableOperation, product: TableOperation, index: int) -> list[Operation] | None:
    """The single-use operations from a load's tile to operand ``index`` of a product of the same block."""
    chain: list[Operation] = []
    value = load.value
    while len(uses := list(value.uses)) == 1:
        user = uses[0].operation
        if user is product:
            return chain if uses[0].index == index else None
        if not passes_through(user) or user.parent is not product.parent or len(user.results) != 1:
            return None
        chain.append(user)
        value = user.results[0]
    return None


def load_behind(value: SSAValue) -> tuple[TableOperation, list[Operation]] | None:
    """The tiled_load that a tile comes from, and the operations between; None where something else makes it."""
    chain: list[Operation] = []
    while isinstance(value.owner, Operation) and passes_through(value.owner):
        chain.insert(0, value.owner)
        value = value.owner.operands[0]
    load = value.owner
    return (row(load), chain) if isinstance(load, Operation) and load.name == "nv_tileas.tiled_load" else None


def source_load(product: TableOperation, index: int) -> tuple[TableOperation, list[Operation]] | None:
    """The tiled_load of the product's own block whose tile only becomes operand ``index``, and the operations between."""
    found = load_behind(product.operands[index])
    if found is None or found[0].parent is not product.parent:
        return None
    chain = chain_to(found[0], product, index)
    return None if chain is None else (found[0], chain)


def rounds_to_tf32(link: Operation) -> bool:
    """Whether a conversion is the one that tensor maps of tf32 make of f32: to nearest even (``TensorBox``)."""
    if link.name != "nv_tileas.fp_to_fp" or row(link).rounding_mode != "nearest_even":
        return False
    types = [text_of(tile_type(value).element_type) for value in (link.operands[0], link.results[0])]
    return types == ["f32", "tf32"]


def placement_after(
    chain: list[Operation], placement: SharedLayout, *, renames_only: bool = True
) -> SharedLayout | None:
    """The placement of the operand in the memory of its load; None where the chain does more than rename elements.

    Rounding to tf32 is done on the way to shared memory. ``renames_only=False``: what converts elements after it is
    passed over.
    """
    for link in chain:
        if link.name == "nv_tileas.view":
            placement = placement.reshape(tile_type(link.results[0]).get_shape())
        elif link.name == "nv_tileas.permute":
            placement = placement.permute_dims(row(link).permutation)
        elif link.name != "nv_tileas.convert_layout" and renames_only and not rounds_to_tf32(link):
            return None
    return placement


def only_accumulates(product: TableOperation) -> bool:
    """Whether the loop does nothing with the sum but add to it, and multiplies nothing else."""
    block = block_of(product)
    last = block.last_op
    argument = product.acc
    if not isinstance(argument.owner, Block) or argument.owner is not block or len(list(argument.uses)) != 1:
        return False
    others = sum(op.name in PRODUCTS for op in walk(block))
    uses = list(product.result.uses)
    returns = len(uses) == 1 and uses[0].operation is last and uses[0].index == argument.index - 1
    return returns and others == 1


def loops_around(op: Operation) -> list[TableOperation] | None:
    """The counted loops around an operation, outermost first; None where something else is, or a loop has other exits.

    Choices may be around loops (``choices_around_loops``).
    """
    found: list[TableOperation] = []
    around = op.parent_op()
    while around is not None and not _begins_a_program(around):
        if is_counted_loop(around) and runs_to_its_end(around):
            found.insert(0, around)
        elif not found or not is_choice(around):
            return None
        around = around.parent_op()
    return found


def choices_around_loops(op: Operation) -> list[TableOperation]:
    """The choices around the loops around an operation."""
    found: list[TableOperation] = []
    around = op.parent_op()
    while around is not None and not _begins_a_program(around):
        if is_choice(around):
            found.insert(0, around)
        around = around.parent_op()
    return found


def early_returns(func: Operation) -> list[Operation]:
    """The returns of a kernel but the one that ends it."""
    return [op for op in walk(func) if is_return(op) and op is not last_op(func.regions[0].blocks[0])]


def choices_around(op: Operation) -> list[TableOperation] | None:
    """The choices around an operation, outermost first; None where something else is."""
    found: list[TableOperation] = []
    around = parent(op)
    while not _begins_a_program(around):
        if not is_choice(around):
            return None
        found.insert(0, around)
        around = parent(around)
    return found


def _begins_a_program(op: Operation) -> bool:
    """Whether control flow begins inside of an operation: a kernel, or its agents."""
    return is_entry(op) or is_agents(op)


def kernel_of(op: Operation) -> Operation:
    """The function around an operation."""
    while not is_entry(op):
        op = parent(op)
    return op


def runs_to_its_end(loop: Operation) -> bool:
    """Whether a loop makes all its iterations, each of them whole."""
    block = loop.regions[0].blocks[0]
    last = block.last_op
    if last is None or not is_continue(last):
        return False
    return not any(is_return(op) or (is_exit(op) and op is not last and _leaves(op, loop)) for op in walk(block))


def _leaves(op: Operation, loop: Operation) -> bool:
    """Whether a continue or break belongs to ``loop`` and not to a loop inside it."""
    around = op.parent_op()
    while around is not None and not is_loop(around):
        around = around.parent_op()
    return around is loop


def is_inside(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is made in the body of a loop."""
    place = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while place is not None and (around := place.parent_op()) is not None:
        if around is loop:
            return True
        place = around.parent
    return False


def is_zero(value: SSAValue) -> bool:
    """Whether a tile is known to hold zeros."""
    while isinstance(value.owner, Operation) and keeps_zeros(value.owner):
        value = value.owner.operands[0]
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return False
    constant = value.owner.properties["value"]
    if isinstance(constant, IntegerAttr | FloatAttr):
        return constant.value.data == 0
    return hasattr(constant, "as_array") and not constant.as_array().any()


def runs_free(token: SSAValue | None) -> bool:
    """Whether nothing that a memory token stands for must come first: a write, an acquire, the grid before this one."""
    return not stands_for(token, _orders)


def stands_for(token: SSAValue | None, acts: Callable[[Operation], bool], seen: set[SSAValue] | None = None) -> bool:
    """Whether an operation for which ``acts`` holds may be among those that a memory token comes after."""
    seen = set() if seen is None else seen
    if token is None or token in seen:
        return False
    seen.add(token)
    if isinstance(token, BlockArgument):
        return _carries(token, acts, seen)
    made_by = owner(token)
    if any(acts(op) for op in walk(made_by)):
        return True
    return any(stands_for(value, acts, seen) for value in made_by.operands if value.type.name == TOKEN)


def _orders(op: Operation) -> bool:
    return acquires(op) or changes_memory(op) or waits_for_grid(op)


def _carries(token: BlockArgument, acts: Callable[[Operation], bool], seen: set[SSAValue]) -> bool:
    loop = token.block.parent_op()
    if loop is None or is_entry(loop):
        return False
    tokens = [value for value in loop.operands if value.type.name == TOKEN]
    return any(acts(op) for op in walk(loop)) or any(stands_for(value, acts, seen) for value in tokens)


def looked_up(op: Operation) -> list[Operation]:
    """The operations by which a kernel takes a scalar from memory: the load of one element, before all loops and with
    nothing that must come first, and what is between it and ``op``; none where ``op`` is something else.

    Such a load may be made at the start of a kernel, by every agent's threads.
    """
    if op.name != "nv_tileas.extract_slice" or is_tile(op.results[0]):
        return []
    found, source = [op], op.operands[0]
    while isinstance(source.owner, Operation) and source.owner.name == "nv_tileas.convert_layout":
        found.append(source.owner)
        source = source.owner.operands[0]
    load = source.owner
    if not isinstance(load, Operation) or load.name != "nv_tileas.tiled_load" or not is_entry(parent(load)):
        return []
    plain = row(load).mem_semantic == "weak" and runs_free(row(load).token) and _may_come_first(load)
    return [*found, load] if plain and prod(tile_type(row(load).value).get_shape()) == 1 else []


def _may_come_first(load: Operation) -> bool:
    """Whether the place of a load may be computed where the kernel has ended before it."""
    block = block_of(load)
    before = itertools.takewhile(lambda op: op is not load, block.ops)
    if not any(map(may_end, before)):
        return True
    waiting, seen = list(load.operands), set[Operation]()
    while waiting:
        op = waiting.pop().owner
        if isinstance(op, Block) or op in seen:
            continue
        if may_divide_by_zero(op):
            return False
        seen.add(op)
        waiting += op.operands
    return True


class ScalarSlice:
    """The scalar operations that values depend on: what a warp that only fetches tiles must compute as well.

    ``values`` that cannot be computed without tiles or memory make ``add`` return False; ``lookups`` are the operations of
    those that one element of memory decides (``looked_up``).
    """

    def __init__(self) -> None:
        self.needed: set[Operation] = set()
        self.lookups: set[Operation] = set()
        self.arguments: set[BlockArgument] = set()

    def add(self, value: SSAValue) -> bool:
        if is_tile(value):
            return False
        return self._add_argument(value) if isinstance(value, BlockArgument) else self._add_result(value)

    def _add_result(self, value: SSAValue) -> bool:
        op = owner(value)
        if op in self.needed:
            return True
        if found := looked_up(op):
            self.needed.add(op)
            self.lookups.update(found)
            load, indices = row(found[-1]), row(op).indices
            return all(self.add(operand) for operand in (load.view, *load.coords, *indices))
        if not is_pure(op) or op.regions or tiles(op.results):
            return False
        self.needed.add(op)
        return all(self.add(operand) for operand in op.operands)

    def _add_argument(self, value: BlockArgument) -> bool:
        if value in self.arguments:
            return True
        self.arguments.add(value)
        loop = value.block.parent_op()
        if loop is None or is_entry(loop) or (is_counted_loop(loop) and value.index == 0):
            return True
        if not is_counted_loop(loop):
            return False
        carried = value.index - 1
        return self.add(row(loop).initial[carried]) and self.add(last_op(value.block).operands[carried])

    def add_return(self, op: Operation) -> bool:
        """The conditions of a return that stands in no loop."""
        choices = choices_around(op)
        return choices is not None and all(self.add(choice.condition) for choice in choices)

    def add_loop(self, loop: TableOperation) -> bool:
        """The bounds of a loop in which something is fetched."""
        return all(self.add(value) for value in (loop.lower, loop.upper, loop.step))
