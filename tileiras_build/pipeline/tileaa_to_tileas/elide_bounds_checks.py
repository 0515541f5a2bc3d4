"""Record for each tile index which bounds checks its access still needs.

In:    nv_tileas accesses of tiles of views.
Out:   ``index_checks`` on each, a number for each dimension: 0 where the index is proven to be one of the tensor's tiles, 1 where
       it may be past the end, 2 where it may also be below zero, or so large that its first element has no number of the
       index's type. An access without the attribute is asked everything.
After: hoist_views (a tensor has one memory reference). Before: all passes that copy accesses, compute their indices anew or
       cut their tiles: they keep what this pass says, or say what has become of it.
Sound: the attribute follows from integer ranges without wraparound (``integer_ranges.py``). A tile whose index is not
       one of the tensor's is outside of it: padding is loaded, nothing is stored.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_traits import is_function
from ..analysis.integer_ranges import IntegerRanges
from ..job import Job
from ..pass_manager import EdgePass

ACCESSES = frozenset({"nv_tileas.tiled_load", "nv_tileas.tiled_store", "nv_tileas.tiled_atomic_rmw"})


class ElideBoundsChecks(EdgePass):
    """Bounds checks that integer ranges prove redundant."""

    name = "tileas-elide-bounds-checks"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in filter(is_function, module.body.block.ops):
            ranges = IntegerRanges()
            for op in walk(func):
                if op.name in ACCESSES:
                    as_op(op).index_checks = ranges.checks(as_op(op))
