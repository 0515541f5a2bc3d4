"""Lower bytecode to alias-aware tile IR."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..common.cse import Cse
from ..job import Job
from ..pass_manager import run_passes
from .convert_cudatile_to_tileaa import ConvertCudaTileToTileAA
from .drop_unused_values import DropUnusedValues
from .drop_variants import DropVariants
from .make_persistent import MakePersistent
from .narrow_guarded_loops import NarrowGuardedLoops
from .reroll_loops import RerollLoops
from .skip_all_true_selects import SkipFullTileMasks
from .swizzle_grid import SwizzleGrid

PASSES = (
    ConvertCudaTileToTileAA,  # first: all later passes match nv_tileaa
    DropVariants,  # before all others: they need not work on what is dropped
    Cse,  # front ends repeat constants and assumptions at each use
    RerollLoops,  # after Cse: what iterations share is one value; before passes that match loops
    DropUnusedValues,  # before passes that match loops
    SwizzleGrid,  # after Cse: unused program ids are erased
    NarrowGuardedLoops,  # after Cse: equal scalars are one value; before SkipFullTileMasks: masks stand in loops themselves
    SkipFullTileMasks,  # after Cse: equal masks are one operation
    MakePersistent,  # last: earlier passes expect one tile program per CTA
)


def lower(module: ModuleOp, job: Job) -> ModuleOp:
    """Lower a module of cuda_tile operations to nv_tileaa, in place."""
    return run_passes(PASSES, module, job, edge="tilebc_to_tileaa")
