"""Limit the scratch of layout conversions: tiles pass through shared memory in small chunks.

In:    nv_tileas operations with layouts, in a kernel whose shared memory would not hold them in the chunks of its schedule
       (``conversion_chunk_bytes``) with its CTAs per SM (``occupancy``), or whose chunks are smaller than the default already.
Out:   ``chunk_bytes`` on convert_layouts, ``chunk_bits`` on slices and ``k_chunks`` on dots whose tiles are chunked, and the largest
       ``conversion_chunk_bytes`` with which the kernel fits. If the two layouts of a conversion share too few bits to chunk a
       tile along, two conversions with an intermediate layout replace it.
After: all passes that add conversions. Before: allocate_shared_memory, which sizes and places the chunks.
Sound: two conversions in sequence equal the conversion from the first layout to the last. Chunks do not change the
       result of an operation; the verifier of layout conversions and the tests of slices check that.
"""

from __future__ import annotations

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ...ir.dialects.op_definition import TableOp
from ..analysis.op_queries import DOT
from ..analysis.scratch_memory_sizes import SIZES, chunk_limit, k_chunks
from ..analysis.shared_memory_plan import available_shared_memory, plan_shared_memory, scratch_users
from ..analysis.slice_chunk_bits import SLICES, slice_chunk_bits
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.shared_memory import limit_chunks, smaller_chunks
from .chunked_layout_conversions import limit_conversion_chunks


class LimitConversionScratch(EdgePass):
    """Smaller chunks of tiles in scratch."""

    name = "tileas-limit-conversion-scratch"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        _limit(func, job)


def _limit(func: TableOp, job: Job) -> None:
    if (chosen := chunk_limit(func)) is not None:
        _limit_operations(func, chosen, job)
    most = available_shared_memory(func, job)
    for smaller in smaller_chunks(func, job):
        if plan_shared_memory(func, scratch_users(func, job), job).total <= most:
            return
        limit_chunks(func, smaller)
        _limit_operations(func, smaller, job)


def _limit_operations(func: TableOp, limit: int, job: Job) -> None:
    for op in walk(func):
        if isinstance(op, ConvertLayoutOp):
            limit_conversion_chunks(op, limit, job)
        elif op.name in SLICES:
            as_op(op).chunk_bits = slice_chunk_bits(as_op(op), limit)
        elif op.name == DOT and SIZES[op.name](as_op(op), job, limit):
            as_op(op).k_chunks = k_chunks(as_op(op), limit)
