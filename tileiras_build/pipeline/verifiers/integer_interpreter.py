"""Interpret a tile program on its integers only, for verifiers that enumerate runs.

A run fixes the trip count of loops and the side of branches whose condition is unknown. The passes that are verified
recurse over the structure of the program instead, so the two do not share a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NoReturn

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...core.errors import InternalError
from ...ir.casting import str_attr
from .control_flow_paths import BRANCH, BREAK, CONTINUE, LOOPS, RETURN

MAX_KNOWN_TRIPS = 64  # of a loop until break, more than of one whose condition is unknown


class IntegerInterpreter:
    """One run of a kernel: loops of ``trips`` trips, branches to region ``arm``, and the known integers.

    A verifier defines ``step`` for the operations that it checks, and which operations on integers are evaluated.
    """

    error_id = ""  # the id of its errors
    arithmetic: Mapping[str, Callable[[int, int], int]] = MappingProxyType({})
    compare: Mapping[str, Callable[[int, int], bool]] = MappingProxyType({})

    def __init__(self, kernel: Operation, trips: int, arm: int):
        self.kernel, self.trips, self.branch = kernel, trips, arm
        self.known_integers: dict[SSAValue, int | None] = {}
        self.last_trip: set[Operation] = set()  # loops until break that end in this trip

    def step(self, op: Operation) -> None:
        """Run an operation without regions."""
        raise NotImplementedError

    def indices(self, op: Operation) -> Iterable[int | None]:
        """The induction variable in each trip of a counted loop, None where the verifier does not need it."""
        return [None] * self.trips

    # ---- control -----------------------------------------------------------------------------------------------
    def block(self, block: Block) -> Operation | None:
        """Execute a block; return the break, continue or return that left it, or None."""
        for op in block.ops:
            if op.name in (BREAK, CONTINUE, RETURN):
                return op
            if op.name in LOOPS or op.name == BRANCH:
                if (left := self._branch(op) if op.name == BRANCH else self._loop(op)) is not None:
                    return left
            else:
                self.step(op)
        return None

    def _loop(self, op: Operation) -> Operation | None:
        """Execute a loop; return the return that left it, or None."""
        counted = op.name == LOOPS[0]
        block = op.regions[0].blocks[0]
        values = self._known(op.operands[3:] if counted else op.operands)
        for index in self.indices(op) if counted else range(self.trips + MAX_KNOWN_TRIPS):
            if counted:
                self.known_integers[block.args[0]] = index
            elif index is not None and index >= self.trips:
                self.last_trip.add(op)
            self.known_integers.update(zip(block.args[1:] if counted else block.args, values))
            left = self.block(block)
            if left is not None and left.name == RETURN:
                return left
            if left is not None:
                values = self._known(left.operands)
                if left.name == BREAK:
                    break
        self.last_trip.discard(op)
        self.known_integers.update(zip(op.results, values))
        return None

    def _branch(self, op: Operation) -> Operation | None:
        condition = self.known_integers.get(op.operands[0])
        arm = self._unknown_arm(op) if condition is None else int(not condition)
        block = op.regions[arm].blocks[0]
        left = self.block(block)
        if left is None and block.last_op is not None:
            self.known_integers.update(zip(op.results, self._known(block.last_op.operands)))
        return left

    def _unknown_arm(self, op: Operation) -> int:
        """The side of a branch whose condition is unknown: in the last trip of a loop, the one that ends with its break."""
        for arm, region in enumerate(op.regions):
            last = region.blocks[0].last_op
            if last is not None and last.name == BREAK and _loop_of(last) in self.last_trip:
                return arm
        return self.branch

    # ---- integers ----------------------------------------------------------------------------------------------
    def _known(self, values: Iterable[SSAValue]) -> list[int | None]:
        return [self.known_integers.get(value) for value in values]

    def evaluate(self, op: Operation) -> int | None:
        """The result of an operation on integers, or of a select with a known result; None if it is unknown."""
        if op.name == "arith.constant":
            value = op.properties["value"]
            return value.value.data if isinstance(value, IntegerAttr) else None
        if op.name == "arith.select" and (condition := self.known_integers.get(op.operands[0])) is not None:
            return self._known([op.operands[1 if condition else 2]])[0]
        compute = (
            self.compare.get(str_attr(op, "predicate")) if op.name == "arith.cmpi" else self.arithmetic.get(op.name)
        )
        if compute is None:
            return None
        values = [number for number in self._known(op.operands) if number is not None]
        return int(compute(*values)) if len(values) == len(op.operands) else None

    def fail(self, message: str) -> NoReturn:
        """Raise InternalError with ``error_id``."""
        name = str_attr(self.kernel, "sym_name")
        raise InternalError(
            self.error_id, f"kernel {name}, loops run {self.trips} times: {message}", remedy="report this as a bug"
        )


def _loop_of(op: Operation) -> Operation | None:
    around = op.parent_op()
    while around is not None and around.name not in LOOPS:
        around = around.parent_op()
    return around
