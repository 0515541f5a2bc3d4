"""Bytes of shared memory of operations: stage buffers, and scratch.

Scratch depends on the size of chunks: ``limit``, where those of a kernel are smaller than the default; None: as the attributes
of the operations say.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, unwrap
from ...ir.dialects.cute import layout_of
from ...ir.dialects.nv_tileas.ops import AsyncTiledTmaStoreOp
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import SharedRoundTrip
from ...target.sm_limits import WARP
from ..common.llvm_element_types import element_of
from ..job import Job
from ..schedule.schedule_attribute import schedule_of
from .access_vectorization import VECTOR_BYTES
from .convert_layout_op_plans import DEFAULT_CHUNK_BYTES, conversion_plan
from .enclosing_control_flow import enclosing_kernel
from .op_queries import is_tile
from .scan_levels import ScanLevels
from .slice_chunk_bits import slice_chunk_bits

# Scratch is aligned to a row of all banks, a stage buffer to the period of the longest swizzle.
ALIGNMENT, STAGE_ALIGNMENT = 128, 1024
# Elements that a thread spills by one instruction: two pairs.
SPILLED_ELEMENT_BYTES = 16
SPILL_VECTOR_REGS = SPILLED_ELEMENT_BYTES // 4
STORE, STORE_BY_TMA = "nv_tileas.tiled_store", AsyncTiledTmaStoreOp.name


def align_to_banks(size: int) -> int:
    """Round scratch up to whole rows of all banks."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def spill_bytes(regs: int, warps: int) -> int:
    """Bytes of shared memory for ``regs`` registers of each thread."""
    return regs // SPILL_VECTOR_REGS * SPILLED_ELEMENT_BYTES * WARP * warps


def chunk_limit(func: Operation) -> int | None:
    """The size of chunks in a kernel where it is smaller than the default."""
    found = schedule_of(func).conversion_chunk_bytes
    return None if found == DEFAULT_CHUNK_BYTES else found


def largest_scratch(ops: Iterable[Operation], job: Job, limit: int | None) -> int:
    """The minimal bytes of shared memory for the largest user of scratch."""
    sizes = (SIZES[op.name](as_op(op), job, limit) for op in ops if op.name in SIZES)
    return max(map(align_to_banks, sizes), default=0)


def converts_only_stored(ops: Iterable[Operation], job: Job) -> bool:
    """Whether of some operations those have scratch alone that convert results on their way to a store."""
    users = (op for op in ops if op.name in SIZES and SIZES[op.name](as_op(op), job, None))
    return all([use.operation.name for result in op.results for use in result.uses] == [STORE] for op in users)


def max_chunk_bytes(op: TableOp, limit: int | None) -> int:
    """The maximal bytes of a tile that a conversion has in scratch at a time."""
    return min(op.chunk_bytes or DEFAULT_CHUNK_BYTES, limit or DEFAULT_CHUNK_BYTES)


def conversion_bytes(op: TableOp, job: Job, limit: int | None = None) -> int:
    total = 0
    for source, result in zip(op.operands, op.results):
        plan = conversion_plan(
            job.target,
            layout_of(source),
            layout_of(result),
            element_of(source.type),
            max_chunk_bytes(op, limit),
        )
        if isinstance(plan, SharedRoundTrip):
            total += align_to_banks(plan.scratch_bytes)
    return total


def tile_bytes(value: SSAValue) -> int:
    """Bytes of a tile with a layout."""
    return element_of(value.type).bytes * layout_of(value).size


def _reduce_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    axis = op.axis
    layout = op.sources[0].type.encoding.data
    parts = 1 << layout.bits_along(axis)["warp"].bit_count()
    if parts == 1:
        return 0
    end = 0
    for source in op.sources:
        size = element_of(source.type).bytes
        end = -(-end // size) * size + parts * layout.drop_dim(axis).size * size
    return end


def _scan_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    """For each operand the total of each segment of each row (``arith/prefix_scan.py``)."""
    layout = layout_of(op.sources[0])
    levels = unwrap(ScanLevels.of(layout, op.axis))
    totals = layout.drop_dim(op.axis).size * levels.num_segments if levels.crosses_warps else 0
    return sum(align_to_vectors(totals * element_of(source.type).bytes) for source in op.sources)


def align_to_vectors(size: int) -> int:
    """Round up to whole accesses of shared memory."""
    return -(-size // VECTOR_BYTES) * VECTOR_BYTES


def _extract_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    return 0 if layout_of(op.source).size == 1 else tile_bytes(op.source) >> _chunk_bits(op, limit)


def _insert_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    return tile_bytes(op.result) >> _chunk_bits(op, limit)


def _chunk_bits(op: TableOp, limit: int | None) -> int:
    return slice_chunk_bits(op, limit).bit_count()


def _dot_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    """A dot without an instruction reads its operands from scratch."""
    if op.mma is not None:
        return 0
    parts = k_chunks(op, limit)
    return align_to_banks(tile_bytes(op.lhs) // parts) + tile_bytes(op.rhs) // parts


def k_chunks(op: TableOp, limit: int | None) -> int:
    """The number of chunks along k in which the operands of an FMA dot pass through scratch."""
    if limit is None:
        return op.k_chunks
    parts, depth = 1, op.lhs.type.get_shape()[-1]
    while parts < depth and tile_bytes(op.lhs) + tile_bytes(op.rhs) > parts * limit:
        parts *= 2
    return parts


def _atomic_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    if not op.results[0].uses:
        return 0
    if not is_tile(op.value):
        return 8
    layout = op.value.type.encoding.data
    return tile_bytes(op.value) if layout.free_bits("lane") or layout.free_bits("warp") else 0


def _tma_store_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    return op.placement.size_bytes // op.chunks * op.slots


def cluster_reduce_slot(op: TableOp, warps: int) -> int:
    """Bytes of the shard that another CTA sends: each thread has 16 for each group of registers."""
    _, distinct, _ = layout_of(op.result).distinct_registers()
    return spill_bytes(-(-len(distinct) // SPILL_VECTOR_REGS) * SPILL_VECTOR_REGS, warps)


def _cluster_reduce_bytes(op: TableOp, job: Job, limit: int | None) -> int:
    others = layout_of(op.value).size // layout_of(op.result).size - 1
    return others * cluster_reduce_slot(op, as_op(enclosing_kernel(op)).num_warps)


SIZES = {
    "nv_tileas.cluster_reduce": _cluster_reduce_bytes,
    "nv_tileas.convert_layout": conversion_bytes,
    "nv_tileas.reduce": _reduce_bytes,
    "nv_tileas.scan": _scan_bytes,
    "nv_tileas.extract_slice": _extract_bytes,
    "nv_tileas.insert_slice": _insert_bytes,
    "nv_tileas.dot": _dot_bytes,
    "nv_tileas.atomic_rmw": _atomic_bytes,
    "nv_tileas.atomic_cas": _atomic_bytes,
    STORE_BY_TMA: _tma_store_bytes,
}
