"""From what a program means to how it executes: layouts, conversions, scratch memory, barriers."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...core.errors import Unsupported
from ...ir.casting import row
from ...ir.dialects.op_traits import is_entry
from ..common.cse import EliminateCommon
from ..job import Job
from ..pass_manager import EdgePass, run_passes
from ..pipelining_strategies import choose, runs
from ..shared_memory_fallbacks import may_be_short, saving_of, savings
from .allocate_shared_memory import AssignScratch
from .assign_layouts import AssignLayouts
from .choose_attention_warpgroups import ChooseWarpgroups
from .choose_occupancy import ChooseOccupancy
from .convert_tileaa_to_tileas import ConvertTileAAToTileAS
from .elide_bounds_checks import ProveIndices
from .expand_block_scales import ApplyScales
from .group_scale_loads import GroupScales
from .hoist_async_mma_issue import IssueAhead
from .hoist_bounds_checks import HoistIndexChecks
from .hoist_views import HoistViews
from .insert_barriers import OrderTokens
from .keep_accumulators_in_tmem import KeepSums
from .legalize_dot import LegalizeDot
from .limit_conversion_scratch import LimitScratch
from .multicast_loads import MulticastLoads
from .pack_fp4 import PackFp4
from .ping_pong_warpgroups import SequenceProducts
from .plan_cta_cluster import DistributeOverCtas
from .prefetch_fragments import CarryFragments
from .rotate_mma_loop import OverlapProducts
from .select_copy_atoms import ChooseAtoms
from .select_mma_and_tma import SelectAsync
from .shrink_k_tile import SplitProducts
from .slice_output_tiles import ComputeInParts
from .software_pipeline_loads import PipelineLoads
from .specialize_warps import SpecializeWarps
from .spill_to_shared import ParkRows
from .swap_operands import ExchangeOperands
from .use_tma_stores import StoreByTma
from .use_two_cta_mma import PairCtas

PASSES = (
    ConvertTileAAToTileAS,  # first: all passes here read nv_tileas
    HoistViews,  # before all that asks whether two views are one
    ProveIndices,  # after HoistViews: a tensor has one memory reference; before all that copies accesses or computes their indices anew
    LegalizeDot,  # before layouts: it changes the types of operands
    PackFp4,  # after LegalizeDot: only products that may scale by themselves read pairs; before the choice of copies and CTAs: both are of bytes
    DistributeOverCtas,  # after LegalizeDot: products are the target's; before barriers, layouts and schedules, which are one CTA's
    ComputeInParts,  # after DistributeOverCtas: tiles are one CTA's; before ChooseOccupancy, which asks how much is kept
    ChooseWarpgroups,  # after ComputeInParts: tiles have their rows; before all that asks how many warps there are
    SplitProducts,  # after ComputeInParts: tiles have their rows; before the choice of copies, which need two stages
    ChooseOccupancy,  # after DistributeOverCtas: products have their sizes; before SelectAsync: it asks what fits
    OrderTokens,  # before scratch: its barriers also part the users of scratch
    ExchangeOperands,  # before SelectAsync: it decides which operand may come through registers
    SelectAsync,  # before layouts: warpgroups hold their accumulators in their own way
    KeepSums,  # after SelectAsync: it chooses where this does not; before layouts: it chooses warps
    ApplyScales,  # after SelectAsync: only products in tensor memory keep scales that no mma.sync takes
    GroupScales,  # after ApplyScales: products that are left have scales; before layouts, which are those of larger tiles
    AssignLayouts,
    EliminateCommon,  # after layouts: conversions of one tile may repeat
    SpecializeWarps,  # after layouts: fragments are known; before PipelineLoads: what is left is copied by all threads
    PairCtas,  # after SpecializeWarps: stages and tensor memory are known; before MulticastLoads: what a pair shares
    MulticastLoads,  # after SpecializeWarps: loads have pipelines; before scratch, which counts nothing of it
    OverlapProducts,  # after MulticastLoads: pipelines are complete; before PipelineLoads, whose waits count copies
    IssueAhead,  # after OverlapProducts: of the loops that it leaves
    PipelineLoads,  # after layouts: operand fragments decide how stages are placed
    CarryFragments,  # after PipelineLoads: all rings have their readers; before ChooseAtoms, which chooses for each
    StoreByTma,  # after PipelineLoads: rings have their sizes, and no load is moved any more
    HoistIndexChecks,  # after StoreByTma: no access is replaced any more; before LimitScratch: each loop has scratch of its own
    LimitScratch,  # before AssignScratch: it gives the parts their places
    ChooseAtoms,  # after StoreByTma and LimitScratch: no copy is made any more
    ParkRows,  # after ChooseAtoms: no tile is added any more
    AssignScratch,  # sizes follow from layouts, barriers from the final order: only what changes neither comes after
    SequenceProducts,  # after AssignScratch: no barrier may stand in a turn
)


def passes_for(job: Job) -> list[type[EdgePass]]:
    """The passes of a job: its strategy says which scheduling passes run."""
    strategy = choose(job)
    return [entry for entry in PASSES if runs(entry.name, strategy)]


def lower(module: ModuleOp, job: Job) -> ModuleOp:
    """nv_tileas of a module of nv_tileaa operations; its kernels give up what they must for their shared memory."""
    *attempts, last = savings(job) if may_be_short(module, job) else (job,)
    for attempt in attempts:
        try:
            return _lower(module.clone(), attempt)
        except Unsupported as error:
            if error.id != "shared-memory":
                raise
    return _lower(module, last)


def _lower(module: ModuleOp, job: Job) -> ModuleOp:
    run_passes(passes_for(job), module, job, edge="tileaa_to_tileas")
    if remark := saving_of(job).remark:
        for func in filter(is_entry, module.body.block.ops):
            row(func).shared_memory_saved = remark
    return module
