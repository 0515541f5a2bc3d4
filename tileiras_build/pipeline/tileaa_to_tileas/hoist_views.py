"""Hoist views and memory references out of the loops whose loads and stores use them.

In:    nv_tileas memory references and views, anywhere in the program.
Out:   those that depend on no value of a loop are created once before it, and equal ones once. Loads of one tile, and consecutive
       loops that load from one array, then use the same view, and can share stages in shared memory. For asynchronous MMAs
       transposed and reshaped tiles, too: threads write such a right operand to shared memory once.
After: convert_tileaa_to_tileas, retype_bitcast_loads (it makes a view for each load). Before: all passes that compare views.
Sound: a memory reference or a view computes nothing and accesses no memory, so it can be created unconditionally. So can a tile with
       the same elements at other indices.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import parent_block, parent_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.types import PointerType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_traits import is_loop
from ..analysis.enclosing_control_flow import enclosing_kernel, is_defined_in_loop
from ..common.cse import merge
from ..job import Job
from ..mma.family import Storage, fastest_family
from ..pass_manager import EdgePass

BITCAST = "nv_tileas.bitcast"
VIEWS = (COUNTERPARTS["nv_tileaa.make_memref"], COUNTERPARTS["nv_tileaa.block_tile"])
TILE_VIEWS = frozenset({"nv_tileas.permute", "nv_tileas.view"})  # of registers


class HoistViews(EdgePass):
    """Memory references and views before loops."""

    name = "tileas-hoist-views"

    def run(self, module: ModuleOp, job: Job) -> None:
        views = [op for op in walk(module) if op.__class__ in VIEWS]
        of_tiles = TILE_VIEWS if _writes_right_operands_once(job) else ()
        for op in [op for op in walk(module) if op.__class__ in VIEWS or op.name in of_tiles]:
            _hoist(op)
        for func in dict.fromkeys(map(enclosing_kernel, views)):
            merge(func.regions[0].blocks[0], lambda op: op.__class__ in VIEWS or _is_retyped_base(op))


def _writes_right_operands_once(job: Job) -> bool:
    """Whether threads write a right operand from before a loop to shared memory there: asynchronous MMAs read it. `mma.sync` would keep
    fragments of both.
    """
    return Storage.REGISTERS not in fastest_family(job.target).b_storage


def _is_retyped_base(op: Operation) -> bool:
    """Whether an operation is the address of an array as that of another type, from which memory references are made."""
    return op.name == BITCAST and isinstance(op.results[0].type, PointerType)


def _hoist(op: Operation) -> None:
    """Hoist ``op`` before the outermost loop that it does not depend on."""
    outermost = None
    place = parent_op(op)
    while is_loop(place) and not any(is_defined_in_loop(operand, place) for operand in op.operands):
        outermost, place = place, parent_op(place)
    if outermost is not None:
        op.detach()
        parent_block(outermost).insert_op_before(op, outermost)
