"""Matrix multiply-accumulate of cuda_tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from xdsl.dialects.builtin import UnitAttr, i8, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def

from .element_types import BF16, F4E2M1, F8E4M3, F8E5M2, F8E8M0, F16, F32, F64, FNV8, TF32
from .enums import SignednessAttr
from .op_base import PureOperation, define, defined_in, elements, fail, same_elements, same_ranks, same_types, tile


def matrix_shapes(op: Operation) -> None:
    """lhs [B]xMxK, rhs [B]xKxN, acc [B]xMxN."""
    lhs, rhs, acc = (tile(op, name).shape for name in ("lhs", "rhs", "acc"))
    if len(lhs) not in (2, 3):
        fail("operands must be 2D or 3D tiles")
    if lhs[:-2] != rhs[:-2] or lhs[:-2] != acc[:-2]:
        fail(f"shape error: the batch dimensions of lhs {lhs}, rhs {rhs} and acc {acc} must match")
    if lhs[-1] != rhs[-2]:
        fail(f"shape error: the columns of lhs {lhs} and the rows of rhs {rhs} must match")
    if lhs[-2] != acc[-2] or rhs[-1] != acc[-1]:
        fail(f"shape error: lhs {lhs} times rhs {rhs} does not give the shape of acc {acc}")


# Element type of lhs and rhs -> element types of the accumulator (Tile IR, mmaf).
MMA_ACCUMULATORS: dict[Attribute, tuple[Attribute, ...]] = {
    F8E4M3: (F16, F32),
    F8E5M2: (F16, F32),
    F16: (F16, F32),
    BF16: (F32,),
    TF32: (F32,),
    F32: (F32,),
    F64: (F64,),
}


def _accumulator_type(op: MmaFOp) -> None:
    factor, accumulator = tile(op, "lhs").element_type, tile(op, "acc").element_type
    if accumulator not in MMA_ACCUMULATORS[factor]:
        listed = ", ".join(map(str, MMA_ACCUMULATORS[factor]))
        fail(
            f"unsupported combination of element types. Input type {factor} expects accumulator/result type "
            f"to be one of {{{listed}}}, but got {accumulator}"
        )


class MatrixMultiply(PureOperation):
    """lhs times rhs plus acc."""

    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()
    result = result_def()
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (
        same_types("acc", "result"),
        same_elements("lhs", "rhs"),
        same_ranks("lhs", "rhs", "acc"),
        matrix_shapes,
    )


@define
class MmaFOp(MatrixMultiply):
    """Float MMA; ``fast_acc`` allows a less precise accumulation (since bytecode 13.3)."""

    name = "cuda_tile.mmaf"
    fast_acc = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (elements(MMA_ACCUMULATORS, "lhs", "rhs"), elements((F16, F32, F64), "acc"), _accumulator_type)


# (element type, scale type) -> how many elements along K may share a scale (Tile IR, mmaf_scaled).
SCALE_BLOCKS: dict[tuple[Attribute, Attribute], tuple[int, ...]] = {
    (F8E4M3, F8E8M0): (32,),
    (F8E5M2, F8E8M0): (32,),
    (F4E2M1, F8E4M3): (16,),
    (F4E2M1, F8E8M0): (16, 32),
    (F4E2M1, FNV8): (16, 32),
}


def _scales(op: MmaFScaledOp) -> None:
    lhs, rhs, lhs_scale, rhs_scale = (tile(op, name) for name in ("lhs", "rhs", "lhs_scale", "rhs_scale"))
    if lhs.shape[:-1] != lhs_scale.shape[:-1]:
        fail(f"shape error: lhs {lhs.shape} and lhs_scale {lhs_scale.shape} may differ in the last dimension only")
    if rhs.shape[:-2] != rhs_scale.shape[:-2] or rhs.shape[-1] != rhs_scale.shape[-1]:
        fail(f"shape error: rhs {rhs.shape} and rhs_scale {rhs_scale.shape} may differ in the rows only")
    if lhs_scale.shape[-1] != rhs_scale.shape[-2]:
        fail(f"shape error: lhs_scale {lhs_scale.shape} and rhs_scale {rhs_scale.shape} have different scale counts")
    pair = lhs.element_type, lhs_scale.element_type
    if pair not in SCALE_BLOCKS:
        fail(f"unsupported combination of element types: {pair[0]} scaled by {pair[1]}")
    columns, scales = lhs.shape[-1], lhs_scale.shape[-1]
    if columns % scales or columns // scales not in SCALE_BLOCKS[pair]:
        blocks = " or ".join(map(str, SCALE_BLOCKS[pair]))
        fail(
            f"shape error: {pair[0]} with {pair[1]} scales requires a block scale factor of {blocks}, "
            f"but got {columns} elements for {scales} scales"
        )


@define
class MmaFScaledOp(MatrixMultiply):
    """Block-scaled float MMA, scales per block along K (since bytecode 13.3)."""

    name = "cuda_tile.mmaf_scaled"
    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()
    lhs_scale = operand_def()
    rhs_scale = operand_def()
    CHECKS: ClassVar = (
        elements((F8E4M3, F8E5M2, F4E2M1), "lhs", "rhs"),
        elements((F32,), "acc"),
        same_elements("lhs_scale", "rhs_scale"),
        same_ranks("lhs", "lhs_scale", "rhs_scale"),
        _scales,
    )


@define
class MmaIOp(MatrixMultiply):
    """MMA of i8 into i32."""

    name = "cuda_tile.mmai"
    signedness_lhs = prop_def(SignednessAttr)
    signedness_rhs = prop_def(SignednessAttr)
    CHECKS: ClassVar = (elements((i8,), "lhs", "rhs"), elements((i32,), "acc"))


MATRIX_OPS = defined_in(__name__)
