"""Check the tile index of every access to a view: ``--sanitize=memcheck``.

In:    an nv_tileaa module, as lowered from bytecode.
Out:   before each access to a partition or strided view, one nv_tileaa.assert for each dimension, at the access's
       source line. The rest is unchanged.
Sound: a negative index, or one at or above the number of tiles, is that of a tile outside of the tensor: loads return
       padding and stores write nothing, which is rarely intended (Tile IR, partition view: "indices must be
       in-bounds"). Tiles that cross the end of the tensor are in bounds.

Accesses through pointers have no view with bounds; compute-sanitizer finds invalid addresses.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr, i1

from ...ir.casting import as_op, parent_block
from ...ir.dialects.arith import CmpiOp
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.ops import AssertOp, GetTileCountOp
from ...ir.dialects.op_definition import TableOp, location_of

ACCESSES = {
    "nv_tileaa.tiled_load": "load",
    "nv_tileaa.tiled_store": "store",
    "nv_tileaa.tiled_atomic_rmw": "atomic update",
    "nv_tileaa.multimem_load_reduce": "load",
    "nv_tileaa.multimem_reduce": "atomic update",
    "nv_tileaa.multimem_store": "store",
}

UNSIGNED_LESS = StringAttr("ult")


def insert_bounds_checks(module: ModuleOp) -> int:
    """Insert the checks in place; return their number."""
    accesses = [as_op(op) for op in walk(module) if op.name in ACCESSES and _has_grid(as_op(op))]
    return sum(_check(op) for op in accesses)


def _has_grid(op: TableOp) -> bool:
    """Whether the access has one scalar tile index for each dimension."""
    return op.view.type.sparse.data < 0 and len(op.coords) == len(op.view.type.tile) > 0


def _check(op: TableOp) -> int:
    block, loc = parent_block(op), location_of(op)
    count = GetTileCountOp.make([op.view], [coord.type for coord in op.coords], loc)
    block.insert_op_before(count, op)
    for dim, (coord, tiles) in enumerate(zip(op.coords, count.results, strict=True)):
        text = f"tile index outside the tensor in dimension {dim} of this {ACCESSES[op.name]}"
        compare = CmpiOp.make([coord, tiles], [i1], {"predicate": UNSIGNED_LESS, **loc})
        check = AssertOp.make([compare.results[0]], [], {"message": StringAttr(text), **loc})
        block.insert_ops_before([compare, check], op)
    return len(op.coords)
