"""TMA copies, and tensor maps: created, prefetched, fenced, and modified on the device."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ....ir.dialects.checked_cast import type_as
from ....ir.dialects.fast_xdsl import build
from ....ir.dialects.llvm_ext import AddrSpaceCastOp
from ....ir.dialects.memref_ext import CastOp
from ....ir.dialects.nvgpu import ops_tma as nvgpu
from ....ir.dialects.nvgpu import types
from ....ir.dialects.nvvm import ops_copy, ops_fence_proxy
from ....ir.dialects.nvvm.attrs import Keyword, LoadModeAttr, MemScopeAttr
from ....ir.dialects.nvvm.intrinsic_or_inline_asm import bits_of
from ....ir.dialects.nvvm.tma_reduce import TensorMapReplaceOp
from ...analysis.tma_tensor_maps import MAP_BYTES
from ...common.llvm_type_constructors import array
from .llvm_type_helpers import GLOBAL_POINTER, POINTER, SHARED_POINTER, element_bytes, static_strides, struct_of
from .mbarriers import barrier_address
from .rewriter import Emitter, rewrite

TILE = LoadModeAttr.new([StringAttr("tile")])


def _enabled(**options: SSAValue | UnitAttr | None) -> dict[str, Attribute]:
    return {name: UnitAttr() for name, value in options.items() if value is not None}


@rewrite(nvgpu.TmaAsyncLoadOp)
def convert_load(emit: Emitter, op: nvgpu.TmaAsyncLoadOp) -> None:
    """Operands in order; an absent mask or hint leaves out its operand, as zero has another meaning."""
    operands: list[SSAValue | Sequence[SSAValue] | None] = [
        emit.base_address(op.dst),
        emit.base_address(op.tensorMapDescriptor),
        [emit.integer(coordinate) for coordinate in op.coordinates],
        barrier_address(op.barriers, op.mbarId, emit),
        op.multicastMask,
        op.l2CacheHint,
        op.predicate,
    ]
    enabled = _enabled(multicastEnable=op.multicastMask, cacheHintEnable=op.l2CacheHint, pair=op.pair)
    emit.replace_with(build(ops_copy.TensorLoadOp, operands, (), enabled | {"mode": TILE}))


@rewrite(nvgpu.TmaAsyncStoreOp)
def convert_store(emit: Emitter, op: nvgpu.TmaAsyncStoreOp) -> None:
    """A store has no barrier: the storing thread continues."""
    operands: list[SSAValue | Sequence[SSAValue] | None] = [
        emit.base_address(op.tensorMapDescriptor),
        [emit.integer(coordinate) for coordinate in op.coordinates],
        emit.base_address(op.src),
        op.l2CacheHint,
        op.predicate,
    ]
    enabled = _enabled(cacheHintEnable=op.l2CacheHint)
    emit.replace_with(ops_copy.TensorStoreOp.build(operands=operands, properties=enabled | {"mode": TILE}))


@rewrite(nvgpu.TmaPrefetchDescriptorOp)
def convert_prefetch(emit: Emitter, op: nvgpu.TmaPrefetchDescriptorOp) -> None:
    """prefetch.tensormap"""
    operands = [emit.base_address(op.tensorMapDescriptor), op.predicate]
    emit.replace_with(build(ops_fence_proxy.PrefetchTensorMapOp, operands))


@rewrite(nvgpu.TmaFenceDescriptorOp)
def convert_fence(emit: Emitter, op: nvgpu.TmaFenceDescriptorOp) -> None:
    """Fence at system scope, as the host may have modified the map."""
    _acquire(emit, emit.base_address(op.tensorMapDescriptor), "sys")
    emit.replace()


def _scope(name: str) -> Keyword:
    return MemScopeAttr.new([StringAttr(name)])


def _acquire(emit: Emitter, address: SSAValue, scope: str) -> None:
    operands = [address, emit.constant(MAP_BYTES)]
    emit.insert(ops_fence_proxy.FenceProxyAcquireOp.build(operands=operands, properties={"scope": _scope(scope)}))


# Construction ---------------------------------------------------------------------------------------------------------

# Element type -> CUtensorMapDataType.
_FLOAT_CODES = {Float16Type: 6, Float32Type: 7, Float64Type: 8, BFloat16Type: 9}
_INTEGER_CODES = {8: 0, 16: 1, 32: 3, 64: 5}
_RANK = nvgpu.MAX_RANK

# Arguments of the encoder, innermost dimension first; strides are in bytes, without the first.
FIELDS: dict[str, Attribute] = {
    "address": POINTER,
    "sizes": array(_RANK, i64),
    "strides": array(_RANK - 1, i64),
    "box": array(_RANK, i32),
    "element_type": i32,
    "rank": i32,
    "swizzle": i32,
    "l2promo": i32,
    "oob": i32,
    "interleave": i32,
}
MAP_TYPE = struct_of(list(FIELDS.values()))


@rewrite(nvgpu.TmaCreateDescriptorOp)
def convert_create(emit: Emitter, op: nvgpu.TmaCreateDescriptorOp) -> None:
    """A 128-byte stack object with the static fields of the tensor, the box and the map's modes."""
    tensor, strides = _static_tensor(op, emit)
    map_type = type_as(op.tensorMap, types.TensorMapDescriptorType)
    buffer = emit.object(array(MAP_BYTES, IntegerType(8)), MAP_BYTES)
    size = element_bytes(tensor.element_type)
    pointer = emit.base_address(_ranked(op.tensor))
    _set(emit, buffer, "address", pointer if pointer.type == POINTER else _cast_generic(emit, pointer))
    _set_list(emit, buffer, "sizes", [emit.constant(extent, i64) for extent in reversed(tensor.get_shape())])
    outer = list(reversed(strides))[1:]
    _set_list(emit, buffer, "strides", [emit.constant(stride * size, i64) for stride in outer])
    _set_list(emit, buffer, "box", [emit.integer(extent) for extent in reversed(op.boxDimensions)])
    for name, value in _modes(op, tensor, map_type, emit).items():
        _set(emit, buffer, name, emit.constant(value))
    emit.replace(buffer)


def _ranked(tensor: SSAValue) -> SSAValue:
    """The most specific type of a tensor: the source of a cast that erases static sizes."""
    while isinstance(cast := tensor.owner, CastOp):
        tensor = cast.source
    return tensor


def _static_tensor(op: nvgpu.TmaCreateDescriptorOp, emit: Emitter) -> tuple[MemRefType, tuple[int, ...]]:
    """The tensor and its strides in elements."""
    type = _ranked(op.tensor).type
    known = static_strides(type) if isinstance(type, MemRefType) and type.has_static_shape() else None
    if not isinstance(type, MemRefType) or known is None:
        raise emit.unsupported("tensor-map-shape", f"needs a tensor of static shape and strides, but got '{type}'")
    if len(type.get_shape()) != len(op.boxDimensions):
        raise emit.unsupported("tensor-map-box", f"has a box of {len(op.boxDimensions)} dimensions for '{type}'")
    return type, known[0]


def _modes(
    op: nvgpu.TmaCreateDescriptorOp, tensor: MemRefType, map_type: types.TensorMapDescriptorType, emit: Emitter
) -> dict[str, int]:
    return {
        "element_type": _element_code(tensor.element_type, emit),
        "rank": len(op.boxDimensions),
        "swizzle": types.SWIZZLE[map_type.swizzle.data],
        "l2promo": types.L2_PROMOTION[map_type.l2promo.data],
        "oob": types.OUT_OF_BOUNDS[map_type.oob.data],
        "interleave": types.INTERLEAVE[map_type.interleave.data],
    }


def _element_code(element: Attribute, emit: Emitter) -> int:
    if isinstance(element, IntegerType) and element.width.data in _INTEGER_CODES:
        return _INTEGER_CODES[element.width.data]
    for kind, code in _FLOAT_CODES.items():
        if isinstance(element, kind):
            return code
    if bits_of(element) == 8:
        return _INTEGER_CODES[8]
    raise emit.unsupported("tensor-map-element", f"cannot describe elements of type {element}")


def _set(emit: Emitter, buffer: SSAValue, name: str, value: SSAValue, *rest: int) -> None:
    position = list(FIELDS).index(name)
    place = emit.insert(llvm.GEPOp(buffer, [0, position, *rest], MAP_TYPE))
    emit.insert(llvm.StoreOp(value, place))


def _set_list(emit: Emitter, buffer: SSAValue, name: str, values: list[SSAValue]) -> None:
    for index, value in enumerate(values):
        _set(emit, buffer, name, value, index)


# Rebinding ------------------------------------------------------------------------------------------------------------

_MAP_POINTERS = (GLOBAL_POINTER, SHARED_POINTER, POINTER)


@rewrite(nvgpu.TmaRebindDescriptorOp)
def convert_rebind(emit: Emitter, op: nvgpu.TmaRebindDescriptorOp) -> None:
    """Acquire, address, sizes, strides, release: any other order exposes a partially updated map."""
    pointer = emit.base_address(op.tensorMapDescriptor)
    if pointer.type not in _MAP_POINTERS:
        raise emit.unsupported("rebind-space", f"needs a map in global or shared memory, but got '{pointer.type}'")
    least = "gpu" if _in_cluster(emit) else "cta"
    scope = op.scope.data.value if op.scope else least
    if scope == "cta" and least != scope:
        message = "has the scope cta in a kernel of clusters, whose other CTAs would read the map half changed"
        raise emit.unsupported("rebind-scope", message, "leave the scope out, or use gpu or sys")
    address = emit.integer(_address_bits(op.address, emit), i64)
    _acquire(emit, pointer if pointer.type == POINTER else _cast_generic(emit, pointer), scope)
    emit.issue(TensorMapReplaceOp, pointer, address, field="global_address")
    for index, extent in enumerate(op.dims):
        emit.issue(TensorMapReplaceOp, pointer, emit.integer(extent), field="global_dim", index=index)
    for index, stride in enumerate(op.strides):
        emit.issue(TensorMapReplaceOp, pointer, emit.integer(stride, i64), field="global_stride", index=index)
    emit.insert(ops_fence_proxy.FenceProxyReleaseOp.build(properties={"scope": _scope(scope)}))
    emit.replace()


def _address_bits(value: SSAValue, emit: Emitter) -> SSAValue:
    converted = emit.base_address(value)
    return converted if converted.type == i64 else emit.insert(llvm.PtrToIntOp(converted, i64))


def _cast_generic(emit: Emitter, pointer: SSAValue) -> SSAValue:
    return emit.insert(AddrSpaceCastOp(pointer, POINTER))


def _in_cluster(emit: Emitter) -> bool:
    """Whether the function is launched in clusters of more than one block."""
    function = emit.function
    names = ("nvvm.cluster_dim", "known_cluster_size", "gpu.known_cluster_size")
    sizes = next((function.attributes[n] for n in names if n in function.attributes), None) if function else None
    return isinstance(sizes, DenseArrayBase) and any(size > 1 for size in sizes.get_values())
