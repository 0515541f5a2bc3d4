"""Casts that say what one type is in another: a pointer to memory, and small floats as words of 16 bits.

All other casts must undo each other.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    FixedBitwidthType,
    MemRefType,
    UnrealizedConversionCastOp,
    VectorType,
    i8,
    i16,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter
from ..type_converter import BYTE
from .lowering_registry import lowering

I16_BYTES = 2  # of what the conversions of small floats take and give


@lowering(UnrealizedConversionCastOp)
def lower_unrealized_cast(op: UnrealizedConversionCastOp, emit: Emitter) -> None:
    """The value under its other type, where the types say what that is."""
    if len(op.inputs) != 1 or len(op.outputs) != 1:
        return
    [source], [result] = op.inputs, op.outputs
    if isa(source.type, MemRefType) and isinstance(result.type, llvm.LLVMPointerType):
        pointer = emit.aligned(source)
        if pointer.type == result.type and pointer is not result:
            emit.replace(pointer)
    elif _is_small(source.type) and _is_integer_storage(result.type):
        emit.replace(_as_integers(emit.converted(source), result.type, emit))
    elif _is_integer_storage(source.type) and _is_small(result.type):
        emit.replace(_elements(source, emit.types.convert(result.type), emit))


def _is_small(type: Attribute) -> bool:
    """Whether a type is a vector of pairs of floats of at most a byte."""
    if not isinstance(type, VectorType) or len(type.get_shape()) != 1 or type.element_count() % I16_BYTES:
        return False
    element = type.element_type
    return isinstance(element, AnyFloat) and isinstance(element, FixedBitwidthType) and element.bitwidth <= BYTE


def _is_integer_storage(type: Attribute) -> bool:
    return type == i16 or (isinstance(type, VectorType) and type.element_type == i16 and len(type.get_shape()) == 1)


def _bytes(count: int) -> VectorType:
    return VectorType(i8, [count])


def _as_integers(value: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    """Elements as words: those of 8 bits fill them, those of 6 have a byte each, two of 4 bits are the lower byte."""
    vector = value.type
    assert isinstance(vector, VectorType)
    count, bits = vector.element_count(), vector.element_type.width.data
    if bits == BYTE // 2:
        packed = i8 if type == i16 else _bytes(count // 2)
        return emit.create(llvm.ZExtOp, (emit.create(llvm.BitcastOp, (value,), packed),), type)
    whole = value if bits == BYTE else emit.create(llvm.ZExtOp, (value,), _bytes(count))
    return emit.create(llvm.BitcastOp, (whole,), type)


def _elements(integers: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    """The same the other way."""
    assert isinstance(type, VectorType)
    count, bits = type.element_count(), type.element_type.width.data
    if bits == BYTE // 2:
        packed = i8 if integers.type == i16 else _bytes(count // 2)
        return emit.create(llvm.BitcastOp, (emit.create(llvm.TruncOp, (integers,), packed),), type)
    whole = emit.create(llvm.BitcastOp, (integers,), _bytes(count))
    return whole if bits == BYTE else emit.create(llvm.TruncOp, (whole,), type)
