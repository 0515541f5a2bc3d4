"""Tensor maps and the copies that use them (PTX ISA 9.0, section 9.7.9.27, cp.async.bulk.tensor).

One thread starts the copies of a tile, one for each box. Loads count their bytes at the stage's full mbarrier; stores
are groups of the thread that starts them (section 9.7.9.27.4.3, cp.async.bulk.wait_group).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import product
from typing import Any

from ...layouts import cheapest_access
from ..analysis.tensor_maps import TensorBox, map_entry
from .async_copies import stage_address
from .builder import CLUSTER, SHARED, Value
from .kernel_emitter import Handler, KernelEmitter, layout_of
from .pipelines import full_barrier, stage_of
from .shared_memory import store_registers
from .views import TiledView

# What orders the ordinary accesses of a thread before copies (PTX ISA 9.0, section 9.7.13.4, fence.proxy.async): those
# of shared memory, or of all memory.
FENCES = {False: "fence.proxy.async.shared::cta;", True: "fence.proxy.async;"}


def box_of(op: Any, placement: Any) -> TensorBox:
    """The box that a ``make_tiled_tma_desc`` names, for tiles of a placement."""
    dims, box = (tuple(op.attributes[key].get_values()) for key in ("dims", "box"))
    return TensorBox(dims, box, op.attributes["swizzle_mode"].data, placement, "rounds" in op.attributes)


def descriptor_entry(op: Any, parameter: int) -> dict[str, Any]:
    """The manifest's entry for a ``make_tiled_tma_desc`` whose map is kernel parameter number ``parameter``."""
    return map_entry(op.source.owner, box_of(op, None), parameter)


def emit_make_tiled_tma_desc(e: KernelEmitter, op: Any) -> None:
    e.values[op.result] = f"%map{e.tensor_maps}"
    e.tensor_maps += 1


def emit_async_tiled_tma_load(e: KernelEmitter, op: Any) -> None:
    view: TiledView = e.values[op.view]
    placement = op.buffer.type.placement.data
    box = box_of(op.desc.owner, placement)
    tile_dims = [view.type.dim_map.index(dim) for dim in box.dims]
    starts = [e.b.mul(e.scalar(op.coords[dim]), view.type.steps[dim]) for dim in tile_dims]
    stage = stage_of(e, op)
    base = stage_address(e, op.buffer, stage)
    barrier = e.b.pointer(full_barrier(e, op, stage), SHARED)
    extents = [view.type.tile[dim] for dim in tile_dims]
    if (shared := op.attributes.get("multicast")) is not None:
        position = tile_dims.index(shared.value.data)
        extents[position] //= e.ctas
        corner = tuple(extent if index == position else 0 for index, extent in enumerate(extents))
        starts[position] = e.b.add(starts[position], e.b.mul(e.cta_rank, extents[position]))
        base = e.b.add(base, e.b.mul(e.cta_rank, _offset(placement, tile_dims, corner)))
    for place, coordinates in _boxes(e, box, tile_dims, extents, starts, placement, base):
        _load(e, place, barrier, e.values[op.desc], coordinates, everywhere=shared is not None)


def emit_async_tiled_tma_store(e: KernelEmitter, op: Any) -> None:
    """All threads write the tile to shared memory and meet; what they wrote is seen by the copies, which read it."""
    view, placement = e.values[op.view], op.attributes["placement"].data
    scratch = op.attributes["scratch_offset"].value.data
    if "sync_before" in op.attributes:
        e.barrier()
    access = cheapest_access(layout_of(op.value), placement, e.target.has("stmatrix"))
    store_registers(e, access, e.element(op.value), e.packed(op.value), scratch)
    e.b.line(f'call void asm sideeffect "{FENCES["after_accesses" in op.attributes]}", "~{{memory}}"()')
    e.barrier()
    with e.one_thread():
        _start_stores(e, op, view, placement, e.b.add(e.shared_base, scratch))


def _start_stores(e: KernelEmitter, op: Any, view: TiledView, placement: Any, base: Value) -> None:
    """An extent of 0 is 1 for the tensor map: then nothing is copied."""
    box = box_of(op.desc.owner, placement)
    tile_dims = [view.type.dim_map.index(dim) for dim in box.dims]
    starts = [e.b.mul(e.scalar(op.coords[dim]), view.type.steps[dim]) for dim in tile_dims]
    extents = [view.type.tile[dim] for dim in tile_dims]
    filled = e.b.all_of([e.b.compare("ne", size, 0) for size in view.memory.sizes if isinstance(size, str)])
    with nullcontext() if filled is None else e.b.when(filled):
        for place, coordinates in _boxes(e, box, tile_dims, extents, starts, placement, base):
            _store(e, place, e.values[op.desc], coordinates)
        e.b.call_void("@llvm.nvvm.cp.async.bulk.commit.group", "")


def emit_async_tma_store_wait(e: KernelEmitter, op: Any) -> None:
    """The warp whose thread starts all copies; its other threads have started none, and wait for none."""
    read = ".read" if "read" in op.attributes else ""
    with e.b.when(e.is_first_warp):
        e.b.call_void(f"@llvm.nvvm.cp.async.bulk.wait.group{read}", "i32 0")


def _boxes(
    e: KernelEmitter,
    box: TensorBox,
    tile_dims: list[int],
    extents: list[int],
    starts: list[Value],
    placement: Any,
    base: Value,
) -> Iterator[tuple[Value, list[Value]]]:
    """The address of each box of a tile in shared memory, and its first element in the tensor."""
    for corner in product(*(range(0, extent, step) for extent, step in zip(extents, box.box))):
        place = e.b.add(base, _offset(placement, tile_dims, corner))
        yield place, [e.b.add(start, step) for start, step in zip(starts, corner)]


def _offset(placement: Any, tile_dims: list[int], corner: tuple[int, ...]) -> int:
    """Bytes from the tile's start to a box."""
    index = 0
    coordinates = dict(zip(tile_dims, corner))
    for dim, size in enumerate(placement.shape):
        index = index * size + coordinates[dim]
    return placement.offset(index) * placement.element_bits // 8


def _load(
    e: KernelEmitter, place: Value, barrier: Value, map: Value, coordinates: list[Value], *, everywhere: bool
) -> None:
    """``everywhere``: to the same place of every CTA of the cluster, each counting the bytes at its own mbarrier."""
    space, form, more = (
        (CLUSTER, "", f"i16 {(1 << e.ctas) - 1}, i64 0, i1 true, i1 false, i32 0")
        if everywhere
        else (SHARED, ".cta", "i64 0, i1 false")
    )
    name = f"@llvm.nvvm.cp.async.bulk.tensor.g2s{form}.tile.{len(coordinates)}d"
    places = f"ptr addrspace({space}) {e.b.pointer(place, space)}, ptr addrspace({SHARED}) {barrier}, ptr {map}"
    e.b.call_void(name, ", ".join([places, *(f"i32 {value}" for value in coordinates), more]))


def _store(e: KernelEmitter, place: Value, map: Value, coordinates: list[Value]) -> None:
    name = f"@llvm.nvvm.cp.async.bulk.tensor.s2g.tile.{len(coordinates)}d"
    places = f"ptr addrspace({SHARED}) {e.b.pointer(place, SHARED)}, ptr {map}"
    e.b.call_void(name, ", ".join([places, *(f"i32 {value}" for value in coordinates), "i64 0, i1 false"]))


HANDLERS: dict[str, Handler] = {
    "nv_tileas.make_tiled_tma_desc": emit_make_tiled_tma_desc,
    "nv_tileas.async.tiled_tma_load": emit_async_tiled_tma_load,
    "nv_tileas.async.tiled_tma_store": emit_async_tiled_tma_store,
    "nv_tileas.async.tma_store_wait": emit_async_tma_store_wait,
}
