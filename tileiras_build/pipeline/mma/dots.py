"""What dots say of themselves, whatever instruction multiplies: shapes, signs, scales, operands in buffers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeGuard, TypeVar

from xdsl.ir import Operation

from ...core.errors import InternalError
from ...ir.casting import type_as
from ...ir.dialects.fast_xdsl import string_of
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_async_mma
from ...target.mma_atoms import MmaRow, mma_row
from ...target.targets import Target

Row = TypeVar("Row", bound=MmaRow)
FP4 = "f4E2M1FN"
FP4_PAIR = "f4E2M1FNx2"  # two fp4 in a byte, the type of dots that are ``packed``


def row_of(op: TableOp) -> MmaRow | None:
    """The instruction of a dot; None where it has none, or not yet."""
    return None if op.mma is None else mma_row(op.mma)


def accumulates_in_tmem(op: Operation) -> TypeGuard[TableOp]:
    """Whether an operation issues an MMA whose accumulator is in tensor memory: it has no result."""
    return is_async_mma(op) and not op.results


def accumulates_in_registers(op: Operation) -> TypeGuard[TableOp]:
    """Whether an operation issues an MMA whose accumulator is in registers, its result."""
    return is_async_mma(op) and bool(op.results)


def operand_signs(op: TableOp) -> tuple[bool, bool]:
    """Whether the operands of a dot are signed; the default is signed."""
    return op.signedness_lhs == "signed", op.signedness_rhs == "signed"


def element_types(op: TableOp) -> tuple[str, str, str]:
    """The element types of the left operand, the right one and the accumulator."""
    a, b, result = (string_of(value.type.element_type) for value in (op.lhs, op.rhs, op.result))
    return a, b, result


def dot_shape(op: TableOp) -> tuple[int | None, int, int, int]:
    """(batch or None, m, n, k) of a ``dot``."""
    left, result = op.lhs.type.get_shape(), op.result.type.get_shape()
    batch = result[0] if len(result) == 3 else None
    return batch, result[-2], result[-1], left[-1]


def k_of(op: TableOp) -> int:
    """The size of k of a dot, also of one whose operands are buffers."""
    if "rhs_placement" in op.attributes:
        return op.rhs_placement.shape[0]
    return op.lhs.type.get_shape()[-1]


class ScaledTypes(NamedTuple):
    """The types of a block-scaled dot, its length along k, and the elements there that share a scale."""

    a: str
    b: str
    result: str
    scale: str
    k: int
    block: int


def scaled_types(op: TableOp, packed_fp4: bool) -> ScaledTypes:
    """``packed_fp4``: as if fp4 elements were read two to a byte."""
    a, b, result = element_types(op)
    k, count = op.lhs.type.get_shape()[-1], op.lhs_scale.type.get_shape()[-1]
    if op.packed or packed_fp4:
        a = b = FP4_PAIR
        k = k if op.packed else k // 2
    return ScaledTypes(a, b, result, string_of(op.lhs_scale.type.element_type), k, k // count)


def rows_of_types(op: TableOp, target: Target, rows: Iterable[Row], packed_fp4: bool = False) -> list[Row]:
    """The ``rows`` that a GPU has for the types, and the scales if there are any, of a dot, in their order."""
    if op.lhs_scale is None:
        wanted: tuple = (*element_types(op), None, 0)
    else:
        a, b, result, scale, _, block = scaled_types(op, packed_fp4)
        wanted = a, b, result, scale, block
    return [row for row in rows if _types_of(row) == wanted and target.has(row.capability)]


def _types_of(row: MmaRow) -> tuple:
    return row.a_type, row.b_type, row.accumulator_type, row.scale_type, row.scale_block


def check_buffered_operands(op: TableOp, shape: tuple[int, int, int] | None = None) -> None:
    """Check the operands of a dot that are buffers: each fits a stage, and they have the shapes of ``shape`` (m, n, k)."""
    sides = (
        [(op.rhs, op.rhs_placement)]
        if not isinstance(op.lhs.type, BufferType)
        else [(op.lhs, op.lhs_placement), (op.rhs, op.rhs_placement)]
    )
    if any(placement.size_bytes > type_as(buffer, BufferType).stage_bytes for buffer, placement in sides):
        raise InternalError("operand-size", f"an operand of {op.name} is larger than a stage of its buffer")
    if shape is not None and (shape[2] > op.rhs_placement.shape[0] or shape[1] > 2 * op.rhs_placement.shape[1]):
        raise InternalError("operand-shape", f"the operands of {op.name} do not have the shape (m, n, k) = {shape}")
