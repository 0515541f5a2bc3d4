"""Record for each tile index which bounds checks its access still needs.

In:    nv_tileas accesses of tiles of views.
Out:   ``index_checks`` on each access, one value per dimension: 0 if the index is proven to be in bounds, 1 if it may
       be past the end, 2 if it may also be negative, or so large that the element offset overflows the index type. An
       access without the attribute checks everything.
After: hoist_views (each tensor has one memory reference). Before: all passes that copy accesses, recompute their
       indices or split their tiles; they keep or update the attribute.
Sound: the attribute follows from integer ranges without wraparound (``integer_ranges.py``). A tile with an index out of
       bounds is outside of the tensor: loads return padding, stores write nothing.
"""

from __future__ import annotations

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ..analysis.integer_ranges import IntegerRanges
from ..job import Job
from ..pass_manager import EdgePass

ACCESSES = frozenset(
    {"nv_tileas.tiled_load", "nv_tileas.tiled_store", "nv_tileas.tiled_atomic_rmw"}
    | {"nv_tileas.multimem_load_reduce", "nv_tileas.multimem_reduce", "nv_tileas.multimem_store"}
)


class ElideBoundsChecks(EdgePass):
    """Bounds checks that integer ranges prove redundant."""

    name = "tileas-elide-bounds-checks"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        ranges = IntegerRanges()
        for op in walk(func):
            if op.name in ACCESSES:
                as_op(op).index_checks = ranges.checks(as_op(op))
