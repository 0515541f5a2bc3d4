"""Casts with a defined meaning: memref to pointer, and small floats as 16-bit words.

All other casts must cancel in inverse pairs.
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

I16_BYTES = 2  # element of the conversions of small floats


@lowering(UnrealizedConversionCastOp)
def lower_unrealized_cast(emit: Emitter, op: UnrealizedConversionCastOp) -> None:
    """Convert the value, if the types define how."""
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
    """Whether a type is a vector of pairs of floats of at most 8 bits."""
    if not isinstance(type, VectorType) or len(type.get_shape()) != 1 or type.element_count() % I16_BYTES:
        return False
    element = type.element_type
    return isinstance(element, AnyFloat) and isinstance(element, FixedBitwidthType) and element.bitwidth <= BYTE


def _is_integer_storage(type: Attribute) -> bool:
    return type == i16 or (isinstance(type, VectorType) and type.element_type == i16 and len(type.get_shape()) == 1)


def _bytes(count: int) -> VectorType:
    return VectorType(i8, [count])


def _as_integers(value: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    """Elements as words: 8-bit elements fill them, 6-bit elements have a byte each, two 4-bit elements are the lower
    byte.
    """
    vector = value.type
    assert isinstance(vector, VectorType)
    count, bits = vector.element_count(), vector.element_type.width.data
    if bits == BYTE // 2:
        packed = i8 if type == i16 else _bytes(count // 2)
        return emit.create(llvm.ZExtOp, (emit.create(llvm.BitcastOp, (value,), packed),), type)
    whole = value if bits == BYTE else emit.create(llvm.ZExtOp, (value,), _bytes(count))
    return emit.create(llvm.BitcastOp, (whole,), type)


def _elements(integers: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    """The inverse of ``_as_integers``."""
    assert isinstance(type, VectorType)
    count, bits = type.element_count(), type.element_type.width.data
    if bits == BYTE // 2:
        packed = i8 if integers.type == i16 else _bytes(count // 2)
        return emit.create(llvm.BitcastOp, (emit.create(llvm.TruncOp, (integers,), packed),), type)
    whole = emit.create(llvm.BitcastOp, (integers,), _bytes(count))
    return whole if bits == BYTE else emit.create(llvm.TruncOp, (whole,), type)
