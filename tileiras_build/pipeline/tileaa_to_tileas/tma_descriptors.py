"""TMA descriptors of a kernel: one for each memory reference and box, created before the partitions."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import defining_op, parent_op, view_type
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, MakeTiledTmaDescOp
from ...ir.dialects.nv_tileas.types import TmaDescType
from ..analysis.tensor_windows import WINDOW_DIMS, is_window, map_operands, map_type
from ..analysis.tma_tensor_maps import TensorBox

MakeMemRefOp = COUNTERPARTS["nv_tileaa.make_memref"]


def hoist_map(view: SSAValue, entry: Block) -> None:
    """Move a view, or what the host knows of a window, to the block ``entry``."""
    if not is_window(view):
        _hoist(view, entry)
        return
    address, sizes, strides = map_operands(view)
    for value in (address, *sizes, *strides):
        _hoist(value, entry)


def _hoist(value: SSAValue, entry: Block) -> None:
    """Move the operands of a TMA descriptor, which depend on kernel parameters only, to the block ``entry``."""
    op = value.owner
    if isinstance(op, Block) or op.parent is entry:
        return
    for operand in op.operands:
        _hoist(operand, entry)
    place = op
    while place.parent is not entry:
        place = parent_op(place)
    op.detach()
    entry.insert_op_before(op, place)


def descriptor_of(view: SSAValue, box: TensorBox, entry: Block, place: Operation) -> SSAValue:
    """The TMA descriptor of a view and a box; created before ``place`` of ``entry`` if there is none yet."""
    memref, dims, extents = defining_op(view).operands[0], box.dims, box.box
    if is_window(view):
        rank = len(view_type(view).source.shape)
        memref = _array_of(view, entry, place)
        dims, extents = (*dims, *range(rank, rank + WINDOW_DIMS)), (*extents, *[1] * WINDOW_DIMS)
    descriptor = MakeTiledTmaDescOp.make(
        [memref], [TmaDescType()], dims=dims, box=extents, swizzle_mode=box.swizzle, rounds=box.rounds
    )
    return _unique(descriptor, entry, place)


def _array_of(view: SSAValue, entry: Block, place: Operation) -> SSAValue:
    """The memory reference of the map of a window."""
    return _unique(MakeMemRefOp.make(list(map_operands(view)), [map_type(view)]), entry, place)


def _unique(op: Operation, entry: Block, place: Operation) -> SSAValue:
    """The result of an operation of a block: of an equal one, else of this one, inserted before ``place``."""
    for other in entry.ops:
        same = (
            other.name == op.name and other.attributes == op.attributes and other.results[0].type == op.results[0].type
        )
        if same and all(a is b for a, b in zip(other.operands, op.operands, strict=True)):
            op.erase()
            return other.results[0]
    entry.insert_op_before(op, place)
    return op.results[0]
