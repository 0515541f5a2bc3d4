"""Tensor maps and the copies that use them (PTX ISA 9.0, section 9.7.9.27, cp.async.bulk.tensor).

One thread starts the copies of a tile, one for each box; the copies count their bytes at the stage's full mbarrier.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from ..analysis.tensor_maps import TensorBox, map_entry
from .async_copies import stage_address
from .builder import CLUSTER, SHARED, Value
from .kernel_emitter import Handler, KernelEmitter
from .pipelines import full_barrier, stage_of
from .views import TiledView


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
    for corner in product(*(range(0, extent, step) for extent, step in zip(extents, box.box))):
        place = e.b.add(base, _offset(placement, tile_dims, corner))
        coordinates = [e.b.add(start, step) for start, step in zip(starts, corner)]
        _copy(e, place, barrier, e.values[op.desc], coordinates, everywhere=shared is not None)


def _offset(placement: Any, tile_dims: list[int], corner: tuple[int, ...]) -> int:
    """Bytes from the tile's start to a box."""
    index = 0
    coordinates = dict(zip(tile_dims, corner))
    for dim, size in enumerate(placement.shape):
        index = index * size + coordinates[dim]
    return placement.offset(index) * placement.element_bits // 8


def _copy(
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


HANDLERS: dict[str, Handler] = {
    "nv_tileas.make_tiled_tma_desc": emit_make_tiled_tma_desc,
    "nv_tileas.async.tiled_tma_load": emit_async_tiled_tma_load,
}
