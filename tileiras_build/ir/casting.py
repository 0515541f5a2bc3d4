"""Checked casts of IR objects: defining ops, parents, blocks, types of tiles, constant attributes.

Each function raises InternalError[ir-shape] where the IR does not have the expected form; ``expect`` is that of the dialects.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeGuard

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ..core.errors import InternalError
from .dialects.checked_cast import Kind, KindOfType, cast, type_as
from .dialects.nv_tileaa.types import MemRefType, TiledViewType
from .dialects.op_definition import TableOp


def unwrap(found: Kind | None) -> Kind:
    """``found``; raises InternalError for None."""
    if found is None:
        raise InternalError("ir-shape", "expected something, found nothing")
    return found


def as_op(op: Operation | Block | None) -> TableOp:
    """The operation as a TableOp, whose operands and attributes have names."""
    return cast(TableOp, op)


def defining_op(value: SSAValue) -> Operation:
    """The operation that defines a value."""
    return value.op if isinstance(value, OpResult) else cast(Operation, value.owner)


def defining_table_op(value: SSAValue) -> TableOp:
    """The TableOp that defines a value."""
    return cast(TableOp, value.owner)


def parent_op(op: Operation) -> Operation:
    """The parent operation."""
    return unwrap(op.parent_op())


def ancestor_in(op: Operation, block: Block) -> Operation | None:
    """The operation of ``block`` that is ``op`` or contains it; None if the block contains neither."""
    place: Operation | None = op
    while place is not None and place.parent is not block:
        place = place.parent_op()
    return place


def parent_block(op: Operation) -> Block:
    """The block of an operation."""
    return unwrap(op.parent)


def next_op(op: Operation) -> Operation:
    """The next operation of the block."""
    return unwrap(op.next_op)


def ops_behind(op: Operation) -> Iterator[Operation]:
    """The operations behind one in its block, in order."""
    while (following := op.next_op) is not None:
        yield following
        op = following


def terminator(block: Block) -> Operation:
    """The terminator of a block."""
    return unwrap(block.last_op)


def int_attr(op: Operation, name: str, absent: int | None = None) -> int:
    """The value of an integer attribute; ``absent`` where there is none."""
    found = op.attributes.get(name)
    return unwrap(absent) if found is None else cast(IntegerAttr, found).value.data


def str_attr(op: Operation, name: str) -> str:
    """The value of a string attribute."""
    return cast(StringAttr, op.attributes.get(name)).data


def int_array_attr(op: Operation, name: str) -> tuple[int, ...]:
    """The values of an array of integers."""
    return tuple(cast(DenseArrayBase, op.attributes.get(name)).get_values())


def typed(value: SSAValue, kind: type[KindOfType]) -> SSAValue[KindOfType]:
    """A value whose type is a ``kind``."""
    if has_type(value, kind):
        return value
    raise InternalError("ir-shape", f"expected a {kind.__name__}, found a value of type {value.type}")


def has_type(value: SSAValue, kind: type[KindOfType]) -> TypeGuard[SSAValue[KindOfType]]:
    """Whether a value's type is a ``kind``."""
    return isinstance(value.type, kind)


def tile_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tile."""
    return type_as(value, TensorType)


def tile_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tile, in elements."""
    return tuple(tile_type(value).get_shape())


def tile_size(value: SSAValue) -> int:
    """Elements of a tile."""
    return prod(tile_shape(value))


def view_type(value: SSAValue) -> TiledViewType:
    """The type of a view of tiles."""
    return type_as(value, TiledViewType)


def memref_type(value: SSAValue) -> MemRefType:
    """The type of a reference to memory."""
    return type_as(value, MemRefType)


def is_int_constant(value: SSAValue, number: int) -> bool:
    """Whether a value is this integer constant."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "arith.constant":
        return False
    known = owner.properties["value"]
    return isinstance(known, IntegerAttr) and known.value.data == number
