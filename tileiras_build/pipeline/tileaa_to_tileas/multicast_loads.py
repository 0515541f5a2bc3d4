"""Load a tile that all CTAs of a cluster need once: each CTA loads a slice of it by multicast.

In:    asynchronous TMA loads of kernels whose tiles are sharded over CTAs (num_ctas).
Out:   ``multicast`` (a dimension of the tile) on loads of replicated tiles, with a tensor map whose box is at most one
       CTA's slice; ``ctas`` on their pipelines, whose stages are empty only once the warps of all CTAs released them.
After: specialize_warps (loads have pipelines). Before: allocate_shared_memory.
Sound: the coordinates of a replicated tile and the number of its loads are the same in all CTAs of a cluster, so the
       n-th item of its pipeline is the same tile in each. A slice consists of whole lines of whole swizzle patterns, so
       its bytes are placed in the stage as those of the whole box.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import AsyncTiledTmaLoadOp, MakeTiledTmaDescOp
from ...ir.dialects.op_definition import TableOp
from ..analysis.cluster_uniformity import has_uniform_trip_count, is_rank_dependent
from ..analysis.tensor_windows import tile_order
from ..analysis.tma_tensor_maps import PATTERN_LINES
from ..job import Job
from ..pass_manager import EdgePass


class MulticastLoads(EdgePass):
    """Tiles that the CTAs of a cluster load together."""

    name = "tileas-multicast-loads"
    knob = "multicast"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        if not job.target.has("tma_multicast") or func.num_ctas is None:
            return False
        loads = [op for op in walk(func) if isinstance(op, AsyncTiledTmaLoadOp)]
        return any([_multicast(load, func.num_ctas) for load in loads if _is_uniform(load, loads)])


def _is_uniform(load: TableOp, loads: list[TableOp]) -> bool:
    """Whether all CTAs fill the stages of a load equally often."""
    return all(has_uniform_trip_count(other) for other in loads if other.pipeline is load.pipeline)


def _multicast(load: TableOp, ctas: int) -> bool:
    """Let each CTA load a slice of a tile for all; False where its slices are none of TMA, or the CTAs load different tiles."""
    if is_rank_dependent(load) or load.pipeline.owner.pair or (dim := _multicast_dim(load, ctas)) is None:
        return False
    load.multicast = dim
    load.pipeline.owner.ctas = ctas
    _narrow(load, dim, load.view.type.tile[dim] // ctas)
    return True


# ---- slices --------------------------------------------------------------------------------------
def _multicast_dim(load: TableOp, ctas: int) -> int | None:
    """The dimension along which each CTA loads a slice of the tile: whole boxes, else whole swizzle patterns of one
    box.
    """
    tile, order, box = load.view.type.tile, *_box(load)
    if tile[order[0]] % (ctas * box[0]) == 0:
        return order[0]
    longer = [dim for dim in order[1:] if tile[dim] > 1]
    if not longer or tile[longer[-1]] % ctas:
        return None
    lines = tile[longer[-1]] // ctas
    for dim in longer[:-1]:
        lines *= tile[dim]
    return longer[-1] if lines % PATTERN_LINES == 0 else None


def _box(load: TableOp) -> tuple[list[int], list[int]]:
    """The tile's dimensions in the order of the tensor map, fastest first, and the box extents along them."""
    dims, box = load.desc.owner.dims, list(load.desc.owner.box)
    return tile_order(load.view.type, dims), box


def _narrow(load: TableOp, dim: int, max_size: int) -> None:
    """A tensor map for this load whose box is one CTA's slice."""
    order, box = _box(load)
    position, old = order.index(dim), load.desc.owner
    if box[position] <= max_size:
        return
    box[position] = max_size
    descriptor = MakeTiledTmaDescOp.make(list(old.operands), [old.results[0].type], old.attributes, box=box)
    old.parent.insert_op_after(descriptor, old)
    load.operands[_index(load, "desc")] = descriptor.results[0]
    if not list(old.results[0].uses):
        old.detach()
        old.erase()


def _index(load: Operation, name: str) -> int:
    return next(index for index, operand in enumerate(load.operands) if operand is getattr(load, name))
