"""Asynchronous copies of sm_80, and their groups."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, i32
from xdsl.ir import SSAValue

from ....dialects.llvm_ext import AddrSpaceCastOp
from ....dialects.narrowing import type_of
from ....dialects.nvgpu import ops_copy as nvgpu
from ....dialects.nvvm import ops_copy as target
from ....dialects.nvvm.attrs import LoadCacheModifierAttr
from ....dialects.nvvm.rows import bits_of
from .conversion import Emitter, rewrite
from .converted_types import GLOBAL_POINTER


@rewrite(nvgpu.DeviceAsyncCopyOp)
def convert_copy(op: nvgpu.DeviceAsyncCopyOp, emit: Emitter) -> None:
    """cp.async of 4, 8 or 16 bytes; 16 bytes may go past the L1 cache."""
    bits = bits_of(type_of(op.dst, MemRefType).element_type)
    size = op.dstElements.value.data * bits // 8
    if size not in target.SIZES or op.dstElements.value.data * bits % 8:
        raise emit.unsupported("copy-size", f"copies 4, 8 or 16 bytes, got {op.dstElements.value.data} x {bits} bits")
    if op.bypassL1 is not None and size != 16:
        raise emit.unsupported("copy-bypass", f"bypasses L1 with 16 bytes only, got {size}")
    dst = emit.address(op.dst, op.dstIndices)
    src = _global(emit, emit.address(op.src, op.srcIndices))
    properties = {
        "size": IntegerAttr(size, i32),
        "modifier": LoadCacheModifierAttr.new([StringAttr("cg" if op.bypassL1 is not None else "ca")]),
    }
    operands = [dst, src, _source_bytes(op, emit, bits)]
    emit.insert(target.CpAsyncSharedGlobalOp.build(operands=operands, properties=properties))
    # The instruction gives no token: a group is whatever was issued since the last one.
    emit.replace(emit.constant(0))


def _global(emit: Emitter, pointer: SSAValue) -> SSAValue:
    if pointer.type == GLOBAL_POINTER:
        return pointer
    return emit.add(AddrSpaceCastOp(pointer, GLOBAL_POINTER))


def _source_bytes(op: nvgpu.DeviceAsyncCopyOp, emit: Emitter, bits: int) -> SSAValue | None:
    if op.srcElements is None:
        return None
    total = emit.add(llvm.MulOp(emit.integer(op.srcElements), emit.constant(bits)))
    return emit.add(llvm.LShrOp(total, emit.constant(3)))


@rewrite(nvgpu.DeviceAsyncCreateGroupOp)
def convert_create_group(op: nvgpu.DeviceAsyncCreateGroupOp, emit: Emitter) -> None:
    """cp.async.commit_group takes no tokens."""
    emit.insert(target.CpAsyncCommitGroupOp.build())
    emit.replace(emit.constant(0))


@rewrite(nvgpu.DeviceAsyncWaitOp)
def convert_wait(op: nvgpu.DeviceAsyncWaitOp, emit: Emitter) -> None:
    """cp.async.wait_group; without a number it waits for all groups."""
    count = op.numGroups.value.data if op.numGroups else 0
    emit.become(target.CpAsyncWaitGroupOp.build(properties={"n": IntegerAttr(count, i32)}))
