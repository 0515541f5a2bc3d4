"""What a kernel, and each of its warp partitions, does with pipelines, whichever way it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, Region, SSAValue

from ...ir.casting import as_op
from ...ir.dialects.nv_tileas.ops import ConsumerReleaseOp, ConsumerWaitOp, LocalStoreOp, ProducerAcquireOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, is_async_mma, traits_of
from .tmem_column_lifetimes import columns_of_several_partitions, is_staged

PIPELINE = "nv_tileas.async.pipeline."
OF_WARPGROUP = PIPELINE + "of_warpgroup"
LOCAL_STORE, COPIES = LocalStoreOp.name, ("nv_tileas.async_tiled_load", "nv_tileas.async_load")
STORE_SCALES = "nv_tileas.store_scales"


@dataclass(frozen=True)
class RegionPipelines:
    """The pipelines that a partition waits for, or acquires to read, those whose items it releases, and the buffers that it writes."""

    waited: set[SSAValue]
    released: set[SSAValue]
    written: set[SSAValue]

    @classmethod
    def of(cls, region: Region) -> RegionPipelines:
        ops = list(region.walk())
        waits = (as_op(op) for op in ops if isinstance(op, ConsumerWaitOp) or _acquires_to_read(op))
        releases = (as_op(op) for op in ops if isinstance(op, ConsumerReleaseOp) or is_async_mma(op) and not op.results)
        written = {op.buffer for op in ops if isinstance(op, LocalStoreOp)} | {
            as_op(op).dest for op in ops if is_staged(op)
        }
        return cls(_pipelines_of(waits), _pipelines_of(releases), written)


def _acquires_to_read(op: Operation) -> bool:
    return isinstance(op, ProducerAcquireOp) and op.by_readers


def _pipelines_of(ops: Iterable[TableOp]) -> set[SSAValue]:
    """The pipelines of operations, also those of each warpgroup."""
    found = {op.pipeline for op in ops if op.pipeline is not None}
    return found.union(*(value.owner.operands for value in found if value.owner.name == OF_WARPGROUP))


def _pipelines_filled_by_readers(kernel: Operation) -> set[SSAValue]:
    """The pipelines whose stages those who read them acquire and fill."""
    return {as_op(op).pipeline for op in kernel.walk() if _acquires_to_read(op)}


@dataclass(frozen=True)
class KernelPipelines:
    """The pipeline of each buffer and of each accumulator with stages, the pipelines whose stages a partition acquires, the columns
    of tensor memory that several partitions access, and the buffers of operands that are written before a loop, or copied ahead, which
    ``cp_async_buffers`` checks.
    """

    pipelines: dict[SSAValue, SSAValue]
    accumulators: dict[SSAValue, SSAValue]
    acquired: set[SSAValue]
    shared_columns: set[int]
    without_items: set[SSAValue | None]
    filled_by_readers: set[SSAValue]
    released: set[SSAValue]

    @classmethod
    def of(cls, kernel: Operation) -> KernelPipelines:
        found = _buffer_pipelines(kernel), _accumulator_pipelines(kernel), _acquired_pipelines(kernel)
        without_items = set(map(_buffer_without_items, kernel.walk()))
        columns, released = columns_of_several_partitions(kernel), RegionPipelines.of(kernel.regions[0]).released
        return cls(*found, columns, without_items, _pipelines_filled_by_readers(kernel), released)


def _buffer_pipelines(kernel: Operation) -> dict[SSAValue, SSAValue]:
    """The pipeline of each buffer: that of the TMA loads to it, or for scales that of the operation after their store."""
    loads = [as_op(op) for op in kernel.walk() if op.name == "nv_tileas.async.tiled_tma_load"]
    stored = [as_op(op) for op in kernel.walk() if op.name == LOCAL_STORE]
    operands = {store.buffer: store.pipeline for store in stored if store.pipeline is not None}
    staged = [as_op(op) for op in kernel.walk() if is_staged(op)]
    operands |= {store.dest: store.filled for store in staged}
    stores = [as_op(op) for op in kernel.walk() if op.name == STORE_SCALES]
    scales = {store.buffer: as_op(store.next_op).pipeline for store in stores}
    return {load.buffer: load.pipeline for load in loads} | scales | operands


def _buffer_without_items(op: Operation) -> SSAValue | None:
    """The buffer that an operation fills, if its places are not those of a pipeline's items."""
    if op.name in COPIES or (op.name == LOCAL_STORE and as_op(op).pipeline is None):
        return as_op(op).buffer
    return None


def _acquired_pipelines(kernel: Operation) -> set[SSAValue]:
    """The pipelines in which a partition waits until a stage, or an accumulator, is empty."""
    ops = kernel.walk()
    return {
        as_op(op).pipeline for op in ops if isinstance(op, ProducerAcquireOp) or traits_of(op).mma == MmaRole.ACQUIRE
    }


def _accumulator_pipelines(kernel: Operation) -> dict[SSAValue, SSAValue]:
    """The pipeline of each accumulator with stages: the one that the first commit after its MMAs fills."""
    found: dict[SSAValue, SSAValue] = {}
    acc = None
    for op in kernel.walk():
        role = traits_of(op).mma
        if MmaRole.ISSUE in role and not op.results:
            acc = as_op(op).acc
        elif MmaRole.COMMIT in role and as_op(op).token is not None and acc is not None:
            found[acc] = as_op(op).ready
    return found
