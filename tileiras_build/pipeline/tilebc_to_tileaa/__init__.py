"""From bytecode to alias-aware tile IR: what the program means."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..common.cse import Cse
from ..job import Job
from ..pass_manager import run_passes
from .convert_cudatile_to_tileaa import ConvertCudaTileToTileAA
from .make_persistent import MakePersistent
from .skip_all_true_selects import SkipFullTileMasks
from .swizzle_grid import SwizzleGrid

PASSES = (
    ConvertCudaTileToTileAA,  # first: everything after reads nv_tileaa
    Cse,  # front ends repeat constants and assumptions at each use
    SwizzleGrid,  # after Cse: unused program ids are gone
    SkipFullTileMasks,  # after Cse: operations of one mask have one use
    MakePersistent,  # last: the passes before expect one tile program
)


def lower(module: ModuleOp, job: Job) -> ModuleOp:
    """nv_tileaa of a module of cuda_tile operations, in place."""
    return run_passes(PASSES, module, job, edge="tilebc_to_tileaa")
