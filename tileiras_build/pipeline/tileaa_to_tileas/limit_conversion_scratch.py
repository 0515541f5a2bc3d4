"""Limit the scratch of layout conversions: tiles pass through shared memory in small chunks.

In:    nv_tileas operations with layouts, in a kernel under a fallback of shared_memory_fallbacks.py.
Out:   ``max_chunk_bytes`` on convert_layouts, ``chunk_bits`` on slices and ``k_chunks`` on dots whose tiles are
       chunked. If the two layouts of a conversion share too few bits to chunk a tile along, two conversions with an
       intermediate layout replace it.
After: all passes that add conversions. Before: allocate_shared_memory, which sizes and places the chunks.
Sound: two conversions in sequence equal the conversion from the first layout to the last. Chunks do not change the
       result of an operation; the verifier of layout conversions and the tests of slices check that.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConvertLayoutOp
from ..analysis.scratch_memory_sizes import SIZES, k_chunks
from ..analysis.slice_chunk_bits import SLICES, slice_chunk_bits
from ..job import Job
from ..pass_manager import EdgePass
from ..shared_memory_fallbacks import fallback_of
from .chunked_layout_conversions import limit_conversion_chunks


class LimitConversionScratch(EdgePass):
    """Smaller chunks of tiles in scratch."""

    name = "tileas-limit-conversion-scratch"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.fallback:
            return
        for op in walk(module):
            if isinstance(op, ConvertLayoutOp):
                limit_conversion_chunks(op, fallback_of(job).chunk_bytes, job)
            elif op.name in SLICES:
                as_op(op).chunk_bits = slice_chunk_bits(as_op(op), job)
            elif op.name == "nv_tileas.dot" and SIZES[op.name](as_op(op), job):
                as_op(op).k_chunks = k_chunks(as_op(op), job)
