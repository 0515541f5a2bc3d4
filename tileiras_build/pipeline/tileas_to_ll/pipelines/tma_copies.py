"""TMA copies and their tensor maps (PTX ISA 9.0, section 9.7.9.27, cp.async.bulk.tensor).

One thread issues the copies of a tile, one for each box. Loads count their bytes at the stage's full mbarrier; stores are
bulk groups of the thread that issues them (section 9.7.9.27.4.3, cp.async.bulk.wait_group).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, partial
from itertools import product

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import cast, int_attr, str_attr, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.nv_tileas.scheduling_attributes import STMATRIX
from ....ir.dialects.nvgpu import ops_tma as nvgpu
from ....ir.dialects.nvgpu import types as nvgpu_types
from ....ir.dialects.nvgpu.types import TensorMapDescriptorType
from ....ir.dialects.nvvm import tma_reduce
from ....ir.dialects.nvvm.cluster_sync_and_fences import FenceProxyAsyncOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import SharedLayout, TileChunks, tile_chunks
from ....ir.layouts.matrix_descriptor import WIDE
from ...analysis.tensor_windows import tile_order
from ...analysis.tma_tensor_maps import TensorBox, map_box
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import CLUSTER, I16, I32, SHARED
from ..emission.compile_time_memrefs import TiledView
from ..emission.function_builder import Value
from ..emission.instruction_builder import INDEX, InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.thread_ids import ThreadIds
from ..memory.shared_memory import store_registers
from ..memory.tile_index_checks import TileBoundsChecks, computes_early
from .cp_async import stage_address
from .tma_windows import MappedTensor
from .warp_partitions_and_mbarriers import barrier_of_pair, fills_for_first, full_barrier, mbarrier, stage_of

# Added to a coordinate: the result is out of bounds for every tensor.
OUT_OF_BOUNDS_COORDINATE = 1 << 30


def box_of(op: TableOp, placement: SharedLayout) -> TensorBox:
    """The box of a ``make_tiled_tma_desc``, for tiles of a placement."""
    return map_box(op).placed(placement)


def emit_make_tiled_tma_desc(e: KernelEmitter, op: TableOp) -> None:
    with e.b.at_function_start():
        map = e.b.bridge(e.pipelines.map_parameters[len(e.pipelines.tensor_maps)], _map_type(op))
    e.pipelines.tensor_maps.append(map)
    e.values[op.result] = map


def emit_async_tiled_tma_load(e: KernelEmitter, op: TableOp) -> None:
    view, tensor = e.values.view(op.view), MappedTensor(e, op)
    placement = op.buffer.type.placement.data
    box = box_of(op.desc.owner, placement)
    tile_dims = tile_order(view.type, box.dims)
    starts, slowest = tensor.coordinates(_chunk_starts(e, op, view, tile_dims), tile_dims), len(tile_dims) - 1
    if (filled := _has_elements(e.b, tensor)) is not None:
        with computes_early(e.b, filled):
            beyond = e.b.select(filled, 0, OUT_OF_BOUNDS_COORDINATE, I32)
        with computes_early(e.b, starts[slowest], beyond):
            starts[slowest] = e.b.add(starts[slowest], beyond)
    stage = stage_of(e.values, op)
    base = stage_address(e, op.buffer, stage)
    full = full_barrier(e, op, stage)
    pair = fills_for_first(op.pipeline)
    barrier = e.b.pointer(barrier_of_pair(e.threads, full) if pair else full, SHARED)
    extents = [view.type.tile[dim] for dim in tile_dims]
    if "multicast" in op.attributes:
        position = tile_dims.index(int_attr(op, "multicast"))
        extents[position] //= e.ctas
        corner = tuple(extent if index == position else 0 for index, extent in enumerate(extents))
        starts[position] = e.b.add(starts[position], e.b.mul(e.threads.cta_rank, extents[position]))
        base = e.b.add(base, e.b.mul(e.threads.cta_rank, _offset_bytes(placement, tile_dims, corner)))
    for corner in _corners(box, tensor.extents(extents)):
        place = e.b.add(base, _offset_bytes(placement, tile_dims, corner))
        coordinates = [e.b.add(start, step) for start, step in zip(starts, corner)]
        _load(
            e,
            place,
            barrier,
            e.b.uniqued(e.values.scalar(op.desc)),
            coordinates,
            everywhere="multicast" in op.attributes,
            pair=pair,
        )


def emit_async_tiled_tma_store(e: KernelEmitter, op: TableOp) -> None:
    """For each chunk: all threads store it to shared memory, a barrier, then one thread issues the copies."""
    placement, scratch = op.placement, int_attr(op, "scratch_offset")
    parts, slots = (int_attr(op, key) for key in ("chunks", "slots"))
    box = box_of(op.desc.owner, placement)
    matrices = "copy_atom" in op.attributes and str_attr(op, "copy_atom") == STMATRIX
    whole = unwrap(tile_chunks(layout_of(op.value), placement, parts, box.elements, matrices))
    registers = e.values.packed(op.value)
    if "sync_before" in op.attributes:
        e.memory.barrier()
    for number, move in enumerate(whole.copies):
        start = scratch + number % slots * (placement.size_bytes // parts)
        if number >= slots:
            _wait_for_stores(e.threads, slots - 1, read=True)
            e.memory.barrier()
        store_registers(e, move, element_of(op.value.type), registers, start)
        e.b.issue(FenceProxyAsyncOp, shared="after_accesses" not in op.attributes)
        e.memory.barrier()
        with e.threads.one_thread():
            _start_stores(e, op, box, partial(_in_chunk, whole, number), e.b.add(e.memory.shared_base, start))


def _in_chunk(whole: TileChunks, number: int, offset: int) -> int | None:
    """The offset within chunk ``number``; None where the element is in another chunk."""
    part, inside = whole.chunk_and_offset(offset)
    return inside if part == number else None


def _start_stores(
    e: KernelEmitter, op: TableOp, box: TensorBox, placed: Callable[[int], int | None], base: Value
) -> None:
    """Issue the copies of one chunk; none for a tensor without elements."""
    view, tensor = e.values.view(op.view), MappedTensor(e, op)
    tile_dims = tile_order(view.type, box.dims)
    starts = tensor.coordinates(_chunk_starts(e, op, view, tile_dims), tile_dims)
    extents = tensor.extents([view.type.tile[dim] for dim in tile_dims])
    filled = _has_elements(e.b, tensor)
    with nullcontext() if filled is None else e.b.if_then(filled):
        for corner in _corners(box, extents):
            if (offset := placed(_offset(box.placement, tile_dims, corner))) is not None:
                place = e.b.add(base, offset * box.placement.element_bits // 8)
                _store(
                    e.b,
                    place,
                    e.b.uniqued(e.values.scalar(op.desc)),
                    [e.b.add(start, step) for start, step in zip(starts, corner)],
                )
        e.b.issue(tma_reduce.BulkCommitGroupOp)


def _chunk_starts(e: KernelEmitter, op: TableOp, view: TiledView, dims: Sequence[int]) -> list[Value]:
    """The first element of a tile along each of its dimensions: TMA fills or drops what is outside of the tensor."""
    indices = TileBoundsChecks(e, op, view, I32)
    return [indices.start(dim, e.values.scalar(op.coords[dim])) for dim in dims]


def _has_elements(b: InstructionBuilder, tensor: MappedTensor) -> Value | None:
    """Whether no extent of the map is 0 (it has 1 instead); None if that is known."""
    sizes = tensor.known_sizes
    with computes_early(b, *sizes):
        return b.all_of([b.compare("ne", size, 0, size.type) for size in sizes])


def emit_async_tma_store_wait(e: KernelEmitter, op: TableOp) -> None:
    _wait_for_stores(e.threads, 0, read="read" in op.attributes)


def _wait_for_stores(threads: ThreadIds, pending: int, *, read: bool) -> None:
    """Wait in the warp whose elected thread issues all copies; its other threads have no copies to wait for."""
    with threads.b.if_then(threads.is_first_warp):
        threads.b.issue(tma_reduce.BulkWaitGroupOp, pending=pending, read=read)


def _corners(box: TensorBox, extents: list[int]) -> Iterator[tuple[int, ...]]:
    """The first element of each box of a tile."""
    return product(*(range(0, extent, step) for extent, step in zip(extents, box.box)))


def _offset_bytes(placement: SharedLayout, tile_dims: list[int], corner: tuple[int, ...]) -> int:
    return _offset(placement, tile_dims, corner) * placement.element_bits // 8


def _offset(placement: SharedLayout, tile_dims: list[int], corner: tuple[int, ...]) -> int:
    """Elements from the start of the tile to a box."""
    index = 0
    coordinates = dict(zip(tile_dims, corner))
    for dim, size in enumerate(placement.shape):
        index = index * size + coordinates[dim]
    return placement.offset(index)


def _load(
    e: KernelEmitter,
    place: Value,
    barrier: SSAValue,
    map: SSAValue,
    coordinates: list[Value],
    *,
    everywhere: bool,
    pair: bool,
) -> None:
    """Issue a TMA load. ``everywhere``: multicast to the same offset in every CTA of the cluster, each of which counts the
    bytes at its own mbarrier; ``pair``: the mbarrier may be that of the other CTA of the pair.
    """
    group, first = mbarrier(e.b, barrier)
    target = _box(e.b, place, map, CLUSTER if everywhere or pair else SHARED)
    positions = [e.b.bridge(value, INDEX) for value in coordinates]
    mask = e.b.constant((1 << e.ctas) - 1, I16) if everywhere else None
    properties: dict[str, Attribute] = {"pair": UnitAttr()} if pair else {}
    operands = target, group, map, positions, first, mask, None, None
    e.b.issue_in_group(nvgpu.TmaAsyncLoadOp, *operands, properties=properties)


def _store(b: InstructionBuilder, place: Value, map: SSAValue, coordinates: list[Value]) -> None:
    positions = [b.bridge(value, INDEX) for value in coordinates]
    b.issue_in_group(nvgpu.TmaAsyncStoreOp, _box(b, place, map, SHARED), map, positions, None, None)


def _box(b: InstructionBuilder, place: Value, map: SSAValue, space: int) -> SSAValue:
    """The box of a map at an address in shared memory."""
    tensor = cast(TensorMapDescriptorType, map.type).tensor
    return b.bridge(b.pointer(place, space), _memref(tensor.element_type, tuple(tensor.get_shape()), space))


@cache
def _memref(element: Attribute, shape: tuple[int, ...], space: int) -> MemRefType:
    return MemRefType(element, shape, memory_space=IntegerAttr(space, i64))


# Swizzle in the manifest -> in nvgpu, which lacks the one of 32-byte chunks.
SWIZZLES = {"none": "none", "32B": "swizzle_32b", "64B": "swizzle_64b", "128B": "swizzle_128b", WIDE: "swizzle_128b"}


def _map_type(op: TableOp) -> nvgpu_types.TensorMapDescriptorType:
    """The type of the map in copies: its box, and the placement in shared memory."""
    box = map_box(op)
    tensor = _memref(op.source.type.element_type, box.box[::-1], SHARED)
    words = (SWIZZLES[box.swizzle], "none", "zero", "none")
    return nvgpu_types.TensorMapDescriptorType(tensor, *map(StringAttr, words))


HANDLERS: dict[str, Handler] = {
    "nv_tileas.make_tiled_tma_desc": emit_make_tiled_tma_desc,
    "nv_tileas.async.tiled_tma_load": emit_async_tiled_tma_load,
    "nv_tileas.async.tiled_tma_store": emit_async_tiled_tma_store,
    "nv_tileas.async.tma_store_wait": emit_async_tma_store_wait,
}
