"""Warp MMA (mma.sync) and ldmatrix."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i32,
)
from xdsl.dialects.vector import BitcastOp, ExtractOp
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.nvgpu import ops_matrix as nvgpu
from ....ir.dialects.nvvm import ops_matrix as target
from ....ir.dialects.nvvm.attrs import (
    MatrixElementAttr,
    MatrixShapeAttr,
    MmaIntOverflowAttr,
    MmaLayoutAttr,
    MmaTypeAttr,
    ShapeAttr,
)
from ....ir.dialects.vector_ext import FromElementsOp
from ....target.element_types import ELEMENT_TYPES
from .llvm_type_helpers import struct_of
from .rewriter import Emitter, rewrite

ROW = MmaLayoutAttr.new([StringAttr("row")])
COLUMN = MmaLayoutAttr.new([StringAttr("col")])

# Element type of A or B -> PTX name; f32 stands for tf32, which has no registers of its own.
PTX_TYPES: dict[type[Attribute], str] = {
    kind: unwrap(ELEMENT_TYPES[kind.name].ptx)
    for kind in (Float16Type, BFloat16Type, Float64Type, Float8E4M3FNType, Float8E5M2Type)
}
PTX_TYPES[Float32Type] = "tf32"
_INTEGERS = {8: "s8", 4: "s4"}
# Registers of these types keep them; all others are i32.
_NATURAL = (Float16Type, Float64Type)


def ptx_type(element: Attribute, emit: Emitter) -> str:
    """PTX's name for an element of A or B."""
    if isinstance(element, IntegerType) and element.width.data in _INTEGERS:
        return _INTEGERS[element.width.data]
    if type(element) not in PTX_TYPES:
        raise emit.unsupported("mma-type", f"cannot multiply elements of type {element}")
    return PTX_TYPES[type(element)]


MmaSpec = nvgpu.MmaSyncOp | nvgpu.MmaSparseSyncOp


def element_of(matrix: SSAValue) -> Attribute:
    """The type of a fragment's elements."""
    return type_as(matrix, VectorType).element_type


def check_tf32(op: MmaSpec, emit: Emitter) -> None:
    """Raise Unsupported for an MMA of f32 without the tf32 attribute."""
    if isinstance(element_of(op.matrixA), Float32Type) and op.tf32Enabled is None:
        raise emit.unsupported("mma-tf32", "multiplies f32 as tf32 only", "set tf32Enabled")


def shape_of(op: MmaSpec) -> tuple[int, int, int]:
    """(m, n, k)"""
    m, n, k = (cast(IntegerAttr, size).value.data for size in op.mmaShape)
    return m, n, k


def registers(matrix: SSAValue, emit: Emitter) -> list[SSAValue]:
    """One register per row of a fragment, in the instruction's type."""
    rows = emit.rows(matrix)
    if isinstance(element_of(matrix), _NATURAL):
        return rows
    return [emit.insert(llvm.BitcastOp(row, i32)) for row in rows]


def accumulators(matrix: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The registers of C: pairs for f16, else one per element."""
    if isinstance(element_of(matrix), Float16Type):
        return emit.rows(matrix)
    return _elements(matrix, emit)


def _elements(matrix: SSAValue, emit: Emitter) -> list[SSAValue]:
    rows, columns = type_as(matrix, VectorType).get_shape()
    element = element_of(matrix)
    return [emit.insert(ExtractOp(matrix, [row, c], element)) for row in range(rows) for c in range(columns)]


def repack(values: Sequence[SSAValue], type: VectorType, emit: Emitter) -> SSAValue:
    """A fragment from its registers."""
    if values[0].type != type.element_type:
        values = [lane for value in values for lane in emit.lanes(value)]
    return emit.insert(FromElementsOp(values, type))


@rewrite(nvgpu.MmaSyncOp)
def convert_mma(emit: Emitter, op: nvgpu.MmaSyncOp) -> None:
    """Unpack the fragments, emit ``nvvm.mma.sync``, repack its result."""
    check_tf32(op, emit)
    kinds = [ptx_type(element_of(value), emit) for value in (op.matrixA, op.matrixB)]
    operands = [registers(op.matrixA, emit), registers(op.matrixB, emit), accumulators(op.matrixC, emit)]
    result = struct_of([value.type for value in operands[2]])
    properties: dict[str, Attribute] = {
        "shape": ShapeAttr(*map(IntAttr, shape_of(op))),
        "layoutA": ROW,
        "layoutB": COLUMN,
        "multiplicandAPtxType": MmaTypeAttr.new([StringAttr(kinds[0])]),
        "multiplicandBPtxType": MmaTypeAttr.new([StringAttr(kinds[1])]),
    }
    if kinds[0] in _INTEGERS.values():
        properties["intOverflowBehavior"] = MmaIntOverflowAttr.new([StringAttr("satfinite")])
    mma = emit.insert(target.MmaSyncOp.build(operands=operands, result_types=[result], properties=properties))
    emit.replace(repack([emit.field(mma, i) for i in range(len(operands[2]))], type_as(op.res, VectorType), emit))


# ldmatrix -------------------------------------------------------------------------------------------------------------


@rewrite(nvgpu.LdMatrixOp)
def convert_ldmatrix(emit: Emitter, op: nvgpu.LdMatrixOp) -> None:
    """One register, or several in a struct; both become one vector."""
    count = op.numTiles.value.data
    properties = {
        "num": IntegerAttr(count, i32),
        "layout": COLUMN if op.transpose.value.data else ROW,
        "shape": MatrixShapeAttr(IntAttr(8), IntAttr(8)),
        "eltType": MatrixElementAttr.new([StringAttr("b16")]),
    }
    result = i32 if count == 1 else struct_of([i32] * count)
    pointer = emit.address(op.srcMemref, op.indices)
    loaded = emit.insert(target.LdMatrixOp.build(operands=[pointer], result_types=[result], properties=properties))
    fragments = [loaded] if count == 1 else [emit.field(loaded, index) for index in range(count)]
    emit.replace(_as_fragment(fragments, type_as(op.res, VectorType), emit))


def _as_fragment(fragments: Sequence[SSAValue], type: VectorType, emit: Emitter) -> SSAValue:
    if len(type.get_shape()) == 1:
        packed = emit.insert(FromElementsOp(fragments, VectorType(i32, [len(fragments)])))
    else:
        packed = emit.insert(FromElementsOp(fragments, VectorType(i32, [len(fragments), 1])))
    return packed if packed.type == type else emit.insert(BitcastOp(packed, type))
