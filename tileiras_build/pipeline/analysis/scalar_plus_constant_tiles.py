"""Tiles of indices: one scalar of the program plus a constant known for each element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ...ir.casting import tile_type
from ...ir.dialects.op_definition import TableOp
from .integer_ranges import constant_of

SMALLEST, LARGEST = -(1 << 31), (1 << 31) - 1  # integers of 32 bits
VIEW_LIKE_OPS = frozenset({"broadcast", "view", "permute"})


@dataclass(frozen=True)
class ScalarPlusConstants:
    """Each element is the sum of ``scalars`` and a constant from ``least`` to ``most``, in 32 bits with wraparound."""

    scalars: tuple[SSAValue, ...]
    min: int
    max: int

    @classmethod
    def of(cls, tile: SSAValue) -> ScalarPlusConstants | None:
        """The decomposition of a tile of i32; None if it has another form."""
        op = tile.owner
        if not isinstance(op, Operation) or (rule := RULES.get(op.name.partition(".")[2])) is None:
            return None
        return rule(op)

    def plus(self, other: ScalarPlusConstants) -> ScalarPlusConstants:
        """The sum of two."""
        return ScalarPlusConstants(self.scalars + other.scalars, self.min + other.min, self.max + other.max)


def _splat(op: TableOp) -> ScalarPlusConstants | None:
    return ScalarPlusConstants((op.operands[0],), 0, 0) if op.operands[0].type == i32 else None


def _range(op: TableOp) -> ScalarPlusConstants | None:
    type = tile_type(op.results[0])
    return ScalarPlusConstants((), 0, type.get_shape()[0] - 1) if type.element_type == i32 else None


def _add(op: TableOp) -> ScalarPlusConstants | None:
    first, second = map(ScalarPlusConstants.of, op.operands)
    return None if first is None or second is None else first.plus(second)


def _subtract(op: TableOp) -> ScalarPlusConstants | None:
    """A difference from constants."""
    first, second = map(ScalarPlusConstants.of, op.operands)
    if first is None or second is None:
        return None
    known = [number for scalar in second.scalars if (number := constant_of(scalar)) is not None]
    least, most = first.min - second.max - sum(known), first.max - second.min - sum(known)
    is_known = len(known) == len(second.scalars) and least >= SMALLEST and most <= LARGEST
    return ScalarPlusConstants(first.scalars, least, most) if is_known else None


RULES: dict[str, Callable[[Any], ScalarPlusConstants | None]] = {
    "splat": _splat,
    "make_range": _range,
    "addi": _add,
    "subi": _subtract,
    **dict.fromkeys(VIEW_LIKE_OPS, lambda op: ScalarPlusConstants.of(op.operands[0])),
}
