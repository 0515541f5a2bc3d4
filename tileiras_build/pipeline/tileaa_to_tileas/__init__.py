"""Schedule tile IR: layouts, MMA and TMA selection, pipelining, warp specialization, barriers, shared memory."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..common.cse import Cse
from ..job import Job
from ..pass_manager import EdgePass, run_passes
from ..pipelining_strategies import choose, is_enabled
from .add_grid_variants import AddGridVariants
from .allocate_shared_memory import AllocateSharedMemory
from .assign_layouts import AssignLayouts
from .check_schedule import CheckSchedule
from .choose_cta_shape import ChooseCtaShape
from .cluster_grid import ClusterGrid
from .convert_tileaa_to_tileas import ConvertTileAAToTileAS
from .copy_operands_ahead import CopyOperandsAhead
from .defer_mma_waits import DeferMmaWaits
from .delay_mma_waits import DelayMmaWaits
from .drop_unit_batches import DropUnitBatches
from .elide_bounds_checks import ElideBoundsChecks
from .expand_block_scales import ExpandBlockScales
from .fold_constant_shapes import FoldConstantShapes
from .group_scale_loads import GroupScaleLoads
from .hoist_async_mma_issue import HoistAsyncMmaIssue
from .hoist_bounds_checks import HoistBoundsChecks
from .hoist_views import HoistViews
from .inline_single_iterations import InlineSingleIterations
from .insert_token_barriers import InsertTokenBarriers
from .legalize_dot import LegalizeDot
from .limit_conversion_scratch import LimitConversionScratch
from .load_before_computation import LoadBeforeComputation
from .load_before_reductions import LoadBeforeReductions
from .load_before_waits import LoadBeforeWaits
from .load_for_each_dot import LoadForEachDot
from .load_rows_once import LoadRowsOnce
from .load_slices import LoadSlices
from .loop_over_batches import LoopOverBatches
from .loop_over_tile_slices import LoopOverTileSlices
from .mark_read_only_loads import MarkReadOnlyLoads
from .multicast_loads import MulticastLoads
from .narrow_tf32_dots import NarrowTf32Dots
from .order_grid import OrderGrid
from .overlap_mmas import OverlapMmas
from .pack_fp4 import PackFp4
from .ping_pong_warpgroups import PingPongWarpgroups
from .plan_cta_cluster import PlanCtaCluster
from .prefetch_fragments import PrefetchFragments
from .prefetch_gathered_tiles import PrefetchGatheredTiles
from .read_accumulator_slices import ReadAccumulatorSlices
from .read_accumulators_late import ReadAccumulatorsLate
from .reload_accumulators import ReloadAccumulators
from .request_schedule import RequestSchedule
from .retype_bitcast_loads import RetypeBitcastLoads
from .rotate_mma_loop import RotateMmaLoop
from .select_memory_atoms import SelectMemoryAtoms
from .select_mma_and_tma import SelectMmaAndTma
from .shrink_k_tile import ShrinkKTile
from .software_pipeline_loads import SoftwarePipelineLoads
from .specialize_warps import SpecializeWarps
from .spill_to_shared import SpillToShared
from .split_k import SplitK
from .split_mma_issue import SplitMmaIssue
from .swap_operands import SwapOperands
from .unroll_scans import UnrollScans
from .use_tma_stores import UseTmaStores
from .use_two_cta_mma import UseTwoCtaMma

PASSES = (
    ConvertTileAAToTileAS,  # first: all later passes match nv_tileas operations
    FoldConstantShapes,  # before RetypeBitcastLoads and HoistViews: it changes types of views
    RetypeBitcastLoads,  # before HoistViews: it makes views
    LoopOverBatches,  # before DropUnitBatches: it makes batches of one
    DropUnitBatches,  # before RequestSchedule: it counts dots by their shapes
    RequestSchedule,  # before all passes that choose a knob of the schedule
    HoistViews,  # before all passes that compare views
    InlineSingleIterations,  # after HoistViews, which looks for loops; before LoadRowsOnce and passes that count the tiles of a block
    LoadRowsOnce,  # after HoistViews: loads of the same memory have the same view; before ElideBoundsChecks: indices become constants
    ElideBoundsChecks,  # after HoistViews: each tensor has one memory reference; before passes that copy accesses or recompute their indices
    LoadSlices,  # after ElideBoundsChecks: it scales indices, and clamps those that need a check; before passes that choose copies
    NarrowTf32Dots,  # before LegalizeDot, which counts on final types, and PlanCtaCluster
    LegalizeDot,  # before AssignLayouts: it changes operand types
    PackFp4,  # after LegalizeDot: only dots with hardware scaling read fp4 pairs; before PlanCtaCluster and SelectMemoryAtoms
    AddGridVariants,  # after RequestSchedule and PackFp4; before SplitK and PlanCtaCluster: tile programs are whole
    SplitK,  # after AddGridVariants; before PlanCtaCluster, which divides what has one CTA
    PlanCtaCluster,  # after LegalizeDot: operand types are final; before barriers, layouts and schedules, which are per CTA
    ClusterGrid,  # after PlanCtaCluster: a tile program has one CTA; before the passes that ask for the CTAs of a cluster
    OrderGrid,  # after ClusterGrid: program ids are those of clusters; before the passes that match scalars
    LoopOverTileSlices,  # after PlanCtaCluster: tiles are per CTA; before ChooseCtaShape: it counts live registers
    ShrinkKTile,  # after LoopOverTileSlices: tiles have their rows; before passes that choose copies: they need two stages
    InsertTokenBarriers,  # before AllocateSharedMemory: these barriers also separate the users of scratch
    SwapOperands,  # before SelectMmaAndTma: it decides which operand may be in registers
    ChooseCtaShape,  # after ShrinkKTile and SwapOperands: dots have their shapes; before SelectMmaAndTma: it checks what fits
    LoadForEachDot,  # before SelectMmaAndTma: stages of a tile belong to one dot
    SelectMmaAndTma,  # before AssignLayouts: wgmma accumulators have a layout of their own, and chained dots may set num_warps
    ExpandBlockScales,  # after SelectMmaAndTma: only dots in tensor memory, or with a scaling mma.sync, keep scales
    GroupScaleLoads,  # after ExpandBlockScales: the other dots have scales; before AssignLayouts: it enlarges tiles
    AssignLayouts,
    Cse,  # after AssignLayouts: several conversions of one tile may be equal
    SpecializeWarps,  # after AssignLayouts: fragments are known; before SoftwarePipelineLoads, which copies the remaining loads
    UseTwoCtaMma,  # after SpecializeWarps: stages and tensor memory are known; before MulticastLoads: a CTA pair shares tiles
    MulticastLoads,  # after SpecializeWarps: loads have pipelines; before AllocateSharedMemory
    RotateMmaLoop,  # after MulticastLoads: pipelines are complete; before SoftwarePipelineLoads, whose waits count copies
    HoistAsyncMmaIssue,  # after RotateMmaLoop: only loops that it did not rotate
    OverlapMmas,  # after HoistAsyncMmaIssue, which moves a dot with its barrier; before AllocateSharedMemory
    SoftwarePipelineLoads,  # after AssignLayouts: operand fragments determine the placement of stages
    CopyOperandsAhead,  # after SoftwarePipelineLoads, whose waits count copies; before PrefetchGatheredTiles: the rest goes to registers
    UnrollScans,  # after CopyOperandsAhead, which looks for loops; before PrefetchGatheredTiles: their loads are those of the loop around
    PrefetchGatheredTiles,  # after SpecializeWarps: only loops of asynchronous MMAs; after SoftwarePipelineLoads, which changes loops
    LoadBeforeReductions,  # after PrefetchGatheredTiles, whose loads have the registers first; before SpillToShared, which counts them
    LoadBeforeWaits,  # after OverlapMmas and PrefetchGatheredTiles, which move and replace loads; before LimitConversionScratch: it moves conversions
    PrefetchFragments,  # after SoftwarePipelineLoads: all stage buffers have their readers; before SelectMemoryAtoms
    UseTmaStores,  # after SoftwarePipelineLoads: stage buffers have their sizes, and no later pass moves loads
    HoistBoundsChecks,  # after UseTmaStores: no later pass replaces accesses; before LimitConversionScratch: each loop has scratch of its own
    ReadAccumulatorsLate,  # after UseTmaStores and HoistBoundsChecks: loops are final; before ReloadAccumulators, which reads again behind them
    ReadAccumulatorSlices,  # after OverlapMmas: no later pass moves MMAs or reads; before ReloadAccumulators, which counts live tiles
    ReloadAccumulators,  # after UseTmaStores: the operations behind loops are final; before LimitConversionScratch, which splits conversions
    LimitConversionScratch,  # before AllocateSharedMemory: it places the chunks
    SelectMemoryAtoms,  # after UseTmaStores and LimitConversionScratch: no later pass adds copies
    DeferMmaWaits,  # after SelectMemoryAtoms: no later pass adds copies; before AllocateSharedMemory, whose barriers depend on the order
    SpillToShared,  # after SelectMemoryAtoms: no later pass adds tiles
    MarkReadOnlyLoads,  # after SpillToShared: no later pass adds accesses, and lazy loads are known
    SplitMmaIssue,  # after MarkReadOnlyLoads: no later pass moves or adds MMAs and barriers; before AllocateSharedMemory: it makes mbarriers
    DelayMmaWaits,  # after SplitMmaIssue: arrivals are in place of barriers; before AllocateSharedMemory, whose barriers depend on the order
    LoadBeforeComputation,  # after MarkReadOnlyLoads: no later pass moves loads
    AllocateSharedMemory,  # sizes depend on layouts, barriers on the final order: later passes change neither
    PingPongWarpgroups,  # after AllocateSharedMemory: an exclusive section contains no barrier
    CheckSchedule,  # last: no other pass changes what the schedule says
)


def passes_for(job: Job) -> list[type[EdgePass]]:
    """The passes of a job. Its pipelining strategy selects some of the scheduling passes."""
    strategy = choose(job)
    return [entry for entry in PASSES if is_enabled(entry.name, strategy)]


def lower(module: ModuleOp, job: Job) -> ModuleOp:
    """Schedule a module of nv_tileaa operations as nv_tileas."""
    run_passes(passes_for(job), module, job, edge="tileaa_to_tileas")
    return module
