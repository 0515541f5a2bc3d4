"""Constants of the public dialect as ``arith.constant`` and ``nv_tileaa.splat``."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerType,
    TensorType,
    i1,
    i8,
)
from xdsl.ir import Attribute, Operation

from ...core.errors import InternalError, Unsupported
from ...ir.dialects.cuda_tile.attrs import DenseConstantAttr
from ...ir.dialects.cuda_tile.element_types import FloatNV8E5M3FNUType
from ...ir.dialects.cuda_tile.types import TileType
from ...ir.dialects.fast_xdsl import create, integer_attr
from ...ir.dialects.nv_tileaa import PointerType
from ...ir.dialects.nv_tileaa.ops import BitcastOp, SplatOp
from ..common.llvm_element_types import wrap_to_width


def scalar_constant(value: float | int, type: Attribute) -> Operation:
    """``arith.constant`` of one value; integers wrap to their width."""
    if isinstance(type, IntegerType):
        attribute: Attribute = integer_attr(wrap_to_width(int(value), type.width.data), type)
    else:
        attribute = FloatAttr(float(value), _float(type))
    return create(arith.ConstantOp, (), (type,), {"value": attribute})


def _float(type: Attribute) -> AnyFloat:
    if isinstance(type, AnyFloat):
        return type
    raise InternalError("constant-type", f"a constant of {type} is neither an integer nor a float")


def convert_constant(value: DenseConstantAttr, type: Attribute) -> list[Operation]:
    """The operations of one constant; the last one's result is the constant."""
    element = type.element_type if isinstance(type, TensorType) else type
    if isinstance(element, FloatNV8E5M3FNUType):
        return _from_bits(value, type)
    if isinstance(element, PointerType):
        raise Unsupported("constant-pointer", "constants of pointers have no lowering", remedy="use int_to_ptr")
    if not isinstance(type, TensorType):
        return [scalar_constant(value.splat_scalar(), element)]
    if value.is_splat:
        scalar = scalar_constant(value.splat_scalar(), element)
        return [scalar, SplatOp.make([scalar.results[0]], [type])]
    return [_table(value, type)]


def _from_bits(value: DenseConstantAttr, type: Attribute) -> list[Operation]:
    """A constant of a type that arith does not support: its bytes, reinterpreted."""
    bits = DenseConstantAttr(TileType(value.type.shape, i8), value.raw)
    made = convert_constant(bits, TensorType(i8, type.get_shape()) if isinstance(type, TensorType) else i8)
    return [*made, BitcastOp.make([made[-1].results[0]], [type])]


def _table(value: DenseConstantAttr, type: TensorType) -> Operation:
    import numpy

    array = numpy.ascontiguousarray(value.as_array())
    if type.element_type == i1:
        array = array.astype(numpy.uint8)
    if not _has_values(type):
        raise InternalError("constant-type", f"a constant of {type} has neither integers nor floats")
    attribute = DenseIntOrFPElementsAttr(type, BytesAttr(array.tobytes()))
    return create(arith.ConstantOp, (), (type,), {"value": attribute})


def _has_values(type: TensorType) -> TypeGuard[TensorType[IntegerType | AnyFloat]]:
    return isinstance(type.element_type, IntegerType | AnyFloat)
