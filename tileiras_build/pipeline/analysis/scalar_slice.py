"""Scalars that every partition can compute, and tokens that order nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, defining_op, parent_block, parent_op, terminator, tile_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    is_counted_loop,
    is_function,
    waits_for_grid,
    writes_memory,
)
from .enclosing_control_flow import enclosing_ifs
from .memory_semantics import acquires
from .op_queries import is_pure, is_tile, may_divide_by_zero, may_end, tiles

TOKEN = "nv_tileaa.mem_token"


def is_unordered_token(token: SSAValue | None) -> bool:
    """Whether a memory token orders nothing: it depends on no write, acquire or previous grid."""
    return not may_depend_on(token, _is_ordering)


def may_depend_on(token: SSAValue | None, acts: Callable[[Operation], bool], seen: set[SSAValue] | None = None) -> bool:
    """Whether a memory token may depend on an operation for which ``acts`` holds."""
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
    """The operations by which a kernel loads a scalar: the load of one element, before all loops and without token
    dependences, and the operations up to ``op``; none if ``op`` is something else.

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
    """Whether the address of a load may be computed even if the kernel has returned before it."""
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
    of scalars that are loaded from memory (``hoistable_scalar_loads``).
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
