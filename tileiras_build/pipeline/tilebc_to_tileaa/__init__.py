"""From bytecode to alias-aware tile IR: what the program means."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..contracts import run_passes
from ..job import Job
from ..shared.eliminate_common import EliminateCommon
from .convert_cudatile_to_tileaa import ConvertCudaTileToTileAA
from .group_tiles import GroupTiles
from .guard_masks import GuardMasks
from .make_persistent import MakePersistent

PASSES = (
    ConvertCudaTileToTileAA,  # first: everything after reads nv_tileaa
    EliminateCommon,  # front ends repeat constants and assumptions at every use
    GroupTiles,  # after EliminateCommon: a place that nothing asks for is no longer there
    GuardMasks,  # after EliminateCommon: what only a mask needs has one use
    MakePersistent,  # last: all before are of one tile program
)


def lower(module: ModuleOp, job: Job) -> ModuleOp:
    """nv_tileaa of a module of cuda_tile operations, in place."""
    return run_passes(PASSES, module, job, edge="tilebc_to_tileaa")
