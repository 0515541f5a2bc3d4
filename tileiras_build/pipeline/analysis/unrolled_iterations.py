"""Operations that compute the same several times over, each time from other constants and from the time before: iterations in a row.

Sound: an alignment is a loop only if every operand of its operations is what the loop has in each iteration: a value from before it, a constant that
       grows by equal steps, a value of the same iteration, or one of the iteration before.
Source: LLVM's LoopReroll; Rocha et al., "Loop Rolling for Code Size Reduction", LCTES 2022 (alignment from seeds, recurrences).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...ir.casting import ancestor_in, defining_op, parent_block, unwrap
from ...ir.dialects.fast_xdsl import block_operations, operands_of
from ..common.cse import are_equal
from .integer_ranges import constant_of
from .memory_semantics import is_weak_load
from .op_queries import is_pure

Ops = tuple[Operation, ...]  # one operation, in each iteration
Values = tuple[SSAValue, ...]  # one operand, in each iteration


class Iterations:
    """The operations that compute ``seeds``, one of each iteration, or are computed from them: nodes, of one operation in each iteration."""

    def __init__(self, seeds: Sequence[Operation]):
        self.block, self.trips = parent_block(seeds[0]), len(seeds)
        self.order = {op: number for number, op in enumerate(block_operations(self.block))}
        self.nodes: list[Ops] = []
        self.places: dict[Operation | Block, tuple[int, int]] = {}  # node and iteration
        self.counters: dict[Values, tuple[int, int]] = {}  # integer constants: the first, and the step
        self.carried: list[Values] = []  # what a node has computed in the iteration before
        self.invariant: set[SSAValue] = set()
        self._aligned: set[Values] = set()
        self._agree = self._add(tuple(seeds)) and self._add_users()

    def are_loop(self) -> bool:
        """Whether a loop behind the last operation does the same."""
        sources = [*self.invariant, *(values[0] for values in self.carried)]
        return (
            self._agree
            and all(map(self.next_of, self.carried))
            and not any(value.owner in self.places for value in sources)
            and all(self._leaves_carried(op) for node in self.nodes for op in node)
        )

    @cached_property
    def last(self) -> Operation:
        """The last operation in the block."""
        return max((op for node in self.nodes for op in node), key=self.order.__getitem__)

    def columns(self, node: Ops) -> list[Values]:
        """The operands of a node."""
        return list(zip(*map(operands_of, node), strict=True))

    def next_of(self, values: Values) -> tuple[int, int] | None:
        """The node and the number of its result that are ``values`` in the next iteration; None for other values."""
        second = values[1]
        if not isinstance(second, OpResult) or second.op not in self.places:
            return None
        node = self.places[second.op][0]
        results = [op.results[second.index] for op in self.nodes[node][:-1]]
        return (node, second.index) if all(a is b for a, b in zip(values[1:], results, strict=True)) else None

    def result(self, values: Values, iteration: int) -> SSAValue:
        """What an iteration leaves of what is carried."""
        node, index = unwrap(self.next_of(values))
        return self.nodes[node][iteration].results[index]

    def counts(self, node: Ops) -> bool:
        """Whether an operand of a node is a constant that grows."""
        return any(column in self.counters for column in self.columns(node))

    # ---- alignment -------------------------------------------------------------------------------
    def _add(self, ops: Ops) -> bool:
        """Whether operations are one node, and so are those that compute its operands."""
        if any(op in self.places for op in ops):
            return ops in self.nodes
        if len(set(ops)) < len(ops) or not all(self._are_alike(ops[0], op) for op in ops):
            return False
        self.places.update((op, (len(self.nodes), iteration)) for iteration, op in enumerate(ops))
        self.nodes.append(ops)
        return (is_pure(ops[0]) or is_weak_load(ops[0])) and all(map(self._align, self.columns(ops)))

    def _are_alike(self, a: Operation, b: Operation) -> bool:
        same = type(a) is type(b) and b in self.order and len(a.operands) == len(b.operands) and are_equal(a, b)
        return same and all(x.is_structurally_equivalent(y) for x, y in zip(a.regions, b.regions))

    def _align(self, values: Values) -> bool:
        """Whether the loop may have what an operand is in each iteration."""
        if values in self._aligned:
            return True
        self._aligned.add(values)
        if all(value is values[0] for value in values):
            self.invariant.add(values[0])
            return True
        constants = [constant for constant in map(constant_of, values) if constant is not None]
        if len(constants) == self.trips:
            return self._count(values, constants)
        if self.next_of(values) is None and self._are_results(values):
            return self._add(tuple(map(defining_op, values)))
        self.carried.append(values)
        return True

    def _count(self, values: Values, constants: Sequence[int]) -> bool:
        start, step = constants[0], constants[1] - constants[0]
        self.counters[values] = start, step
        return values[0].type == i32 and list(constants) == [start + step * trip for trip in range(self.trips)]

    def _are_results(self, values: Values) -> bool:
        """Whether values are the same result of operations that are alike."""
        first = values[0]
        return isinstance(first, OpResult) and all(
            isinstance(value, OpResult) and value.index == first.index and self._are_alike(first.op, value.op)
            for value in values
        )

    def _add_users(self) -> bool:
        """Whether what uses a node in the first iteration is a node, too."""
        for node in self.nodes:  # grows
            for result in node[0].results:
                for use in list(result.uses):
                    if use.operation not in self.places and not self._add_user(
                        node, result.index, use.operation, use.index
                    ):
                        return False
        return True

    def _add_user(self, node: Ops, index: int, user: Operation, operand: int) -> bool:
        """Whether the user of a result is a node, with those that use the result as the same operand in other iterations."""
        users = [self._users(op.results[index], user, operand) for op in node]
        number = users[0].index(user) if user in users[0] else None
        if number is None or any(number >= len(row) for row in users):
            return False
        return self._add(tuple(row[number] for row in users))

    def _users(self, value: SSAValue, like: Operation, operand: int) -> list[Operation]:
        """What uses a value as an operand of an operation that is like another one, in order, as far as it is no node yet."""
        users = {use.operation for use in value.uses if use.index == operand} - self.places.keys()
        return sorted((user for user in users if self._are_alike(like, user)), key=self.order.__getitem__)

    def _leaves_carried(self, op: Operation) -> bool:
        """Whether others need only what the last iteration leaves of what is carried, behind it."""
        uses = [
            (result.index, use.operation)
            for result in op.results
            for use in result.uses
            if use.operation not in self.places
        ]
        node, iteration = self.places[op]
        left = {self.next_of(values) for values in self.carried}
        return all(
            iteration == self.trips - 1 and (node, index) in left and self._is_behind(user) for index, user in uses
        )

    def _is_behind(self, user: Operation) -> bool:
        place = ancestor_in(user, self.block)
        return place is not None and self.order[place] > self.order[self.last]
