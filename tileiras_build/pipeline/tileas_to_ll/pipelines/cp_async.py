"""Asynchronous copies from global to shared memory (PTX ISA 9.0, cp.async).

A disabled copy, or an element outside the tensor, copies no bytes: the instruction fills its destination with zeros.
The bytes of a copy are counted only if the tensor may end inside a vector (``has_boundary_tile``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import type_as, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.fast_xdsl import integer_attr
from ....ir.dialects.nv_tileas.scheduling_attributes import LDMATRIX, STMATRIX
from ....ir.dialects.nv_tileas.types import BufferType
from ....ir.dialects.nvgpu import ops_async_copy as nvgpu
from ....ir.dialects.nvgpu.types import DeviceAsyncTokenType
from ....ir.dialects.nvvm import cluster_sync_and_fences
from ....ir.dialects.nvvm.target_independent_intrinsics import SMaxOp, SMinOp
from ....ir.dialects.nvvm.warp_sync import BarWarpSyncOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout, separate_warps, shared_access
from ...analysis.access_vectorization import pointer_order
from ...analysis.op_queries import DOT, is_own
from ...analysis.smem_load_plans import ldmatrix_plan, stmatrix_plan, vector_load_plan, vector_store_plan
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import GLOBAL, I1, I8, I32, SHARED
from ..emission.element_constants import constant_element
from ..emission.function_builder import Value
from ..emission.instruction_builder import INDEX, InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..memory.global_memory import TileAddresses, is_mask_needed, padding_bits, tile_addresses, vector_of
from ..memory.shared_memory import holder_of, load_registers, store_registers, store_shared

LARGEST = 16
SHARED_BYTES, GLOBAL_BYTES = (
    MemRefType(I8, [DYNAMIC_INDEX], memory_space=IntegerAttr(space, i64)) for space in (SHARED, GLOBAL)
)
SIZES: dict[int, dict[str, Attribute]] = {size: {"dstElements": IntegerAttr(size, INDEX)} for size in (4, 8, LARGEST)}
SIZES[LARGEST]["bypassL1"] = UnitAttr()
TOKEN = DeviceAsyncTokenType()
NO_BARRIER_OPS = ("nv_tileas.local_load", "nv_tileas.view", "nv_tileas.permute")


def emit_alloc_tensor(e: KernelEmitter, op: TableOp) -> None:
    """A buffer is its byte offset in the kernel's shared memory."""
    e.values[op.result] = e.memory.buffers.places[op.result]


def stage_address(e: KernelEmitter, buffer: SSAValue, stage: Value) -> Value:
    """The 32-bit shared address of a stage of a buffer."""
    start = e.b.mul(stage, type_as(buffer, BufferType).stage_bytes)
    return e.b.add(e.b.add(start, e.values.scalar(buffer)), e.memory.shared_base)


def emit_async_tiled_load(e: KernelEmitter, op: TableOp) -> None:
    view = e.values.view(op.view)
    layout: LinearLayout = op.layout
    addresses = tile_addresses(e, op, view, layout)
    order, enabled, element = view.order, e.values.scalar(op.enabled), addresses.element
    padding = padding_bits(element, view.type.padding.data)

    def source(first: int, count: int) -> _Source:
        if "has_boundary_tile" in op.attributes:
            return _Source(_bytes_in_bounds(e.b, addresses, first, order[0], count, enabled))
        inside = addresses.mask(first)
        if padding and inside is not None:
            return _Source.filled(e.b, inside, enabled, [constant_element(e.b, element, padding)] * count)
        return _Source(_is_out_of_bounds(e.b, inside, enabled))

    _copy_vectors(e, op, layout, vector_of(op, layout, order), addresses.address, source)


def emit_async_load(e: KernelEmitter, op: TableOp) -> None:
    layout, pointers = layout_of(op.pointer), e.values.registers(op.pointer)
    masks, others = (None if tile is None else e.values.registers(tile) for tile in (op.mask, op.other))
    enabled = e.values.scalar(op.enabled)

    def source(first: int, count: int) -> _Source:
        inside = None if masks is None else is_mask_needed(masks[first])
        if others is not None and inside is not None:
            return _Source.filled(e.b, inside, enabled, others[first : first + count])
        return _Source(_is_out_of_bounds(e.b, inside, enabled))

    vector = vector_of(op, layout, pointer_order(op, layout.rank))
    _copy_vectors(e, op, layout, vector, lambda first: (pointers[first], 0), source)


@dataclass(frozen=True)
class _Source:
    """What a thread copies of a vector. ``taken``: the bytes to read, or whether to ignore the source, so that the others become zero; None to
    copy all of it ``where`` there is no ``fill``, which the thread writes instead if it is ``outside``.
    """

    taken: SSAValue | None
    where: Value | None = None
    outside: Value | None = None
    fill: Sequence[Value] = ()

    @classmethod
    def filled(cls, b: InstructionBuilder, inside: Value, enabled: Value, fill: Sequence[Value]) -> _Source:
        return cls(None, b.all_lanes(enabled, inside), b.binary("xor", inside, 1, I1), fill)


def _copy_vectors(
    e: KernelEmitter,
    op: TableOp,
    layout: LinearLayout,
    vector: int,
    address: Callable[[int], tuple[Value, int]],
    source: Callable[[int, int], _Source],
) -> None:
    """Copy the registers of a tile to a stage; ``address`` of a register's element, and ``source`` of a vector from one on."""
    placement = op.buffer.type.placement.data
    access = shared_access(separate_warps(layout) if is_own(op.buffer) else layout, placement, vector)
    stage = stage_address(e, op.buffer, e.values.scalar(op.stage))
    thread = e.threads.linear(access.lane_offsets, access.warp_offsets)
    holder = holder_of(e.threads, access.free_lanes, access.free_warps)
    element = element_of(op.buffer.type.element_type)
    for group in access.vectors:
        first = group.registers[0]
        there, taken = address(first), source(first, len(group.registers))
        with e.b.at_function_start():
            place = e.b.xor(thread, group.xor)
        size, target = len(group.registers) * placement.element_bits // 8, e.b.add(stage, place)
        _copy(e.b, (target, group.add), there, size, taken.taken, e.b.all_of([holder, taken.where]))
        if taken.fill:
            store_shared(e.b, element, taken.fill, target, group.add, e.b.all_of([holder, taken.outside]))


def _copy(
    b: InstructionBuilder,
    target: tuple[Value, int],
    place: tuple[Value, int],
    size: int,
    source: SSAValue | None,
    holder: Value | None,
) -> None:
    """``source``: bytes to read, or whether to ignore the source; ``target`` and ``place``: addresses and byte offsets."""
    (to, to_offset), (of, of_offset) = target, place
    there = b.bridge(to, SHARED_BYTES), b.bridge(to_offset, INDEX)
    here = b.bridge(of, GLOBAL_BYTES), b.bridge(of_offset, INDEX)
    taken = (None, source) if source is None or source.type == I1 else (b.bridge(source, INDEX), None)
    b.issue_in_group(nvgpu.DeviceAsyncCopyOp, *there, *here, *taken, holder, types=(TOKEN,), properties=SIZES[size])


def _is_out_of_bounds(b: InstructionBuilder, mask: Value | None, enabled: Value) -> SSAValue:
    """Whether a vector is wholly out of bounds and thus zero-filled: the instruction's ignore-src operand, an i1."""
    return b.binary("xor", b.all_lanes(enabled, mask), 1, I1)


def _bytes_in_bounds(
    b: InstructionBuilder, addresses: TileAddresses, first: int, fastest: int, count: int, enabled: Value
) -> SSAValue:
    """The bytes of a vector that are in bounds, an i32: all or none across it, as many as remain along it."""
    size = addresses.element.bytes
    rest = addresses.elements_remaining(first, fastest)
    counted = () if rest is None else (fastest,)
    others = [addresses.inside(first, dim) for dim in range(addresses.layout.rank) if dim not in counted]
    whole: Value = count * size
    if rest is not None:
        clamped = b.issue(SMinOp, rest, count, type=I32)
        whole = b.mul(b.issue(SMaxOp, clamped, 0, type=I32), size)
    return b.select(b.all_lanes(enabled, *others), whole, 0, I32)


def emit_async_commit(e: KernelEmitter, op: TableOp) -> None:
    e.b.operation(nvgpu.DeviceAsyncCreateGroupOp, (), (TOKEN,))


def emit_async_wait(e: KernelEmitter, op: TableOp) -> None:
    # cp.async groups are counted; the token has no value.
    pending: dict[str, Attribute] = {"numGroups": integer_attr(op.pending, I32)}
    e.b.operation(nvgpu.DeviceAsyncWaitOp, (e.b.bridge(0, TOKEN),), (), pending)
    if "for_mma" in op.attributes:
        e.b.issue(cluster_sync_and_fences.FenceProxyAsyncOp, shared=True)
    if "of_warp" in op.attributes:
        e.b.issue(BarWarpSyncOp, -1)


def emit_local_load(e: KernelEmitter, op: TableOp) -> None:
    element, is_matrix = element_of(op.result.type), op.copy_atom == LDMATRIX
    access = unwrap(ldmatrix_plan(op)) if is_matrix else vector_load_plan(op)
    base = stage_address(e, op.buffer, e.values.scalar(op.stage))
    late = _feeds_next_mma(op)
    loaded = load_registers(e, access, element, 0, base, lazy=late, packed=True)
    e.values[op.result] = [loaded[number] for number in access.register_source]


def emit_local_store(e: KernelEmitter, op: TableOp) -> None:
    """Each thread makes its writes visible to the asynchronous proxy; a barrier follows."""
    element, is_matrix = element_of(op.value.type), op.copy_atom == STMATRIX
    access = unwrap(stmatrix_plan(op)) if is_matrix else vector_store_plan(op)
    base = stage_address(e, op.buffer, e.values.scalar(op.stage))
    store_registers(e, access, element, e.values.packed(op.value), 0, base)
    e.b.issue(cluster_sync_and_fences.FenceProxyAsyncOp, shared=True)


def _feeds_next_mma(op: TableOp) -> bool:
    """Whether only an MMA uses the tile, and no operation in between accesses shared memory."""
    user: Operation = op
    while user.name in NO_BARRIER_OPS:
        uses = list(user.results[0].uses)
        if len(uses) != 1:
            return False
        user = uses[0].operation
    between = op.next_op
    while between is not None and between is not user and between.name in NO_BARRIER_OPS:
        between = between.next_op
    return between is user and user.name == DOT and "mma" in user.attributes


HANDLERS: dict[str, Handler] = {
    "nv_tileas.alloc_tensor": emit_alloc_tensor,
    "nv_tileas.async_tiled_load": emit_async_tiled_load,
    "nv_tileas.async_load": emit_async_load,
    "nv_tileas.async_commit": emit_async_commit,
    "nv_tileas.async_wait": emit_async_wait,
    "nv_tileas.local_load": emit_local_load,
    "nv_tileas.local_store": emit_local_store,
}
