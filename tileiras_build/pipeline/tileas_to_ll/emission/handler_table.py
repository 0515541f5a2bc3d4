"""Every operation that can be written as LLVM IR, by name: the union of the families' tables."""

from __future__ import annotations

from ..arith import division_by_reciprocal, elementwise, mixed_precision_add, reduce_and_scan
from ..data_movement import convert_layout, shape_ops, shared_memory_spills
from ..memory import atomics, global_memory, memref_and_tile_views
from ..mma import mma_sync_and_fma, tcgen05, tmem_rescale, wgmma
from ..pipelines import cp_async, ping_pong_barriers, tma_copies, warp_partitions_and_mbarriers
from ..program import control_flow, print_and_assert, program_ids
from .kernel_emitter import Handler

FAMILIES = (
    warp_partitions_and_mbarriers,
    elementwise,
    cp_async,
    atomics,
    reduce_and_scan,
    control_flow,
    convert_layout,
    print_and_assert,
    division_by_reciprocal,  # after arithmetic, whose rule it extends
    mma_sync_and_fma,
    global_memory,
    mixed_precision_add,  # after arithmetic, too
    shared_memory_spills,
    program_ids,
    ping_pong_barriers,
    shape_ops,
    tma_copies,
    tcgen05,
    tmem_rescale,
    memref_and_tile_views,
    wgmma,
)

HANDLERS: dict[str, Handler] = {name: handler for family in FAMILIES for name, handler in family.HANDLERS.items()}
