"""The chain of operations from a load to the dot that uses its tile, and what may run ahead to load it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, defining_op, parent_block, parent_op, terminator, tile_type
from ...ir.dialects.fast_xdsl import string_of, walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    is_agent_switch,
    is_continue,
    is_counted_loop,
    is_function,
    is_if,
    is_loop,
    is_loop_exit,
    is_return,
    is_value_forwarding,
    preserves_zero,
    waits_for_grid,
    writes_memory,
)
from ...ir.layouts import SharedLayout
from .memory_order import acquires
from .op_queries import is_pure, is_tile, may_divide_by_zero, may_end, tiles

# What multiplies: in registers, or with operands in shared memory.
DOTS = ("nv_tileas.dot", "nv_tileas.async.dot")
TOKEN = "nv_tileaa.mem_token"


def view_chain_to(load: TableOp, dot: TableOp, index: int) -> list[Operation] | None:
    """The single-use operations from a load's tile to operand ``index`` of a dot of the same block."""
    chain: list[Operation] = []
    value = load.value
    while len(uses := list(value.uses)) == 1:
        user = uses[0].operation
        if user is dot:
            return chain if uses[0].index == index else None
        if not is_value_forwarding(user) or user.parent is not dot.parent or len(user.results) != 1:
            return None
        chain.append(user)
        value = user.results[0]
    return None


def source_load_of(value: SSAValue) -> tuple[TableOp, list[Operation]] | None:
    """The tiled_load that a tile comes from, and the operations between; None where it has another source."""
    chain: list[Operation] = []
    while isinstance(value.owner, Operation) and is_value_forwarding(value.owner):
        chain.insert(0, value.owner)
        value = value.owner.operands[0]
    load = value.owner
    return (as_op(load), chain) if isinstance(load, Operation) and load.name == "nv_tileas.tiled_load" else None


def dot_operand_load(dot: TableOp, index: int) -> tuple[TableOp, list[Operation]] | None:
    """The tiled_load of the dot's own block whose tile only becomes operand ``index``, and the operations between."""
    found = source_load_of(dot.operands[index])
    if found is None or found[0].parent is not dot.parent:
        return None
    chain = view_chain_to(found[0], dot, index)
    return None if chain is None else (found[0], chain)


def rounds_to_tf32(link: Operation) -> bool:
    """Whether a conversion rounds as TMA does from f32 to tf32: to nearest even (``TensorBox``)."""
    if link.name != "nv_tileas.fp_to_fp" or as_op(link).rounding_mode != "nearest_even":
        return False
    types = [string_of(tile_type(value).element_type) for value in (link.operands[0], link.results[0])]
    return types == ["f32", "tf32"]


def smem_layout_after_views(
    chain: list[Operation], smem_layout: SharedLayout, *, renames_only: bool = True
) -> SharedLayout | None:
    """The placement of the operand in the memory of its load; None where the chain does more than rename elements.

    Rounding to tf32 is done on the way to shared memory. ``renames_only=False``: what converts elements after it is
    passed over.
    """
    for link in chain:
        if link.name == "nv_tileas.view":
            smem_layout = smem_layout.reshape(tile_type(link.results[0]).get_shape())
        elif link.name == "nv_tileas.permute":
            smem_layout = smem_layout.permute_dims(as_op(link).permutation)
        elif link.name != "nv_tileas.convert_layout" and renames_only and not rounds_to_tf32(link):
            return None
    return smem_layout


def is_accumulation_loop(dot: TableOp) -> bool:
    """Whether the loop only accumulates into the accumulator, and has no other dot."""
    block = parent_block(dot)
    last = block.last_op
    argument = dot.acc
    if not isinstance(argument.owner, Block) or argument.owner is not block or len(list(argument.uses)) != 1:
        return False
    others = sum(op.name in DOTS for op in walk(block))
    uses = list(dot.result.uses)
    returns = len(uses) == 1 and uses[0].operation is last and uses[0].index == argument.index - 1
    return returns and others == 1


def enclosing_loops(op: Operation) -> list[TableOp] | None:
    """The counted loops around an operation, outermost first; None where something else is, or a loop has other exits.

    Branches may be around the loops (``ifs_around_loops``).
    """
    found: list[TableOp] = []
    around = op.parent_op()
    while around is not None and not _is_control_root(around):
        if is_counted_loop(around) and has_no_early_exit(around):
            found.insert(0, around)
        elif not found or not is_if(around):
            return None
        around = around.parent_op()
    return found


def ifs_around_loops(op: Operation) -> list[TableOp]:
    """The branches around the loops around an operation."""
    found: list[TableOp] = []
    around = op.parent_op()
    while around is not None and not _is_control_root(around):
        if is_if(around):
            found.insert(0, around)
        around = around.parent_op()
    return found


def early_returns(func: Operation) -> list[Operation]:
    """The returns of a kernel but the one that ends it."""
    return [op for op in walk(func) if is_return(op) and op is not terminator(func.regions[0].blocks[0])]


def enclosing_ifs(op: Operation) -> list[TableOp] | None:
    """The branches around an operation, outermost first; None where something else is."""
    found: list[TableOp] = []
    around = parent_op(op)
    while not _is_control_root(around):
        if not is_if(around):
            return None
        found.insert(0, around)
        around = parent_op(around)
    return found


def _is_control_root(op: Operation) -> bool:
    """Whether control flow starts inside of an operation: a kernel, or its partitions."""
    return is_function(op) or is_agent_switch(op)


def enclosing_kernel(op: Operation) -> Operation:
    """The function around an operation."""
    while not is_function(op):
        op = parent_op(op)
    return op


def has_no_early_exit(loop: Operation) -> bool:
    """Whether a loop runs all its iterations to their ends."""
    block = loop.regions[0].blocks[0]
    last = block.last_op
    if last is None or not is_continue(last):
        return False
    return not any(
        is_return(op) or (is_loop_exit(op) and op is not last and _exits_loop(op, loop)) for op in walk(block)
    )


def _exits_loop(op: Operation, loop: Operation) -> bool:
    """Whether a continue or break belongs to ``loop`` and not to a loop inside it."""
    around = op.parent_op()
    while around is not None and not is_loop(around):
        around = around.parent_op()
    return around is loop


def is_defined_in_loop(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is defined in the body of a loop."""
    place = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while place is not None and (around := place.parent_op()) is not None:
        if around is loop:
            return True
        place = around.parent
    return False


def is_zero(value: SSAValue) -> bool:
    """Whether a tile is known to be all zeros."""
    while isinstance(value.owner, Operation) and preserves_zero(value.owner):
        value = value.owner.operands[0]
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return False
    constant = value.owner.properties["value"]
    if isinstance(constant, IntegerAttr | FloatAttr):
        return constant.value.data == 0
    return hasattr(constant, "as_array") and not constant.as_array().any()


def is_unordered_token(token: SSAValue | None) -> bool:
    """Whether a memory token orders nothing: no write, acquire or previous grid comes before it."""
    return not may_depend_on(token, _is_ordering)


def may_depend_on(token: SSAValue | None, acts: Callable[[Operation], bool], seen: set[SSAValue] | None = None) -> bool:
    """Whether an operation for which ``acts`` holds may be among those that a memory token comes after."""
    seen = set() if seen is None else seen
    if token is None or token in seen:
        return False
    seen.add(token)
    if isinstance(token, BlockArgument):
        return _carries_dependence(token, acts, seen)
    made_by = defining_op(token)
    if any(acts(op) for op in walk(made_by)):
        return True
    return any(may_depend_on(value, acts, seen) for value in made_by.operands if value.type.name == TOKEN)


def _is_ordering(op: Operation) -> bool:
    return acquires(op) or writes_memory(op) or waits_for_grid(op)


def _carries_dependence(token: BlockArgument, acts: Callable[[Operation], bool], seen: set[SSAValue]) -> bool:
    loop = token.block.parent_op()
    if loop is None or is_function(loop):
        return False
    tokens = [value for value in loop.operands if value.type.name == TOKEN]
    return any(acts(op) for op in walk(loop)) or any(may_depend_on(value, acts, seen) for value in tokens)


def hoistable_scalar_loads(op: Operation) -> list[Operation]:
    """The operations by which a kernel loads a scalar from memory: the load of one element, before all loops and not
    ordered after anything, and the operations up to ``op``; none where ``op`` is something else.

    The threads of every partition may execute such a load at the start of a kernel.
    """
    if op.name != "nv_tileas.extract_slice" or is_tile(op.results[0]):
        return []
    found, source = [op], op.operands[0]
    while isinstance(source.owner, Operation) and source.owner.name == "nv_tileas.convert_layout":
        found.append(source.owner)
        source = source.owner.operands[0]
    load = source.owner
    if not isinstance(load, Operation) or load.name != "nv_tileas.tiled_load" or not is_function(parent_op(load)):
        return []
    plain = as_op(load).mem_semantic == "weak" and is_unordered_token(as_op(load).token) and _may_be_hoisted(load)
    return [*found, load] if plain and prod(tile_type(as_op(load).value).get_shape()) == 1 else []


def _may_be_hoisted(load: Operation) -> bool:
    """Whether the address of a load may be computed even where the kernel has returned before it."""
    block = parent_block(load)
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
    """The scalar operations that values depend on, which a producer warp must compute as well.

    ``add`` returns False for ``values`` that cannot be computed without tiles or memory; ``lookups`` are the operations
    of values that are loaded from one element of memory (``looked_up``).
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
        op = defining_op(value)
        if op in self.needed:
            return True
        if found := hoistable_scalar_loads(op):
            self.needed.add(op)
            self.lookups.update(found)
            load, indices = as_op(found[-1]), as_op(op).indices
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
        if loop is None or is_function(loop) or (is_counted_loop(loop) and value.index == 0):
            return True
        if not is_counted_loop(loop):
            return False
        carried = value.index - 1
        return self.add(as_op(loop).initial[carried]) and self.add(terminator(value.block).operands[carried])

    def add_return(self, op: Operation) -> bool:
        """Add the conditions of a return outside of loops."""
        choices = enclosing_ifs(op)
        return choices is not None and all(self.add(choice.condition) for choice in choices)

    def add_loop(self, loop: TableOp) -> bool:
        """Add the bounds of a loop with loads."""
        return all(self.add(value) for value in (loop.lower, loop.upper, loop.step))
