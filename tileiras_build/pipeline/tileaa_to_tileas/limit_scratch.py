"""Let tiles pass through shared memory in small parts, in kernels that do not fit otherwise.

In:    nv_tileas operations with layouts, in a kernel that gives up something (savings.py).
Out:   ``part_bytes`` on convert_layouts, ``cut_bits`` on slices and ``k_parts`` on products whose tiles pass in parts; where the layouts of a conversion
       leave too few bits to cut a tile along, there are two, with a layout between them.
After: all passes that add conversions. Before: assign_scratch, which sizes and places the parts.
Sound: two conversions one after the other are the conversion from the first layout to the last; parts are a matter of how
       an operation is written, which the proofs of conversions and slices' numbers check.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType

from ...dialects.cute import LayoutAttr, layout_of
from ...dialects.definition import TableOperation
from ...dialects.ir import erase, walk
from ...dialects.nv_tileas.ops import ConvertLayoutOp
from ...layouts.halfway import halfway
from ..analysis.scratch_sizes import SIZES, conversion_bytes, k_parts
from ..analysis.slice_parts import SLICES, slice_cut
from ..contracts import EdgePass
from ..job import Job
from ..savings import saving_of
from ..shared.accessors import row, tile_type
from .inserted import insert_before


class LimitScratch(EdgePass):
    """Smaller parts of tiles in scratch."""

    name = "tileas-limit-scratch"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.saving:
            return
        for op in walk(module):
            if isinstance(op, ConvertLayoutOp):
                op.part_bytes = saving_of(job).part_bytes
                _go_halfway(op, job)
            elif op.name in SLICES:
                row(op).cut_bits = slice_cut(row(op), job)
            elif op.name == "nv_tileas.dot" and SIZES[op.name](row(op), job):
                row(op).k_parts = k_parts(row(op), job)


def _go_halfway(op: TableOperation, job: Job) -> None:
    """Put a conversion before one that cannot go in parts as small as it must, where both then can."""
    (source,), (result,) = op.operands, op.results
    needed = conversion_bytes(op, job)
    between = halfway(layout_of(source), layout_of(result)) if needed > op.part_bytes else None
    if between is None:
        return
    type = TensorType(tile_type(source).element_type, tile_type(source).get_shape(), LayoutAttr(between))
    first = ConvertLayoutOp.make([source], [type], part_bytes=op.part_bytes)
    insert_before(first, op)
    op.operands[0] = first.results[0]
    if max(conversion_bytes(one, job) for one in (first, op)) >= needed:
        op.operands[0] = source
        erase(first)
