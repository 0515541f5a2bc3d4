"""Features that a bytecode version lacks: a guard for each operation, flag, operand, attribute, result, value and type.

A guard has a feature, its first version, and a test whether an operation uses it. All guards are derived from OPCODES
and the related tables, so that each row with a ``since`` is guarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation, SSAValue

from tileiras_build.ir.bytecode.opcodes import MEMBERS_SINCE, OPCODES, V13_1, Opcode, Version
from tileiras_build.ir.bytecode.opcodes import Attribute as Field
from tileiras_build.ir.bytecode.type_table import COMPOSITE_TYPES, PLAIN_TYPES
from tileiras_build.ir.dialects.cuda_tile.enums import EnumAttr
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS
from tileiras_build.ir.dialects.fast_xdsl import segment_sizes

PLAIN_SINCE: dict[Attribute, Version] = {type: since for since, type in PLAIN_TYPES.values()}
COMPOSITE_SINCE: dict[type, Version] = {cls: since for since, cls, _ in COMPOSITE_TYPES.values()}


@dataclass(frozen=True)
class Guard:
    """``what`` needs version ``since``; ``used`` tests whether an operation uses it."""

    what: str
    since: Version
    used: Callable[[Operation], bool]


def operand_groups(op: Operation, row: Opcode) -> dict[str, tuple[SSAValue, ...]]:
    """The operands of each group by name."""
    operands = tuple(op.operands)
    if row.segmented and SEGMENTS in op.properties:
        sizes = segment_sizes(op)
    else:
        fixed = sum(operand.arity == "1" for operand in row.operands)
        sizes = tuple(1 if operand.arity == "1" else len(operands) - fixed for operand in row.operands)
    groups, start = {}, 0
    for operand, size in zip(row.operands, sizes):
        groups[operand.name] = operands[start : start + size]
        start += size
    return groups


def _always(_: Operation) -> bool:
    return True


def _has_flag(row: Opcode, name: str, op: Operation) -> bool:
    return name in op.properties or bool(operand_groups(op, row).get(name))


def _is_non_default(attribute: Field, op: Operation) -> bool:
    """Whether an attribute differs from the value implied by older files."""
    value = op.properties.get(attribute.name)
    if isinstance(value, EnumAttr):
        return value.data.value != attribute.default
    return any(value.get_values()) if isinstance(value, DenseArrayBase) else value is not None


def _has_member(name: str, member: str, op: Operation) -> bool:
    value = op.properties.get(name)
    return isinstance(value, EnumAttr) and value.data.value == member


def _result_is_used(op: Operation) -> bool:
    return any(result.uses for result in op.results)


def guards_of(row: Opcode) -> Iterator[Guard]:
    """All guards of a row."""
    yield Guard(row.name, row.since, _always)
    for name in row.flags:
        yield Guard(f"'{name}' of {row.name}", row.flags_since, partial(_has_flag, row, name))
    if row.results_since is not None:
        yield Guard(f"the result of {row.name}", row.results_since, _result_is_used)
    for attribute in row.attributes:
        yield Guard(f"'{attribute.name}' of {row.name}", attribute.since, partial(_is_non_default, attribute))
        for (kind, member), since in MEMBERS_SINCE.items():
            if kind == attribute.kind:
                what = f"'{member}' as '{attribute.name}' of {row.name}"
                yield Guard(what, since, partial(_has_member, attribute.name, member))


@cache
def guards_above(version: Version) -> dict[str, tuple[Guard, ...]]:
    """The guards of versions above ``version``, by operation, the newest versions first."""
    rows = {row.name: [guard for guard in guards_of(row) if guard.since > version] for row in OPCODES.values()}
    return {
        name: tuple(sorted(found, key=lambda guard: guard.since, reverse=True)) for name, found in rows.items() if found
    }


def type_since(type: Attribute) -> Version:
    """The first version that has a type, without its component types."""
    return PLAIN_SINCE.get(type) or COMPOSITE_SINCE.get(type.__class__, V13_1)
