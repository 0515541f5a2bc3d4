"""The LLVM forms of types: index, vectors, memrefs, and those of ``nvgpu``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import builtin, llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntAttr, IntegerType, MemRefType, VectorType, i32, i64
from xdsl.ir import Attribute

from ....dialects.nvgpu import attrs as nvgpu
from ....dialects.nvvm.rows import bits_of
from ...shared.llvm_types import GLOBAL, array, struct

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
    """(strides, offset) in elements, None where one of them is known at run time only."""
    strides, offset = type.get_strides(), type.get_offset()
    if strides is None or offset is None or offset == DYNAMIC_INDEX:
        return None
    known = tuple([stride for stride in strides if stride is not None and stride != DYNAMIC_INDEX])
    return (known, offset) if len(known) == len(strides) else None


def descriptor_type(type: MemRefType) -> llvm.LLVMStructType:
    """{allocated, aligned, offset, sizes, strides}: a memref whose strides are known at run time only."""
    pointer, rank = pointer_to(nvgpu.address_space(type.memory_space)), len(type.get_shape())
    fields: list[Attribute] = [pointer, pointer, i64]
    return struct_of(fields + [array(rank, i64)] * 2 if rank else fields)


def _memref(type: MemRefType) -> Attribute:
    if static_strides(type) is None:
        return descriptor_type(type)
    return pointer_to(nvgpu.address_space(type.memory_space))


def accumulator_registers(type: nvgpu.WarpgroupAccumulatorType) -> tuple[int, Attribute, int]:
    """(row blocks of 64, type of a register, registers of one block per thread)."""
    rows, columns = type.fragmented.get_shape()
    element = type.fragmented.element_type
    packed = bits_of(element) == 16
    return rows // 64, i32 if packed else element, columns // (4 if packed else 2)


def _accumulator(type: nvgpu.WarpgroupAccumulatorType) -> Attribute:
    blocks, register, count = accumulator_registers(type)
    block = struct_of([register] * count)
    return block if blocks == 1 else struct_of([block] * blocks)


def _barrier_group(type: nvgpu.MBarrierGroupType) -> Attribute:
    return pointer_to(nvgpu.address_space(type.memory_space))


def _vector(type: VectorType) -> Attribute:
    """LLVM's vectors have one dimension: the outer ones become arrays."""
    element = convert_type(type.element_type)
    shape = type.get_shape()
    result: Attribute = VectorType(element, shape[-1:], None) if shape else VectorType(element, [1])
    for size in reversed(shape[:-1]):
        result = array(size, result)
    return result


CONVERTED: dict[type[Attribute], Callable[..., Attribute]] = {
    IndexType: lambda type: i64,
    VectorType: _vector,
    MemRefType: _memref,
    nvgpu.DeviceAsyncTokenType: lambda type: i32,
    nvgpu.MBarrierTokenType: lambda type: i64,
    nvgpu.MBarrierGroupType: _barrier_group,
    nvgpu.TensorMapDescriptorType: lambda type: POINTER,
    nvgpu.WarpgroupDescriptorType: lambda type: i64,
    nvgpu.WarpgroupAccumulatorType: _accumulator,
}


def convert_type(type: Attribute) -> Attribute:
    """The LLVM form of a type; a type without one is its own."""
    convert = CONVERTED.get(type.__class__)
    if convert is not None:
        return convert(type)
    # LLVM has no floats of 8 bits and less: they travel as integers.
    if isinstance(type, builtin.AnyFloat) and not llvm.is_compatible_type(type):
        return IntegerType(type.bitwidth)
    return type


def element_bytes(type: Attribute) -> int:
    """Size of an element in memory."""
    return -(-bits_of(type) // 8)
