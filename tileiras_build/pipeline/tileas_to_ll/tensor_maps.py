"""Tensor maps and the copies that use them (PTX ISA 9.0, section 9.7.9.27, cp.async.bulk.tensor).

One thread starts the copies of a tile, one for each box; the copies count their bytes at the stage's full mbarrier.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from ..analysis.tensor_maps import TensorBox, map_entry
from .async_copies import stage_address
from .builder import SHARED, Value
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
    for corner in product(*(range(0, view.type.tile[dim], extent) for dim, extent in zip(tile_dims, box.box))):
        place = e.b.pointer(e.b.add(base, _offset(placement, tile_dims, corner)), SHARED)
        coordinates = [e.b.add(start, step) for start, step in zip(starts, corner)]
        _copy(e, place, barrier, e.values[op.desc], coordinates)


def _offset(placement: Any, tile_dims: list[int], corner: tuple[int, ...]) -> int:
    """Bytes from the tile's start to a box."""
    index = 0
    coordinates = dict(zip(tile_dims, corner))
    for dim, size in enumerate(placement.shape):
        index = index * size + coordinates[dim]
    return placement.offset(index) * placement.element_bits // 8


def _copy(e: KernelEmitter, place: Value, barrier: Value, map: Value, coordinates: list[Value]) -> None:
    name = f"@llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.{len(coordinates)}d"
    places = f"ptr addrspace({SHARED}) {place}, ptr addrspace({SHARED}) {barrier}, ptr {map}"
    e.b.call_void(name, ", ".join([places, *(f"i32 {value}" for value in coordinates), "i64 0, i1 false"]))


HANDLERS: dict[str, Handler] = {
    "nv_tileas.make_tiled_tma_desc": emit_make_tiled_tma_desc,
    "nv_tileas.async.tiled_tma_load": emit_async_tiled_tma_load,
}
