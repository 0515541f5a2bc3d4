"""The parsed parts of one operation of Tile IR text, and checks of types that repeat those of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Region, SSAValue

if TYPE_CHECKING:
    from tileiras_build.ir.bytecode.text_parser import TextParser

UNIT = UnitAttr()


@dataclass
class ParsedOp:
    """The parsed parts of one operation."""

    name: str
    results: list[str]
    operands: dict[str, list[SSAValue]] = field(default_factory=dict)
    properties: dict[str, Attribute] = field(default_factory=dict)
    types: dict[str, Attribute] = field(default_factory=dict)
    result_types: list[Attribute] | None = None
    dynamic: list[SSAValue] = field(default_factory=list)
    block_arguments: list[tuple[str, Attribute]] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    sizes: dict[str, tuple[int | None, ...]] = field(default_factory=dict)  # of a view, beside its type

    def single_operand(self, name: str) -> SSAValue:
        return self.operands[name][0]


# Operations whose result type is that of an operand: the text has only the latter.
SAME_TYPE = {
    "assume": "value", "mmaf": "acc", "mmai": "acc", "mmaf_scaled": "acc", "fpowi": "source", "insert": "destination",
    "get_tile_block_id": "block_id_x", "get_num_tile_blocks": "grid_size_x", "memory_fence_alias_tko": "token",
}  # fmt: skip


def same_types(p: TextParser, values: list[SSAValue]) -> None:
    """The types of values, between commas."""
    p.scan.skip()
    start = p.scan.position
    compare_types(p, values, p.scan.types_list(), start)


def compare_types(p: TextParser, values: list[SSAValue], types: list[Attribute], start: int) -> None:
    """Reject types in the text that differ from those of the values."""
    if len(types) != len(values):
        p.scan.fail(f"{len(types)} types for {len(values)} values", start)
    for value, type in zip(values, types):
        if value.type != type:
            p.scan.fail(f"a value has type {value.type}, but the text has type {type}", start)
