"""Cached types of the ``llvm`` dialect, by LLVM's names."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import IntAttr, IntegerType, VectorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute

I1, I8, I16, I32, I64 = i1, i8, i16, i32, i64
HALF, BFLOAT, FLOAT, DOUBLE = f16, bf16, f32, f64
GENERIC, GLOBAL, SHARED, LOCAL, TENSOR, CLUSTER, PARAM = 0, 1, 3, 5, 6, 7, 101
_INTEGERS = {1: I1, 8: I8, 16: I16, 32: I32, 64: I64}
FLOATS = {"half": HALF, "bfloat": BFLOAT, "float": FLOAT, "double": DOUBLE}


@cache
def integer(width: int) -> IntegerType:
    """``i<width>``"""
    return _INTEGERS.get(width) or IntegerType(width)


@cache
def pointer(space: int = GENERIC) -> LLVMPointerType:
    """A pointer to an address space."""
    return LLVMPointerType(IntAttr(space)) if space else LLVMPointerType()


@cache
def vector(count: int, element: Attribute) -> VectorType:
    """``<count x element>``"""
    return VectorType(element, [count])


@cache
def struct(*fields: Attribute) -> LLVMStructType:
    """An unnamed struct."""
    return LLVMStructType.from_type_list(list(fields))


@cache
def array(count: int, element: Attribute) -> LLVMArrayType:
    """``[count x element]``"""
    return LLVMArrayType(IntAttr(count), element)


@cache
def named(name: str) -> Attribute:
    """A scalar type by LLVM's name: ``i32``, ``half``, ``ptr addrspace(1)``."""
    if name in FLOATS:
        return FLOATS[name]
    if name.startswith("ptr"):
        return pointer(int(name.partition("(")[2].rstrip(")") or 0))
    return integer(int(name.removeprefix("i")))
