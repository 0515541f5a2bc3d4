"""References to memory: a descriptor of a pointer, an offset, and the size and stride of each dimension."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    UnrankedMemRefType,
)
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from ....ir.dialects import memref_ext
from ....ir.dialects.checked_cast import type_as
from ....ir.dialects.llvm_ext import AddrSpaceCastOp, make_global
from ...common.llvm_type_constructors import array
from ..convert_nvgpu_and_gpu_to_nvvm.llvm_type_helpers import element_bytes, elements_in_byte, static_strides
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter
from ..type_converter import ALIGNED, ALLOCATED, OFFSET, SIZES, STRIDES
from .lowering_registry import lowering

IndexValue = SSAValue | int


@lowering(memref.LoadOp)
def lower_load(emit: Emitter, op: memref.LoadOp) -> None:
    """llvm.load of one element."""
    _check_element(type_as(op.memref, MemRefType), emit)
    pointer = emit.address(op.memref, op.indices)
    emit.replace(
        emit.create(llvm.LoadOp, (pointer,), emit.types.convert(op.res.type), {"ordering": IntegerAttr(0, 64)})
    )


@lowering(memref.StoreOp)
def lower_store(emit: Emitter, op: memref.StoreOp) -> None:
    """llvm.store of one element."""
    _check_element(type_as(op.memref, MemRefType), emit)
    pointer = emit.address(op.memref, op.indices)
    emit.replace_with(llvm.StoreOp(emit.converted(op.value), pointer))


def _check_element(type: MemRefType, emit: Emitter) -> None:
    if elements_in_byte(type.element_type) > 1:
        raise emit.unsupported("element-access", f"moves whole bytes, but got an element of '{type}'")


# Allocation -----------------------------------------------------------------------------------------------------------


@lowering(memref.AllocaOp)
def lower_alloca(emit: Emitter, op: memref.AllocaOp) -> None:
    """Storage on the stack of the function."""
    type = op.memref.type
    if not type.has_static_shape():
        raise emit.unsupported(
            "alloca-shape", f"needs a static shape, but got '{type}'", "make it as large as it can be"
        )
    size = element_bytes(type.element_type)
    alignment = op.alignment.value.data if op.alignment is not None else size
    storage = array(type.element_count(), emit.types.convert(type.element_type))
    _pointer_descriptor(emit.insert(llvm.AllocaOp(emit.constant(1), storage, alignment)), type, emit)


@lowering(memref_ext.GlobalOp)
def lower_global(emit: Emitter, op: memref_ext.GlobalOp) -> None:
    """``llvm.mlir.global``: a declaration if it has no initial value, but a definition in shared memory."""
    type = op.type
    storage = array(type.element_count(), emit.types.convert(type.element_type))
    value = op.initial_value if isinstance(op.initial_value, DenseIntOrFPElementsAttr) else None
    linkage = "external" if op.initial_value is None else "internal"
    space = emit.types.memory_pointer(type).addr_space
    alignment = op.alignment.value.data if op.alignment is not None else max(16, element_bytes(type.element_type))
    made = make_global(
        storage, op.sym_name.data, linkage, getattr(space, "data", 0),
        constant=op.constant is not None, value=value, alignment=alignment,
    )  # fmt: skip
    emit.replace_with(made)


@lowering(memref.GetGlobalOp)
def lower_get_global(emit: Emitter, op: memref.GetGlobalOp) -> None:
    """The address of a variable."""
    type = type_as(op.memref, MemRefType)
    _pointer_descriptor(emit.insert(llvm.AddressOfOp(op.name_, emit.types.memory_pointer(type))), type, emit)


def _pointer_descriptor(pointer: SSAValue, type: MemRefType, emit: Emitter) -> None:
    """Replace the root by a memref of static shape at a pointer."""
    wanted = emit.types.memory_pointer(type)
    address = pointer if pointer.type == wanted else emit.insert(AddrSpaceCastOp(pointer, wanted))
    known = static_strides(type)
    if known is None:
        raise emit.unsupported("memref-strides", f"needs static strides, but got '{type}'")
    emit.replace(_describe(address, known[1], list(type.get_shape()), list(known[0]), type, emit))


def _describe(
    pointer: SSAValue,
    offset: IndexValue,
    sizes: Sequence[IndexValue],
    strides: Sequence[IndexValue],
    type: MemRefType,
    emit: Emitter,
) -> SSAValue:
    """The descriptor of a memref."""
    result = emit.insert(llvm.UndefOp(emit.types.convert(type)))
    for place in (ALLOCATED, ALIGNED):
        result = emit.with_field(result, pointer, place)
    fields: dict[tuple[int, ...], IndexValue] = {(OFFSET,): offset}
    fields |= {(SIZES, position): size for position, size in enumerate(sizes)}
    fields |= {(STRIDES, position): stride for position, stride in enumerate(strides)}
    for position, entry in fields.items():
        value = emit.constant(entry, emit.types.index) if isinstance(entry, int) else entry
        result = emit.with_field(result, value, *position)
    return result


# Other references to the same memory ----------------------------------------------------------------------------------


@lowering(memref_ext.CastOp)
def lower_cast(emit: Emitter, op: memref_ext.CastOp) -> None:
    """The same descriptor; that of an unranked memref is on the stack."""
    source, dest = op.source.type, op.dest.type
    value, type = emit.converted(op.source), emit.types.convert(dest)
    if isa(source, MemRefType) and isa(dest, UnrankedMemRefType):
        place = emit.object(value.type, emit.types.index.width.data // 8)
        emit.insert(llvm.StoreOp(value, place))
        emit.replace(emit.struct([emit.constant(len(source.shape), emit.types.index), place]))
    elif isa(source, UnrankedMemRefType) and isa(dest, MemRefType):
        emit.replace(emit.create(llvm.LoadOp, (emit.field(value, 1),), type, {"ordering": IntegerAttr(0, 64)}))
    elif value.type == type:
        emit.replace(value)
    else:
        raise emit.unsupported("memref-cast", f"cannot cast '{source}' to '{dest}'")


@lowering(memref_ext.MemorySpaceCastOp)
def lower_space_cast(emit: Emitter, op: memref_ext.MemorySpaceCastOp) -> None:
    """Cast both pointers to the other address space."""
    source, dest = type_as(op.source, MemRefType), type_as(op.dest, MemRefType)
    value, pointer = emit.converted(op.source), emit.types.memory_pointer(dest)
    if value.type == emit.types.convert(dest):
        return emit.replace(value)
    rank = range(len(source.shape))
    sizes, strides = ([emit.field(value, part, position) for position in rank] for part in (SIZES, STRIDES))
    address = emit.insert(AddrSpaceCastOp(emit.field(value, ALIGNED), pointer))
    emit.replace(_describe(address, emit.field(value, OFFSET), sizes, strides, dest, emit))


def _sizes_or_strides(static: Sequence[int], dynamic: Sequence[SSAValue], emit: Emitter) -> list[IndexValue]:
    values = iter(dynamic)
    return [emit.converted(next(values)) if number == DYNAMIC_INDEX else number for number in static]


@lowering(memref.ReinterpretCastOp)
def lower_reinterpret(emit: Emitter, op: memref.ReinterpretCastOp) -> None:
    """The aligned pointer with a new offset, sizes and strides."""
    pointer = emit.aligned(op.source)
    [offset] = _sizes_or_strides(op.static_offsets.get_values(), op.offsets, emit)
    sizes = _sizes_or_strides(op.static_sizes.get_values(), op.sizes, emit)
    strides = _sizes_or_strides(op.static_strides.get_values(), op.strides, emit)
    emit.replace(_describe(pointer, offset, sizes, strides, type_as(op.result, MemRefType), emit))


@lowering(memref.SubviewOp)
def lower_subview(emit: Emitter, op: memref.SubviewOp) -> None:
    """A subview: its offset is added, its strides are multiplied; unit dimensions may be dropped."""
    source = emit.converted(op.source)
    offsets = _sizes_or_strides(op.static_offsets.get_values(), op.offsets, emit)
    sizes = _sizes_or_strides(op.static_sizes.get_values(), op.sizes, emit)
    steps = _sizes_or_strides(op.static_strides.get_values(), op.strides, emit)
    start = emit.field(source, OFFSET)
    strides: list[IndexValue] = []
    for position, (offset, step) in enumerate(zip(offsets, steps, strict=True)):
        stride = emit.field(source, STRIDES, position)
        start = emit.binary("add", start, _multiplied(stride, offset, emit), start.type)
        strides.append(_multiplied(stride, step, emit))
    result = type_as(op.result, MemRefType)
    kept = _kept_dims(op.static_sizes.get_values(), result.get_shape(), emit)
    parts = [sizes[position] for position in kept], [strides[position] for position in kept]
    emit.replace(_describe(emit.field(source, ALIGNED), start, *parts, result, emit))


def _kept_dims(sizes: Sequence[int], shape: Sequence[int], emit: Emitter) -> list[int]:
    """The dimensions of a subview that its result has: unit dimensions may be dropped."""
    kept, wanted = [], list(shape)
    for position, size in enumerate(sizes):
        dropped = len(sizes) - position - 1 >= len(wanted)
        if wanted and size == wanted[0] and not (size == 1 and dropped and len(sizes) - position > len(wanted)):
            wanted.pop(0)
            kept.append(position)
        elif size != 1:
            raise emit.unsupported("subview-rank", f"cannot make dimensions {list(shape)} of {list(sizes)}")
    if wanted:
        raise emit.unsupported("subview-rank", f"cannot make dimensions {list(shape)} of {list(sizes)}")
    return kept


def _multiplied(value: SSAValue, factor: IndexValue, emit: Emitter) -> SSAValue:
    if factor == 1:
        return value
    return emit.binary("mul", value, factor, value.type)


# Queries --------------------------------------------------------------------------------------------------------------


@lowering(memref.DimOp)
def lower_dim(emit: Emitter, op: memref.DimOp) -> None:
    """The size of a dimension with a constant index."""
    type, position = op.source.type, emit.constant_of(op.index)
    if not isa(type, MemRefType) or position is None or not 0 <= position < len(type.shape):
        raise emit.unsupported("dim-position", f"needs the number of a dimension of '{type}'")
    size = type.get_shape()[position]
    index = emit.types.index
    emit.replace(emit.constant(size, index) if size >= 0 else emit.field(emit.converted(op.source), SIZES, position))


@lowering(memref_ext.ExtractAlignedPointerAsIndexOp)
def lower_pointer(emit: Emitter, op: memref_ext.ExtractAlignedPointerAsIndexOp) -> None:
    """The aligned pointer as an integer."""
    emit.replace(emit.create(llvm.PtrToIntOp, (emit.aligned(op.source),), emit.types.index))
