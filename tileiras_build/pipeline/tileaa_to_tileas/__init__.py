"""Schedule tile IR: layouts, MMA and TMA selection, pipelining, warp specialization, barriers, shared memory."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...core.errors import Unsupported
from ...ir.casting import as_op
from ...ir.dialects.op_traits import is_function
from ..common.cse import Cse
from ..job import Job
from ..pass_manager import EdgePass, run_passes
from ..pipelining_strategies import choose, is_enabled
from ..shared_memory_fallbacks import fallback_jobs, fallback_of, may_exceed_shared_memory
from .allocate_shared_memory import AllocateSharedMemory
from .assign_layouts import AssignLayouts
from .choose_attention_warpgroups import ChooseAttentionWarpgroups
from .choose_occupancy import ChooseOccupancy
from .convert_tileaa_to_tileas import ConvertTileAAToTileAS
from .elide_bounds_checks import ElideBoundsChecks
from .expand_block_scales import ExpandBlockScales
from .group_scale_loads import GroupScaleLoads
from .hoist_async_mma_issue import HoistAsyncMmaIssue
from .hoist_bounds_checks import HoistBoundsChecks
from .hoist_views import HoistViews
from .insert_token_barriers import InsertBarriers
from .keep_accumulators_in_tmem import KeepAccumulatorsInTmem
from .legalize_dot import LegalizeDot
from .limit_conversion_scratch import LimitConversionScratch
from .loop_over_tile_slices import SliceOutputTiles
from .multicast_loads import MulticastLoads
from .pack_fp4 import PackFp4
from .ping_pong_warpgroups import PingPongWarpgroups
from .plan_cta_cluster import PlanCtaCluster
from .prefetch_fragments import PrefetchFragments
from .rotate_mma_loop import RotateMmaLoop
from .select_memory_atoms import SelectCopyAtoms
from .select_mma_and_tma import SelectMmaAndTma
from .shrink_k_tile import ShrinkKTile
from .software_pipeline_loads import SoftwarePipelineLoads
from .specialize_warps import SpecializeWarps
from .spill_to_shared import SpillToShared
from .swap_operands import SwapOperands
from .use_tma_stores import UseTmaStores
from .use_two_cta_mma import UseTwoCtaMma

PASSES = (
    ConvertTileAAToTileAS,  # first: all passes here read nv_tileas
    HoistViews,  # before all that asks whether two views are one
    ElideBoundsChecks,  # after HoistViews: a tensor has one memory reference; before all that copies accesses or computes their indices anew
    LegalizeDot,  # before layouts: it changes the types of operands
    PackFp4,  # after LegalizeDot: only dots that may scale by themselves read pairs; before the choice of copies and CTAs: both are of bytes
    PlanCtaCluster,  # after LegalizeDot: dots are the target's; before barriers, layouts and schedules, which are one CTA's
    SliceOutputTiles,  # after PlanCtaCluster: tiles are one CTA's; before ChooseOccupancy, which asks how much is kept
    ChooseAttentionWarpgroups,  # after SliceOutputTiles: tiles have their rows; before all that asks how many warps there are
    ShrinkKTile,  # after SliceOutputTiles: tiles have their rows; before the choice of copies, which need two stages
    ChooseOccupancy,  # after PlanCtaCluster: dots have their sizes; before SelectMmaAndTma: it asks what fits
    InsertBarriers,  # before scratch: its barriers also part the users of scratch
    SwapOperands,  # before SelectMmaAndTma: it decides which operand may come through registers
    SelectMmaAndTma,  # before layouts: warpgroups hold their accumulators in their own way
    KeepAccumulatorsInTmem,  # after SelectMmaAndTma: it chooses where this does not; before layouts: it chooses warps
    ExpandBlockScales,  # after SelectMmaAndTma: only dots in tensor memory keep scales that no mma.sync takes
    GroupScaleLoads,  # after ExpandBlockScales: dots that are left have scales; before layouts, which are those of larger tiles
    AssignLayouts,
    Cse,  # after layouts: conversions of one tile may repeat
    SpecializeWarps,  # after layouts: fragments are known; before SoftwarePipelineLoads: what is left is copied by all threads
    UseTwoCtaMma,  # after SpecializeWarps: stages and tensor memory are known; before MulticastLoads: what a pair shares
    MulticastLoads,  # after SpecializeWarps: loads have pipelines; before scratch, which counts nothing of it
    RotateMmaLoop,  # after MulticastLoads: pipelines are complete; before SoftwarePipelineLoads, whose waits count copies
    HoistAsyncMmaIssue,  # after RotateMmaLoop: of the loops that it leaves
    SoftwarePipelineLoads,  # after layouts: operand fragments decide how stages are placed
    PrefetchFragments,  # after SoftwarePipelineLoads: all rings have their readers; before SelectCopyAtoms, which chooses for each
    UseTmaStores,  # after SoftwarePipelineLoads: rings have their sizes, and no load is moved any more
    HoistBoundsChecks,  # after UseTmaStores: no access is replaced any more; before LimitConversionScratch: each loop has scratch of its own
    LimitConversionScratch,  # before AllocateSharedMemory: it gives the parts their places
    SelectCopyAtoms,  # after UseTmaStores and LimitConversionScratch: no copy is made any more
    SpillToShared,  # after SelectCopyAtoms: no tile is added any more
    AllocateSharedMemory,  # sizes follow from layouts, barriers from the final order: only what changes neither comes after
    PingPongWarpgroups,  # after AllocateSharedMemory: no barrier may stand in a turn
)


def passes_for(job: Job) -> list[type[EdgePass]]:
    """The passes of a job. Its pipelining strategy selects some of the scheduling passes."""
    strategy = choose(job)
    return [entry for entry in PASSES if is_enabled(entry.name, strategy)]


def lower(module: ModuleOp, job: Job) -> ModuleOp:
    """Schedule a module of nv_tileaa operations as nv_tileas. Kernels fall back to less shared memory where they do not
    fit.
    """
    *attempts, last = fallback_jobs(job) if may_exceed_shared_memory(module, job) else (job,)
    for attempt in attempts:
        try:
            return _lower(module.clone(), attempt)
        except Unsupported as error:
            if error.id != "shared-memory":
                raise
    return _lower(module, last)


def _lower(module: ModuleOp, job: Job) -> ModuleOp:
    run_passes(passes_for(job), module, job, edge="tileaa_to_tileas")
    if remark := fallback_of(job).remark:
        for func in filter(is_function, module.body.block.ops):
            as_op(func).shared_memory_fallback = remark
    return module
