"""Matrix descriptors, tensor maps, and ``arch.`` operations that allocate storage."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType, StringAttr, i32, i64
from xdsl.ir import SSAValue

from ....ir.dialects.checked_cast import cast
from ....ir.dialects.cute.types import MemRefType
from ....ir.dialects.llvm_ext import AddrSpaceCastOp, make_global
from ....ir.dialects.nvvm import ops_fence_proxy, ops_thread
from ....ir.dialects.nvvm.attrs import ShflKindAttr
from ....ir.dialects.nvvm.memory_access import DynamicSharedSizeOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts.cute_algebra import Layout
from ....ir.layouts.matrix_descriptor import tcgen05_descriptor, wgmma_descriptor
from ...analysis.tma_tensor_maps import MAP_BYTES
from ...common.llvm_type_constructors import array
from ...rewriting.dialect_conversion import RuleTable
from ..convert_nvgpu_and_gpu_to_nvvm.gpu_functions import DYNAMIC_ALIGNMENT, DYNAMIC_SHARED
from ..convert_nvgpu_and_gpu_to_nvvm.llvm_type_helpers import POINTER, SHARED_POINTER, element_bytes
from ..convert_nvgpu_and_gpu_to_nvvm.symbols import symbol
from ..convert_nvgpu_and_gpu_to_nvvm.wgmma import ROWS_PER_ATOM, packed_descriptor
from .converted_values import (
    ConvertedValue,
    Converter,
    View,
    int_parameter,
    keyword_parameter,
)
from .memory import shared_variable

REWRITES = RuleTable(dialect="cute_nvgpu")
rewrite = REWRITES.rule
I8 = IntegerType(8)


# ---- matrices in shared memory -----------------------------------------------------------------------
@rewrite("smem_desc_view")
def smem_desc_view(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A descriptor is the address plus one constant for all other fields, from the view's layout."""
    view = cv.view(op.view)
    bits = _descriptor_bits(
        view,
        element_bytes(cast(MemRefType, cv.type_of(op.view)).element),
        keyword_parameter(op, "version", "wgmma"),
        cv,
    )
    return [packed_descriptor(cv, view.pointer, bits)]


def _descriptor_bits(view: View, size: int, version: str, cv: Converter) -> int:
    """The constant fields for a matrix contiguous in k, in rows as wide as the swizzle (PTX ISA 9.0, "Canonical
    layouts").
    """
    layout = view.layout
    width = _swizzle_bytes(layout, size, cv)
    if not layout.is_static or layout.shape.__class__ is not tuple or len(layout.shape) != 2:
        raise cv.invalid("smem-desc-layout", f"needs a static matrix, but the layout is {layout}")
    row, column = layout.stride
    if column != 1 or not isinstance(row, int) or (width and row * size != width):
        raise cv.invalid("smem-desc-layout", f"needs rows of {width or 'whole'} bytes, contiguous in k, not {layout}")
    stride = ROWS_PER_ATOM * row * size
    leading = 16 if width else ROWS_PER_ATOM * 16
    if version == "tcgen05":
        return tcgen05_descriptor(leading, stride, f"{width}B")
    if version != "wgmma":
        raise cv.invalid("smem-desc-version", f"has version {version!r}: use wgmma or tcgen05")
    return wgmma_descriptor(leading, stride, 0, width)


def _swizzle_bytes(layout: Layout, size: int, cv: Converter) -> int:
    """The width in bytes of a swizzle of 16-byte units; the layout counts elements of ``size`` bytes."""
    if layout.swizzle is None:
        raise cv.unsupported("smem-desc-swizzle", "has no swizzle", "use one of 1, 2 or 3 bits of 16-byte units")
    swizzle, unit = layout.swizzle, (16 // size).bit_length() - 1
    if (swizzle.base, swizzle.shift) != (unit, 3) or swizzle.bits not in (1, 2, 3):
        raise cv.invalid("smem-desc-swizzle", f"unsupported swizzle, got {swizzle}")
    return 16 << swizzle.bits


# ---- tensor maps -------------------------------------------------------------------------------------
def generic(cv: Converter, pointer: SSAValue) -> SSAValue:
    """Cast a pointer to the generic address space."""
    return pointer if pointer.type == POINTER else cv.insert(AddrSpaceCastOp(pointer, POINTER))


@rewrite("get_tma_desc_addr")
def get_tma_desc_addr(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A tensor map is represented by its address."""
    return [generic(cv, cv.plain(op.descriptor))]


@rewrite("get_grid_constant_pointer")
def get_grid_constant_pointer(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A grid constant is read in place."""
    return [generic(cv, cv.plain(op.argument))]


@rewrite("cast_tma_desc_to_integer")
def cast_tma_desc_to_integer(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The address as an integer."""
    return [cv.insert(llvm.PtrToIntOp(cv.plain(op.descriptor), i64))]


@rewrite("copy_tma_desc")
def copy_tma_desc(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Copy 128 bytes, 8 at a time."""
    source, destination = cv.plain(op.source), cv.plain(op.destination)
    for index in range(MAP_BYTES // 8):
        word = cv.insert(llvm.LoadOp(cv.offset(source, index, i64), i64))
        cv.insert(llvm.StoreOp(word, cv.offset(destination, index, i64)))
    return []


@rewrite("prefetch_tma_desc", "arch.prefetch_tma_desc")
def prefetch_tma_desc(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """prefetch.tensormap"""
    cv.insert(ops_fence_proxy.PrefetchTensorMapOp.build(operands=[cv.plain(op.descriptor), None]))
    return []


# ---- storage -----------------------------------------------------------------------------------------
def _bytes(op: TableOp, cv: Converter) -> int:
    size = int_parameter(op, "size")
    if size < 1:
        raise cv.invalid("cute-storage", "needs the attribute size, in bytes")
    return size


@rewrite("arch.alloc_smem")
def alloc_smem(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A variable of ``size`` bytes in shared memory."""
    return [shared_variable(cv, array(_bytes(op, cv), I8), op.attributes)]


@rewrite("arch.alloc_rmem")
def alloc_rmem(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A stack object of ``size`` bytes."""
    made = cv.insert(llvm.AllocaOp(cv.constant(1), array(_bytes(op, cv), I8), 16))
    wanted = cast(llvm.LLVMPointerType, cv.types.convert(op.results[0].type))
    return [made if made.type == wanted else cv.insert(AddrSpaceCastOp(made, wanted))]


@rewrite("arch.get_dyn_smem")
def get_dyn_smem(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """One unsized global per module, whose size the launch sets."""
    if symbol(cv.symbols, DYNAMIC_SHARED) is None:
        type = array(0, I8)
        cv.add_global(make_global(type, DYNAMIC_SHARED, "external", 3, alignment=DYNAMIC_ALIGNMENT))
    return [cv.insert(llvm.AddressOfOp(DYNAMIC_SHARED, SHARED_POINTER))]


@rewrite("arch.get_dyn_smem_size")
def get_dyn_smem_size(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The special register (PTX ISA 9.0, %dynamic_smem_size)."""
    return [cv.issue(DynamicSharedSizeOp, type=i32)]


@rewrite("arch.make_warp_uniform")
def make_warp_uniform(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Broadcast the value of lane 0."""
    mask, zero, clamp = (cv.constant(number) for number in (-1, 0, 31))
    kind = ShflKindAttr.new([StringAttr("idx")])
    operands = [mask, cv.value(cv.scalar(op.value)), zero, clamp]
    return [cv.insert(ops_thread.ShflSyncOp.build(operands=operands, result_types=[i32], properties={"kind": kind}))]
