"""Scalars that every partition can compute, and tokens that order nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from ...ir.casting import as_op, defining_op, parent_op, tile_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    is_counted_loop,
    is_function,
    is_if,
    is_loop,
    is_loop_exit,
    is_token_ordered,
    is_yield,
    waits_for_grid,
    writes_memory,
)
from ..common.rebuilt_loops import control_operands
from .enclosing_control_flow import enclosing_control_flow, exits_of, loop_of
from .memory_semantics import acquires, is_weak_load
from .op_queries import is_pure, is_tile

TOKEN = "nv_tileaa.mem_token"


# ---- tokens --------------------------------------------------------------------------------------
def is_unordered_token(token: SSAValue | None) -> bool:
    """Whether a memory token orders nothing: it depends on no write, acquire or previous grid."""
    return not may_depend_on(token, lambda op: _is_ordering(op) or waits_for_grid(op))


def follows_no_write(token: SSAValue | None) -> bool:
    """Whether a memory token depends on no write or acquire of this kernel."""
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
    return acquires(op) or writes_memory(op)


def _carries_dependence(token: BlockArgument, acts: Callable[[Operation], bool], seen: set[SSAValue]) -> bool:
    loop = token.block.parent_op()
    if loop is None or is_function(loop):
        return False
    tokens = [value for value in loop.operands if value.type.name == TOKEN]
    return any(acts(op) for op in walk(loop)) or any(may_depend_on(value, acts, seen) for value in tokens)


def accesses_after(token: SSAValue | None, seen: set[SSAValue] | None = None) -> Iterator[Operation]:
    """The first accesses on each path of a token after it."""
    seen = set() if seen is None else seen
    if token is None or token in seen:
        return
    seen.add(token)
    for use in list(token.uses):
        if is_token_ordered(use.operation):
            yield use.operation
            continue
        for value in _passed_to(use.operation, use.index):
            yield from accesses_after(value, seen)


def writes_after(token: SSAValue | None) -> list[Operation]:
    """The writes and fences that a token may order after it."""
    return [op for op in _accesses_behind(token) if writes_memory(op)]


def _accesses_behind(token: SSAValue | None) -> list[Operation]:
    """The accesses that a token may order after it."""
    waiting, seen, found = [token], set[SSAValue](), dict[Operation, None]()
    while waiting:
        for op in accesses_after(waiting.pop(), seen):
            found[op] = None
            waiting += [result for result in op.results if result.type.name == TOKEN]
    return list(found)


def _passed_to(op: Operation, index: int) -> list[SSAValue]:
    """The tokens that operand ``index`` of an operation may become."""
    if is_loop(op):
        return _carried(op, index - (3 if is_counted_loop(op) else 0))
    if is_loop_exit(op):
        return _carried(loop_of(op), index)
    results = parent_op(op).results if is_yield(op) else op.results
    return [value for value in results if value.type.name == TOKEN]


def _carried(loop: Operation, index: int) -> list[SSAValue]:
    """The argument and the result of a loop-carried value."""
    arguments = loop.regions[0].blocks[0].args[1 if is_counted_loop(loop) else 0 :]
    values = [*arguments[index : index + 1], *loop.results[index : index + 1]]
    return [value for value in values if value.type.name == TOKEN]


# ---- scalars -------------------------------------------------------------------------------------
def is_uniform_load(op: Operation) -> bool:
    """Whether an operation loads one element, the same whenever it is executed between the writes that tokens order before
    and after it, and there are none.

    Any thread may execute such a load, instead of those that run the program, or as well.
    """
    if not is_weak_load(op) or not _holds_one_element(op.results[0]):
        return False
    return follows_no_write(as_op(op).token) and not writes_after(as_op(op).result_token)


def _holds_one_element(value: SSAValue) -> bool:
    return not is_tile(value) or prod(tile_type(value).get_shape()) == 1


class ScalarSlice:
    """The scalars that values, and the control flow around operations, depend on: a partition computes them for itself.

    ``add`` returns False for values that depend on more than one element of a tile, or on memory that the kernel writes;
    ``refused``: the operations that made them. ``needed``: the operations that compute them; ``values``: the arguments and
    results of loops and branches among them; ``control``: the loops and branches whose conditions are.
    """

    def __init__(self) -> None:
        self.needed: set[Operation] = set()
        self.values: set[SSAValue] = set()
        self.refused: list[Operation] = []
        self.control: set[Operation] = set()

    # ---- control flow ----------------------------------------------------------------------------
    def add_control(self, op: Operation) -> bool:
        """Add what decides whether, and how often, an operation runs."""
        around = enclosing_control_flow(op)
        return around is not None and all([self._add_structure(outer) for outer in around])

    def _add_structure(self, op: TableOp) -> bool:
        """Add the condition of a branch, or the bounds of a loop and the conditions of its exits."""
        if op in self.control:
            return True
        self.control.add(op)
        if is_if(op):
            return self.add(op.condition)
        return all([*map(self.add, control_operands(op)), *map(self.add_control, exits_of(op))])

    # ---- values ----------------------------------------------------------------------------------
    def add(self, value: SSAValue) -> bool:
        """Add a value and all that it depends on."""
        if value in self.values:
            return True
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.needed:
            return True
        if not _holds_one_element(value):
            return self._refuse(owner if isinstance(owner, Operation) else owner.parent_op())
        if isinstance(value, BlockArgument):
            return self._add_argument(value)
        assert isinstance(value, OpResult)
        if is_if(value.op) or is_loop(value.op):
            return self._add_structured_result(value, as_op(value.op))
        return self._add_result(value.op)

    def _refuse(self, op: Operation | None) -> bool:
        self.refused += [op] if op is not None else []
        return False

    def _add_result(self, op: Operation) -> bool:
        if is_uniform_load(op):
            self.needed.add(op)
            return all([self.add(operand) for operand in op.operands if operand.type.name != TOKEN])
        if not is_pure(op) or op.regions:
            return self._refuse(op)
        self.needed.add(op)
        return all([self.add(operand) for operand in op.operands])

    def _add_argument(self, value: BlockArgument) -> bool:
        loop = value.block.parent_op()
        if loop is None or is_function(loop):
            return True
        self.values.add(value)
        if not is_loop(loop):
            return self._refuse(loop)
        counted = is_counted_loop(loop)
        if counted and value.index == 0:
            return True
        return self._add_carried(as_op(loop), value.index - counted)

    def _add_carried(self, loop: TableOp, index: int) -> bool:
        """Add a loop-carried value: the initial one, and that of each iteration."""
        kept = [exit.operands[index] for exit in _continues(loop)]
        return all([*map(self.add, (loop.initial[index], *kept))])

    def _add_structured_result(self, value: OpResult, op: TableOp) -> bool:
        self.values.add(value)
        if is_if(op):
            ends = [end for region in op.regions if (end := region.blocks[0].last_op) is not None and is_yield(end)]
            sources = [end.operands[value.index] for end in ends]
        else:
            sources = [exit.operands[value.index] for exit in exits_of(op, breaks=True)]
            sources += [op.regions[0].blocks[0].args[1 + value.index]] if is_counted_loop(op) else []
        return all([self.add_control(op), self._add_structure(op), *map(self.add, sources)])


def _continues(loop: Operation) -> Iterable[Operation]:
    """The operations that end an iteration of a loop, and not the loop."""
    return exits_of(loop, breaks=False)
