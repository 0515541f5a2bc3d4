"""Vectors: one-dimensional ones are LLVM vectors, multi-dimensional ones arrays of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import IntegerAttr, VectorType
from xdsl.ir import Attribute, SSAValue

from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.debuginfo.ops import ExtractElementOp
from ....ir.dialects.fast_xdsl import create
from ....ir.dialects.nvvm import target_independent_intrinsics
from ....ir.dialects.vector_ext import FromElementsOp
from ..convert_nvgpu_and_gpu_to_nvvm.llvm_type_helpers import element_bytes
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter
from .lowering_registry import by_rows, lowering


def _element(vector: SSAValue, position: SSAValue, emit: Emitter) -> SSAValue:
    return emit.insert(create(ExtractElementOp, (vector, position), (type_as(vector, VectorType).element_type,)))


def _lane(position: SSAValue | int, emit: Emitter) -> SSAValue:
    return emit.constant(position) if isinstance(position, int) else emit.converted(position)


def _outer(positions: Sequence[SSAValue | int], rank: int, emit: Emitter) -> tuple[list[int], SSAValue | int | None]:
    """(static row indices, lane index or None) of a position."""
    rows = list(positions[: rank - 1])
    known = [row for row in rows if isinstance(row, int)]
    if len(known) != len(rows):
        remedy = "unroll the loop around it, or keep the values in memory"
        raise emit.unsupported("vector-position", "selects a row by a dynamic index", remedy)
    return known, positions[rank - 1] if len(positions) == rank else None


@lowering(vector.ExtractOp)
def lower_extract(emit: Emitter, op: vector.ExtractOp) -> None:
    """Extract a row by llvm.extractvalue, a lane by llvm.extractelement."""
    rank = len(type_as(op.vector, VectorType).get_shape())
    rows, lane = _outer(op.get_mixed_position(), rank, emit)
    value = emit.converted(op.vector)
    value = emit.field(value, *rows) if rows else value
    emit.replace(value if lane is None else _element(value, _lane(lane, emit), emit))


@lowering(vector.InsertOp)
def lower_insert(emit: Emitter, op: vector.InsertOp) -> None:
    """Insert a row or a lane."""
    rank = len(type_as(op.dest, VectorType).get_shape())
    rows, lane = _outer(op.get_mixed_position(), rank, emit)
    whole, value = emit.converted(op.dest), emit.converted(op.source)
    if lane is not None:
        row = emit.field(whole, *rows) if rows else whole
        value = emit.insert(llvm.InsertElementOp(row, value, _lane(lane, emit)))
    emit.replace(emit.with_field(whole, value, *rows) if rows else value)


def from_lanes(lanes: Sequence[SSAValue], type: Attribute, emit: Emitter) -> SSAValue:
    """A vector, or an array of vectors, from its elements in order."""
    if not isinstance(type, llvm.LLVMArrayType):
        return emit.insert(FromElementsOp(lanes, cast(VectorType, type)))
    whole, size = emit.insert(llvm.UndefOp(type)), len(lanes) // type.size.data
    for row in range(type.size.data):
        part = from_lanes(lanes[row * size : (row + 1) * size], type.type, emit)
        whole = emit.with_field(whole, part, row)
    return whole


def _lanes(value: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The elements of a converted vector, in order."""
    if isinstance(value.type, llvm.LLVMArrayType):
        return [lane for row in range(value.type.size.data) for lane in _lanes(emit.field(value, row), emit)]
    count = type_as(value, VectorType).element_count()
    return [_element(value, emit.constant(lane), emit) for lane in range(count)]


@lowering(FromElementsOp)
def lower_from_elements(emit: Emitter, op: FromElementsOp) -> None:
    """Element by element, row by row."""
    lanes = [emit.converted(value) for value in op.elements]
    emit.replace(from_lanes(lanes, emit.types.convert(op.result.type), emit))


@lowering(vector.BitcastOp)
def lower_bitcast(emit: Emitter, op: vector.BitcastOp) -> None:
    """Cast each row: a bitcast changes only the last dimension."""
    result = emit.types.convert(op.result.type)
    row = lambda values, type: values[0] if values[0].type == type else emit.create(llvm.BitcastOp, values, type)
    emit.replace(by_rows([emit.converted(op.source)], result, row, emit))


@lowering(vector.BroadcastOp)
def lower_broadcast(emit: Emitter, op: vector.BroadcastOp) -> None:
    """Repeat the source along the dimensions that it lacks or that have size 1."""
    source, result = op.source.type, type_as(op.vector, VectorType)
    value, target = emit.converted(op.source), emit.types.convert(result)
    if not isinstance(source, VectorType):
        return emit.replace(from_lanes([value] * result.element_count(), target, emit))
    lanes, shape = _lanes(value, emit), source.get_shape()
    wanted = result.get_shape()
    shape = (1,) * (len(wanted) - len(shape)) + tuple(shape)
    places = [_source_lane(position, wanted, shape) for position in range(prod(wanted))]
    emit.replace(from_lanes([lanes[place] for place in places], target, emit))


def _source_lane(position: int, wanted: Sequence[int], shape: Sequence[int]) -> int:
    """The linear index in the source of an element of the result."""
    place, stride = 0, 1
    for size, given in zip(reversed(wanted), reversed(shape), strict=True):
        position, index = divmod(position, size)
        place, stride = place + stride * (index if given > 1 else 0), stride * given
    return place


@lowering(vector.ShuffleOp)
def lower_shuffle(emit: Emitter, op: vector.ShuffleOp) -> None:
    """Select rows or lanes of two vectors by index."""
    rows = [part for value in (op.v1, op.v2) for part in _rows(emit.converted(value), emit)]
    chosen = [rows[number] if number >= 0 else rows[0] for number in op.mask.get_values()]
    emit.replace(_joined(chosen, emit.types.convert(op.result.type), emit))


def _rows(value: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The members of the outermost dimension."""
    if not isinstance(value.type, llvm.LLVMArrayType):
        return _lanes(value, emit)
    return [emit.field(value, row) for row in range(value.type.size.data)]


def _joined(rows: Sequence[SSAValue], type: Attribute, emit: Emitter) -> SSAValue:
    if not isinstance(type, llvm.LLVMArrayType):
        return emit.insert(FromElementsOp(rows, cast(VectorType, type)))
    whole = emit.insert(llvm.UndefOp(type))
    for position, row in enumerate(rows):
        whole = emit.with_field(whole, row, position)
    return whole


@lowering(vector.FMAOp)
def lower_fma(emit: Emitter, op: vector.FMAOp) -> None:
    """llvm.fma, rounded once."""
    operands = [emit.converted(value) for value in op.operands]
    row = lambda values, type: emit.insert(target_independent_intrinsics.FMAOp.make(list(values), [type]))
    emit.replace(by_rows(operands, emit.types.convert(op.res.type), row, emit))


# Memory ---------------------------------------------------------------------------------------------------------------


def _check_row(type: VectorType, emit: Emitter) -> IntegerAttr:
    """The alignment of an access, that of an element; rejects multi-dimensional vectors."""
    if len(type.get_shape()) != 1:
        raise emit.unsupported("vector-access", f"moves vectors of one dimension, but got '{type}'")
    return IntegerAttr(element_bytes(type.element_type), 64)


@lowering(vector.LoadOp)
def lower_load(emit: Emitter, op: vector.LoadOp) -> None:
    """llvm.load with the alignment of an element."""
    type = type_as(op.result, VectorType)
    properties: dict[str, Attribute] = {"alignment": _check_row(type, emit), "ordering": IntegerAttr(0, 64)}
    pointer = emit.address(op.base, op.indices)
    emit.replace(emit.create(llvm.LoadOp, (pointer,), emit.types.convert(type), properties))


@lowering(vector.StoreOp)
def lower_store(emit: Emitter, op: vector.StoreOp) -> None:
    """llvm.store with the alignment of an element."""
    type = type_as(op.vector, VectorType)
    properties: dict[str, Attribute] = {"alignment": _check_row(type, emit), "ordering": IntegerAttr(0, 64)}
    pointer = emit.address(op.base, op.indices)
    emit.replace_with(create(llvm.StoreOp, (emit.converted(op.vector), pointer), (), properties))
