"""mbarrier operations: the ``.shared`` forms of ``nvvm.mbarrier``."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation, SSAValue

from ....ir.dialects.checked_cast import type_as
from ....ir.dialects.fast_xdsl import build, operands_of
from ....ir.dialects.llvm_ext import make_global
from ....ir.dialects.nvgpu import ops_barrier as nvgpu
from ....ir.dialects.nvgpu.types import SHARED, MBarrierGroupType
from ....ir.dialects.nvvm import ops_mbarrier as target
from ....ir.dialects.nvvm.cluster_sync_and_fences import MBarrierArriveOp
from ...common.llvm_type_constructors import array
from .llvm_type_helpers import SHARED_POINTER
from .rewriter import Emitter, rewrite

STORAGE = "mbar_storage"
MBARRIER_BYTES = 8  # PTX ISA 9.0, section 9.7.13.15.2


def barrier_address(barriers: SSAValue, position: SSAValue, emit: Emitter) -> SSAValue:
    """The address of one barrier of a group; the verifier checked that the group is in shared memory."""
    pointer = emit.as_type(barriers, SHARED_POINTER)
    if type_as(barriers, MBarrierGroupType).num_barriers.data == 1:
        return pointer
    index = emit.integer(position, i64)
    if isinstance(index.owner, llvm.ConstantOp) and not index.uses and index.owner.value.value.data == 0:
        index.owner.detach()
        index.owner.erase()
        return pointer
    return emit.offset(pointer, index, i64)


@rewrite(nvgpu.MBarrierCreateOp)
def convert_create(emit: Emitter, op: nvgpu.MBarrierCreateOp) -> None:
    """Allocate the barriers in shared memory."""
    type = array(type_as(op.barriers, MBarrierGroupType).num_barriers.data, i64)
    name = emit.fresh_symbol(STORAGE)
    emit.add_global(make_global(type, name, "internal", SHARED, alignment=MBARRIER_BYTES))
    emit.replace(llvm.AddressOfOp(name, SHARED_POINTER))


@rewrite(nvgpu.MBarrierGetOp)
def convert_get(emit: Emitter, op: nvgpu.MBarrierGetOp) -> None:
    """The address, which has 32 bits in shared memory."""
    pointer = barrier_address(op.barriers, op.mbarId, emit)
    emit.replace(emit.create(llvm.PtrToIntOp, (pointer,), op.mbarrierPointer.type))


def _with_count(
    op: nvgpu.MBarrierInitOp | nvgpu.MBarrierArriveExpectTxOp, emit: Emitter, form: type[Operation]
) -> None:
    barriers, count, position, *predicate = operands_of(op)
    emit.replace_with(build(form, [barrier_address(barriers, position, emit), emit.integer(count), predicate]))


@rewrite(nvgpu.MBarrierInitOp)
def convert_init(emit: Emitter, op: nvgpu.MBarrierInitOp) -> None:
    """mbarrier.init with the participant count"""
    _with_count(op, emit, target.MBarrierInitSharedOp)


@rewrite(nvgpu.MBarrierArriveExpectTxOp)
def convert_expect_tx(emit: Emitter, op: nvgpu.MBarrierArriveExpectTxOp) -> None:
    """mbarrier.arrive.expect_tx"""
    _with_count(op, emit, target.MBarrierArriveExpectTxSharedOp)


@rewrite(nvgpu.MBarrierArriveOp)
def convert_arrive(emit: Emitter, op: nvgpu.MBarrierArriveOp) -> None:
    """mbarrier.arrive, whose token is the phase; without a token the form without a result register."""
    address = barrier_address(op.barriers, op.mbarId, emit)
    if op.token is None:
        emit.replace_with(MBarrierArriveOp.make([op.predicate, address], []))
        return
    emit.replace(target.MBarrierArriveSharedOp.build(operands=[address], result_types=[i64]))


@rewrite(nvgpu.MBarrierArriveNoCompleteOp)
def convert_arrive_no_complete(emit: Emitter, op: nvgpu.MBarrierArriveNoCompleteOp) -> None:
    """mbarrier.arrive.noComplete"""
    operands = [barrier_address(op.barriers, op.mbarId, emit), emit.integer(op.count)]
    emit.replace(target.MBarrierArriveNoCompleteSharedOp.build(operands=operands, result_types=[i64]))


@rewrite(nvgpu.MBarrierTestWaitOp)
def convert_test_wait(emit: Emitter, op: nvgpu.MBarrierTestWaitOp) -> None:
    """mbarrier.test_wait by token"""
    operands = [barrier_address(op.barriers, op.mbarId, emit), emit.converted(op.token)]
    emit.replace(target.MBarrierTestWaitSharedOp.build(operands=operands, result_types=[i1]))


@rewrite(nvgpu.MBarrierTryWaitParityOp)
def convert_try_wait_parity(emit: Emitter, op: nvgpu.MBarrierTryWaitParityOp) -> None:
    """mbarrier.try_wait.parity: the single-attempt form has a parity bit, the loop form has MLIR's i32 parity."""
    address = barrier_address(op.barriers, op.mbarId, emit)
    ticks = None if op.ticks is None else emit.integer(op.ticks)
    form = target.MBarrierTryWaitParitySharedOp
    phase = emit.source(op.phaseParity, i32)
    if op.done is not None:
        operands = [address, phase or op.phaseParity, ticks]
        emit.replace(form.build(operands=operands, result_types=[[i1]]))
        return
    phase = phase or emit.insert(llvm.ZExtOp(op.phaseParity, i32))
    emit.replace_with(build(form, [address, phase, ticks]))
