"""From bytecode to alias-aware tile IR: what the program means."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..common.cse import Cse
from ..job import Job
from ..pass_manager import run_passes
from .convert_cudatile_to_tileaa import ConvertCudaTileToTileAA
from .make_persistent import MakePersistent
from .skip_full_tile_masks import SkipFullTileMasks
from .swizzle_grid import SwizzleGrid

PASSES = (
    ConvertCudaTileToTileAA,  # first: everything after reads nv_tileaa
    Cse,  # front ends repeat constants and assumptions at every use
    SwizzleGrid,  # after Cse: a place that nothing asks for is no longer there
    SkipFullTileMasks,  # after Cse: what only a mask needs has one use
    MakePersistent,  # last: all before are of one tile program
)


def lower(module: ModuleOp, job: Job) -> ModuleOp:
    """nv_tileaa of a module of cuda_tile operations, in place."""
    return run_passes(PASSES, module, job, edge="tilebc_to_tileaa")
