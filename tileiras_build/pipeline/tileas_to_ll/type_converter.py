"""One LLVM form for each type: the ABI that functions, tiles and companion dialects share.

| type                                 | LLVM                                                                       |
|--------------------------------------|----------------------------------------------------------------------------|
| ranked memref, ``!nv_tileaa.memref`` | {allocated pointer, aligned pointer, index offset, sizes[N], strides[N]}    |
| the same as argument of a kernel     | the aligned pointer; what else describes it are arguments of their own     |
| unranked memref                      | {index rank, pointer}                                                      |
| ``index``                            | an integer of the configured width, 64 bits unless told otherwise          |
| vector                               | a vector of the converted element; outer dimensions are arrays             |
| any token                            | i32: twice the stage, plus the phase of its barrier                        |
| ``!nv_tileaa.tiled_view``            | {base pointer, i32 swizzle, i32 dimension 0, i32 dimensions 1..3}          |
| ``!nv_tileaa.ptr``                   | a pointer to global memory                                                 |
| tuple                                | a struct of the converted members                                          |
| integer, float                       | LLVM's own where it has it; tf32 is f32, fp8 its bits; a scalar of fewer   |
|                                      | is a byte, in vectors it has its bits                                      |
| ``!cute.shape`` and other tuples     | i32 for a leaf, a struct for a tuple                                       |
| ``!cute.layout``                     | i32 shape and stride of each mode in turn; nested modes are structs        |
| ``!cute.ptr``, tensor maps           | a pointer to the memory space                                              |
| ``!cute.memref``                     | {pointer, layout}                                                          |
| ``!cute.desc_iter``                  | {pointer, i32 index, i32 stride}                                           |
| ``!cute_nvgpu.smem_desc``            | i64                                                                        |
| ``!nvgpu.mbarrier.barrier``          | a pointer to the memory space; what an arrival gives is i64                |
| ``!nvgpu.warpgroup.accumulator``     | a struct of registers for each 64 rows; a descriptor is i64                |
| ``!cutlass.pipeline``                | the address of its barriers; its state {i32 phase, index, count}           |
| LLVM types                           | unchanged                                                                  |
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    FixedBitwidthType,
    FloatTF32Type,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    TupleType,
    UnrankedMemRefType,
    VectorType,
    f32,
    i32,
    i64,
)
from xdsl.dialects.gpu import AsyncTokenType
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType, is_compatible_type
from xdsl.ir import Attribute

from ...core.errors import Unsupported
from ...ir.dialects.cuda_tile.element_types import FloatNV8E5M3FNUType
from ...ir.dialects.nv_tileaa.types import MemRefType as TileMemRefType
from ...ir.dialects.nv_tileaa.types import PointerType, TiledViewType, TokenType
from ...ir.dialects.nvgpu import types as nvgpu
from ...ir.dialects.nvgpu.types import address_space
from ...ir.dialects.nvvm.intrinsic_or_inline_asm import bits_of
from ..common import llvm_type_constructors
from ..common.llvm_type_constructors import array
from ..rewriting.dialect_conversion import TypeConverter, TypeRow

# The address spaces of LLVM's NVPTX back end; pointers change them only by a cast.
ADDRESS_SPACES = {
    "generic": 0,
    "global": 1,
    "internal": 2,
    "shared": 3,
    "constant": 4,
    "local": 5,
    "tensor": 6,
    "param": 101,
}
# The fields of a memref's descriptor.
ALLOCATED, ALIGNED, OFFSET, SIZES, STRIDES = range(5)
DEFAULT_INDEX_WIDTH, BYTE = 64, 8


# ---- types -----------------------------------------------------------------------------------------
def pointer(space: str | int = "generic") -> LLVMPointerType:
    """A pointer to an address space, by name or number."""
    return llvm_type_constructors.pointer(ADDRESS_SPACES[space] if isinstance(space, str) else space)


def struct(members: Sequence[Attribute]) -> LLVMStructType:
    """An unnamed struct."""
    return llvm_type_constructors.struct(*members)


class LLVMTypeConverter(TypeConverter):
    """Converts types by the table above.

    ``index_width`` is in bits, 0 = the machine word; ``bare_pointers`` is the ABI of kernels.
    """

    def __init__(self, *, index_width: int = 64, bare_pointers: bool = False):
        self.index = llvm_type_constructors.integer(index_width or DEFAULT_INDEX_WIDTH)
        self.bare_pointers = bare_pointers

    def argument(self, type: Attribute) -> Attribute:
        """The LLVM form of a function's argument."""
        if self.bare_pointers and isinstance(type, (MemRefType, TileMemRefType)):
            return self.memory_pointer(type)
        return self.convert(type)

    def function(self, inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> FunctionType:
        """A function's signature, argument by argument."""
        arguments = [self.argument(type) for type in inputs]
        return FunctionType.from_lists(arguments, [self.convert(type) for type in outputs])

    def memory_pointer(self, type: MemRefType | UnrankedMemRefType | TileMemRefType) -> LLVMPointerType:
        """The pointer to a memref's elements, in its memory space."""
        if isinstance(type, TileMemRefType):
            return pointer("global")
        return pointer(0 if isinstance(type.memory_space, NoneAttr) else address_space(type.memory_space))

    def _descriptor(self, type: MemRefType | TileMemRefType) -> LLVMStructType:
        rank = len(type.shape)
        element = self.memory_pointer(type)
        members: list[Attribute] = [element, element, self.index]
        return struct(members + [array(rank, self.index)] * 2 if rank else members)

    def _unranked(self, type: UnrankedMemRefType) -> LLVMStructType:
        return struct([self.index, pointer()])

    def _vector(self, type: VectorType) -> Attribute:
        """A vector of the converted element type; LLVM vectors have one dimension."""
        element, shape = type.element_type, type.get_shape() or (1,)
        if isinstance(element, FixedBitwidthType) and element.bitwidth < BYTE:
            row: Attribute = IntegerType(element.bitwidth)
        else:
            row = self.convert(element)
        result: Attribute = VectorType(row, shape[-1:], ArrayAttr(type.scalable_dims.data[-1:]) if type.shape else None)
        for size in reversed(shape[:-1]):
            result = array(size, result)
        return result

    def _accumulator(self, type: nvgpu.WarpgroupAccumulatorType) -> LLVMStructType:
        blocks, register, count = accumulator_registers(type)
        block = struct([register] * count)
        return block if blocks == 1 else struct([block] * blocks)

    def _barriers(self, type: nvgpu.MBarrierGroupType) -> LLVMPointerType:
        return pointer(address_space(type.memory_space))

    def _tuple(self, type: TupleType) -> LLVMStructType:
        return struct([self.convert(member) for member in type.types])

    def _view(self, type: TiledViewType) -> LLVMStructType:
        return struct([pointer("global"), i32, i32, array(3, i32)])

    def _integer(self, type: IntegerType) -> IntegerType:
        return IntegerType(BYTE) if 1 < type.width.data < BYTE else type

    def without_row(self, type: Attribute) -> Attribute:
        """LLVM's own types, and floats; raises Unsupported[type-conversion] for others."""
        if type.name.startswith("llvm.") or is_compatible_type(type):
            return type
        if isinstance(type, FloatTF32Type):
            return f32
        if isinstance(type, FixedBitwidthType):
            return IntegerType(max(type.bitwidth, BYTE))
        raise Unsupported(
            "type-conversion",
            f"failed to convert function signature type for: {type}",
            remedy="see type_converter.py: ROWS",
        )


def accumulator_registers(type: nvgpu.WarpgroupAccumulatorType) -> tuple[int, Attribute, int]:
    """(row blocks of 64, type of a register, registers of one block per thread)."""
    rows, columns = type.fragmented.get_shape()
    element = type.fragmented.element_type
    packed = bits_of(element) == 16
    return rows // 64, i32 if packed else element, columns // (4 if packed else 2)


def _nested(form: object) -> Attribute:
    return struct([_nested(member) for member in form]) if isinstance(form, tuple) else i32


def _interleaved(shape: object) -> LLVMStructType:
    """Shape and stride of each mode; a mode with modes of its own is a struct of theirs."""
    modes = shape if isinstance(shape, tuple) else (shape,)
    members = [[_interleaved(mode)] if isinstance(mode, tuple) else [i32, i32] for mode in modes]
    return struct([member for mode in members for member in mode])


ROWS: dict[str, TypeRow] = {
    MemRefType.name: LLVMTypeConverter._descriptor,
    TileMemRefType.name: LLVMTypeConverter._descriptor,
    UnrankedMemRefType.name: LLVMTypeConverter._unranked,
    IndexType.name: lambda converter, type: converter.index,
    IntegerType.name: LLVMTypeConverter._integer,
    VectorType.name: LLVMTypeConverter._vector,
    TupleType.name: LLVMTypeConverter._tuple,
    FloatNV8E5M3FNUType.name: lambda converter, type: IntegerType(BYTE),
    TokenType.name: lambda converter, type: i32,
    AsyncTokenType.name: lambda converter, type: i32,
    nvgpu.DeviceAsyncTokenType.name: lambda converter, type: i32,
    nvgpu.MBarrierTokenType.name: lambda converter, type: i64,
    nvgpu.MBarrierGroupType.name: LLVMTypeConverter._barriers,
    nvgpu.TensorMapDescriptorType.name: lambda converter, type: pointer(),
    nvgpu.WarpgroupDescriptorType.name: lambda converter, type: i64,
    nvgpu.WarpgroupAccumulatorType.name: LLVMTypeConverter._accumulator,
    TiledViewType.name: LLVMTypeConverter._view,
    PointerType.name: lambda converter, type: pointer("global"),
    # By name: kernels of tiles do not load the dialects of hand-written IR.
    **{
        f"cute.{name}": lambda converter, type: _nested(type.data)
        for name in ("int_tuple", "shape", "stride", "coord", "tile")
    },
    "cute.layout": lambda converter, type: _interleaved(type.data.shape),
    "cute.ptr": lambda converter, type: pointer(type.address_space),
    "cute.memref": lambda converter, type: struct([pointer(type.address_space), converter.convert(type.layout)]),
    "cute.desc_iter": lambda converter, type: struct([pointer(type.address_space), i32, i32]),
    "cute_nvgpu.smem_desc": lambda converter, type: i64,
    "cute_nvgpu.tma_desc": lambda converter, type: pointer(),
    "cutlass.pipeline": lambda converter, type: pointer("shared"),
    "cutlass.pipeline.state": lambda converter, type: struct([i32, i32, i32]),
}
LLVMTypeConverter.rows = ROWS
