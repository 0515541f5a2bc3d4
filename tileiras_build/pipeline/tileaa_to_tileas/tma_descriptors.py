"""TMA descriptors of a kernel: one for each memory reference and box, created before the partitions."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import defining_op, parent_op
from ...ir.dialects.nv_tileas.ops import MakeTiledTmaDescOp
from ...ir.dialects.nv_tileas.types import TmaDescType
from ..analysis.tma_tensor_maps import TensorBox


def hoist(value: SSAValue, entry: Block) -> None:
    """Move the operands of a TMA descriptor, which depend on kernel parameters only, to the block ``entry``."""
    op = value.owner
    if isinstance(op, Block) or op.parent is entry:
        return
    for operand in op.operands:
        hoist(operand, entry)
    place = op
    while place.parent is not entry:
        place = parent_op(place)
    op.detach()
    entry.insert_op_before(op, place)


def descriptor_of(view: SSAValue, box: TensorBox, entry: Block, place: Operation) -> SSAValue:
    """The TMA descriptor of a view and a box; created before ``place`` of ``entry`` if there is none yet."""
    memref = defining_op(view).operands[0]
    descriptor = MakeTiledTmaDescOp.make(
        [memref], [TmaDescType()], dims=box.dims, box=box.box, swizzle_mode=box.swizzle, rounds=box.rounds
    )
    for other in entry.ops:
        same = isinstance(other, MakeTiledTmaDescOp) and other.source is memref
        if same and other.attributes == descriptor.attributes:
            descriptor.erase()
            return other.result
    entry.insert_op_before(descriptor, place)
    return descriptor.results[0]
