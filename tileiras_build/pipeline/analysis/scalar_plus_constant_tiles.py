"""Tiles of coordinates: integers that are one scalar of the program plus a number known for each element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ...ir.casting import tile_type
from ...ir.dialects.op_definition import TableOperation

RENAMES = frozenset({"broadcast", "view", "permute"})


@dataclass(frozen=True)
class Coordinates:
    """Each element is the sum of ``scalars`` and a number from ``least`` to ``most``, in 32 bits that wrap around."""

    scalars: tuple[SSAValue, ...]
    least: int
    most: int

    @classmethod
    def of(cls, tile: SSAValue) -> Coordinates | None:
        """What is known of a tile of i32; None where it is something else."""
        op = tile.owner
        if not isinstance(op, Operation) or (rule := RULES.get(op.name.partition(".")[2])) is None:
            return None
        return rule(op)

    def plus(self, other: Coordinates) -> Coordinates:
        """The sum of two."""
        return Coordinates(self.scalars + other.scalars, self.least + other.least, self.most + other.most)


def _splat(op: TableOperation) -> Coordinates | None:
    return Coordinates((op.operands[0],), 0, 0) if op.operands[0].type == i32 else None


def _range(op: TableOperation) -> Coordinates | None:
    type = tile_type(op.results[0])
    return Coordinates((), 0, type.get_shape()[0] - 1) if type.element_type == i32 else None


def _sum(op: TableOperation) -> Coordinates | None:
    first, second = map(Coordinates.of, op.operands)
    return None if first is None or second is None else first.plus(second)


RULES: dict[str, Callable[[Any], Coordinates | None]] = {
    "splat": _splat,
    "make_range": _range,
    "addi": _sum,
    **dict.fromkeys(RENAMES, lambda op: Coordinates.of(op.operands[0])),
}
