"""The operations of alias-aware tile IR that access global memory, one row each (``ops.py`` has the others).

Each may have a token operand, and then has a token result.
"""

from __future__ import annotations

from ..attribute_kinds import TEXT, Declared, named_kind
from ..op_definition import define
from ..op_traits import LayoutTrait, MemoryEffect, OpTraits

HINTS = named_kind("optimization hints", "cuda_tile.optimization_hints")

# Attributes of many rows.
ORDER: Declared = {"mem_semantic": TEXT.optional("weak"), "mem_scope": TEXT.optional("device")}
ACCESS: Declared = ORDER | {"optimization_hints": HINTS.optional()}
UPDATE: Declared = {"mode": TEXT, **ORDER}

# Traits of several rows: reads and writes through pointers, and through views.
POINTER_LOAD, POINTER_STORE = (
    OpTraits(LayoutTrait.POINTER, MemoryEffect.READ),
    OpTraits(LayoutTrait.POINTER, MemoryEffect.WRITE),
)
ATOMIC_RMW = OpTraits(LayoutTrait.POINTER, MemoryEffect.READ | MemoryEffect.WRITE)
VIEW_LOAD, VIEW_STORE = (
    OpTraits(LayoutTrait.CUSTOM, MemoryEffect.READ),
    OpTraits(LayoutTrait.CUSTOM, MemoryEffect.WRITE),
)
VIEW_ATOMIC = OpTraits(LayoutTrait.CUSTOM, MemoryEffect.READ | MemoryEffect.WRITE)

LoadOp = define(
    "nv_tileaa.load",
    "pointer mask? other? token?",
    "value result_token",
    "gather a tile",
    pure=False,
    attributes=ACCESS,
    op_traits=POINTER_LOAD,
)
StoreOp = define(
    "nv_tileaa.store",
    "pointer value mask? token?",
    "result_token",
    "scatter a tile",
    pure=False,
    attributes=ACCESS,
    op_traits=POINTER_STORE,
)
TiledLoadOp = define(
    "nv_tileaa.tiled_load",
    "view coords* token?",
    "value result_token",
    "read one tile of a view",
    pure=False,
    attributes=ACCESS,
    op_traits=VIEW_LOAD,
)
TiledStoreOp = define(
    "nv_tileaa.tiled_store",
    "view value coords* token?",
    "result_token",
    "write one tile of a view",
    pure=False,
    attributes=ACCESS,
    op_traits=VIEW_STORE,
)
AtomicRmwOp = define(
    "nv_tileaa.atomic_rmw",
    "pointer value mask? token?",
    "old result_token",
    "atomic read-modify-write",
    pure=False,
    attributes=UPDATE,
    op_traits=ATOMIC_RMW,
)
AtomicCasOp = define(
    "nv_tileaa.atomic_cas",
    "pointer compare value mask? token?",
    "old result_token",
    "atomic compare-and-swap",
    pure=False,
    attributes=ORDER,
    op_traits=ATOMIC_RMW,
)
TiledAtomicRmwOp = define(
    "nv_tileaa.tiled_atomic_rmw",
    "view value coords* token?",
    "result_token",
    "atomic update of a tile",
    pure=False,
    attributes=UPDATE,
    op_traits=VIEW_ATOMIC,
)

# Accesses of all copies of a multicast object; ``mode`` is PTX's ``.op``.
MultimemLoadReduceOp = define(
    "nv_tileaa.multimem_load_reduce",
    "view coords* token?",
    "value result_token",
    "read one tile of each copy, and reduce the tiles element by element",
    pure=False,
    attributes=UPDATE,
    op_traits=VIEW_LOAD,
)
MultimemReduceOp = define(
    "nv_tileaa.multimem_reduce",
    "view value coords* token?",
    "result_token",
    "atomic update of a tile of each copy",
    pure=False,
    attributes=UPDATE,
    op_traits=VIEW_ATOMIC,
)
MultimemStoreOp = define(
    "nv_tileaa.multimem_store",
    "view value coords* token?",
    "result_token",
    "write a tile to each copy",
    pure=False,
    attributes=ORDER,
    op_traits=VIEW_STORE,
)
