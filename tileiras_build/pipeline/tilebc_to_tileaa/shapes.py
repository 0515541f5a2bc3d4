"""Operations of the public dialect that create tiles or rearrange their elements."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import cuda_tile
from ...ir.dialects.checked_cast import type_as
from ...ir.dialects.nv_tileaa import ops
from ..rewriting.dialect_conversion import Rule
from .constants import convert_constant
from .op_converter import Converter, same_operand_rules

# cuda_tile operation -> operation with the same operands, and without other attributes than those carried over.
SAME_OPERANDS: dict[str, type[Operation]] = {
    "bitcast": ops.BitcastOp,
    "pack": ops.ReinterpretOp,
    "unpack": ops.ReinterpretOp,
    "iota": ops.MakeRangeOp,
}


def _convert_constant(cv: Converter, op: cuda_tile.ConstantOp) -> None:
    for new in convert_constant(op.value, cv.type(op.results[0].type)):
        cv.bind(new)


def _convert_reshape(cv: Converter, op: Operation) -> None:
    source = cv.value(op.operands[0])
    result_type = cv.type(op.results[0].type)
    if source.type == result_type:
        cv.values[op.results[0]] = source
        return
    if not isinstance(result_type, TensorType):
        cv.build(ops.ExtractSliceOp, [source, _zero_indices(cv, source)])
        return
    target = ops.ViewOp if isinstance(source.type, TensorType) else ops.SplatOp
    cv.build(target, [source])


def _zero_indices(cv: Converter, source: SSAValue) -> list[SSAValue]:
    return [cv.constant(0)] * len(type_as(source, TensorType).get_shape())


def _convert_broadcast(cv: Converter, op: Operation) -> None:
    source = cv.value(op.operands[0])
    result_type = cv.type(op.results[0].type)
    if source.type == result_type:
        cv.values[op.results[0]] = source
        return
    cv.build(ops.BroadcastOp if isinstance(source.type, TensorType) else ops.SplatOp, [source])


def _convert_permute(cv: Converter, op: Operation) -> None:
    cv.build(ops.PermuteOp, [cv.value(op.operands[0])], {"permutation": op.properties["permutation"]})


def _convert_cat(cv: Converter, op: Operation) -> None:
    cv.build(ops.CatOp, cv.operands(op), {"dim": op.properties["dim"]})


def _convert_extract(cv: Converter, op: Operation) -> None:
    operands = cv.operands(op)
    cv.build(ops.ExtractSliceOp, [operands[0], operands[1:]])


def _convert_insert(cv: Converter, op: Operation) -> None:
    operands = cv.operands(op)
    cv.build(ops.InsertSliceOp, [operands[0], operands[1], operands[2:]])


def _convert_assume(cv: Converter, op: Operation) -> None:
    cv.build(ops.AssumeOp, [cv.value(op.operands[0])], {"predicate": op.properties["predicate"]})


RULES: dict[str, Rule] = {
    **same_operand_rules(SAME_OPERANDS),
    "constant": _convert_constant,
    "reshape": _convert_reshape,
    "broadcast": _convert_broadcast,
    "permute": _convert_permute,
    "cat": _convert_cat,
    "extract": _convert_extract,
    "insert": _convert_insert,
    "assume": _convert_assume,
}
