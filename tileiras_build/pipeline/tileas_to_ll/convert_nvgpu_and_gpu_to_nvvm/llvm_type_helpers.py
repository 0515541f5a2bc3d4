"""The LLVM forms of types in device code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, IntAttr, MemRefType, NoneAttr
from xdsl.ir import Attribute, Block, SSAValue

from ....ir.dialects.gpu_ext import GPUFuncOp
from ....ir.dialects.nvgpu import types as nvgpu
from ....ir.dialects.nvvm.intrinsic_or_inline_asm import bits_of
from ...common.llvm_type_constructors import GLOBAL, struct
from ..type_converter import BYTE, DEFAULT_INDEX_WIDTH, LLVMTypeConverter

POINTER = llvm.LLVMPointerType()
SHARED_POINTER = llvm.LLVMPointerType(IntAttr(nvgpu.SHARED))
GLOBAL_POINTER = llvm.LLVMPointerType(IntAttr(GLOBAL))


def struct_of(types: Sequence[Attribute]) -> llvm.LLVMStructType:
    """An unnamed LLVM struct."""
    return struct(*types)


def pointer_to(space: int) -> llvm.LLVMPointerType:
    """A pointer to an address space; 0 is the generic one."""
    return llvm.LLVMPointerType(IntAttr(space)) if space else POINTER


def static_strides(type: MemRefType) -> tuple[tuple[int, ...], int] | None:
    """(strides, offset) in elements; None if one of them is dynamic."""
    if isinstance(type.layout, NoneAttr) and len(type.shape) == 1:
        return (1,), 0
    strides, offset = type.get_strides(), type.get_offset()
    if strides is None or offset is None or offset == DYNAMIC_INDEX:
        return None
    known = tuple([stride for stride in strides if stride is not None and stride != DYNAMIC_INDEX])
    return (known, offset) if len(known) == len(strides) else None


@cache
def converter_of(index_width: int) -> LLVMTypeConverter:
    """The converter for an ``index`` of so many bits."""
    return LLVMTypeConverter(index_width=index_width)


def convert_type(type: Attribute) -> Attribute:
    """The LLVM form of a type without ``index``; raises Unsupported[type-conversion] if it has none."""
    return converter_of(DEFAULT_INDEX_WIDTH).convert(type)


def is_memory_of_kernel(buffer: SSAValue) -> bool:
    """Whether a memref is an argument of a kernel, or a buffer that a function allocates."""
    block = buffer.owner
    function = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(function, GPUFuncOp) or block is not function.regions[0].blocks[0]:
        return False
    return function.kernel is not None or block.args.index(buffer) >= len(function.function_type.inputs.data)


def elements_in_byte(type: Attribute) -> int:
    """Elements per byte of memory: 2- and 4-bit elements are packed, as byte copies require."""
    bits = type.bitwidth if isinstance(type, FixedBitwidthType) else BYTE
    return BYTE // bits if bits in (2, 4) else 1


def element_bytes(type: Attribute) -> int:
    """Size of an element in memory."""
    return -(-bits_of(type) // 8)
