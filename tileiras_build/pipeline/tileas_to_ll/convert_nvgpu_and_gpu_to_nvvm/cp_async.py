"""Asynchronous copies of sm_80, and their groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, i32
from xdsl.ir import SSAValue

from ....ir.dialects.checked_cast import type_as
from ....ir.dialects.fast_xdsl import erase, operand_groups
from ....ir.dialects.llvm_ext import AddrSpaceCastOp
from ....ir.dialects.nvgpu import ops_async_copy as nvgpu
from ....ir.dialects.nvvm import ops_copy as target
from ....ir.dialects.nvvm.attrs import LoadCacheModifierAttr
from ....ir.dialects.nvvm.intrinsic_or_inline_asm import bits_of
from ....ir.dialects.nvvm.memory_access import CopyOp
from .llvm_type_helpers import GLOBAL_POINTER, static_strides
from .rewriter import Emitter, rewrite


@rewrite(nvgpu.DeviceAsyncCopyOp)
def convert_copy(emit: Emitter, op: nvgpu.DeviceAsyncCopyOp) -> None:
    """cp.async of 4, 8 or 16 bytes; 16 bytes may go past the L1 cache."""
    copy = _Copy(*operand_groups(op))
    elements, bits = op.dstElements.value.data, bits_of(type_as(copy.dst[0], MemRefType).element_type)
    size = elements * bits // 8
    taken = _bytes(copy.counted[0], bits, emit) if copy.counted else None
    if copy.ignored or copy.predicate or emit.source(copy.dst[0], i32) is not None:
        _fill(copy, emit, size, taken, op.bypassL1 is not None)
    else:
        _copy(copy, emit, size, taken, op.bypassL1 is not None)
    # The instruction has no token: a group contains all copies since the last commit.
    _token(op, emit)


class _Copy(NamedTuple):
    """The operands of a copy."""

    dst: Sequence[SSAValue]
    dst_indices: Sequence[SSAValue]
    src: Sequence[SSAValue]
    src_indices: Sequence[SSAValue]
    counted: Sequence[SSAValue]
    ignored: Sequence[SSAValue]
    predicate: Sequence[SSAValue]


def _token(op: nvgpu.DeviceAsyncCopyOp | nvgpu.DeviceAsyncCreateGroupOp, emit: Emitter) -> None:
    """A token has no information: it becomes a constant."""
    if op.results[0].first_use is None:
        return erase(op)
    emit.replace(emit.constant(0))


def _copy(copy: _Copy, emit: Emitter, size: int, source_bytes: SSAValue | None, bypass: bool) -> None:
    """MLIR's instruction, whose operands are pointers and a count."""
    dst = emit.address(copy.dst[0], copy.dst_indices)
    src = _global(emit, emit.address(copy.src[0], copy.src_indices))
    modifier = LoadCacheModifierAttr.new([StringAttr("cg" if bypass else "ca")])
    properties = {"size": IntegerAttr(size, i32), "modifier": modifier}
    emit.insert(target.CpAsyncSharedGlobalOp.build(operands=[dst, src, source_bytes], properties=properties))


def _fill(copy: _Copy, emit: Emitter, size: int, source_bytes: SSAValue | None, bypass: bool) -> None:
    """The instruction with an ignore-src predicate or an execution predicate, and constant address offsets."""
    dst, offset = _element_address(copy.dst[0], copy.dst_indices, emit)
    src, source_offset = _element_address(copy.src[0], copy.src_indices, emit)
    read = copy.ignored or source_bytes or size
    operands = dst, _global(emit, src), read, copy.predicate
    emit.issue(CopyOp, *operands, size=size, offset=offset, source_offset=source_offset, bypass=bypass)


def _element_address(buffer: SSAValue, indices: Sequence[SSAValue], emit: Emitter) -> tuple[SSAValue, int]:
    """(base address, a pointer or 32 bits, and byte offset of an element)."""
    type = type_as(buffer, MemRefType)
    known = static_strides(type)
    position = None if known is None else emit.position(indices, *known)
    if not isinstance(position, int):
        return emit.address(buffer, indices), 0
    return emit.source(buffer, i32) or emit.aligned(buffer), position * bits_of(type.element_type) // 8


def _global(emit: Emitter, pointer: SSAValue) -> SSAValue:
    if pointer.type == GLOBAL_POINTER:
        return pointer
    return emit.insert(AddrSpaceCastOp(pointer, GLOBAL_POINTER))


def _bytes(elements: SSAValue, bits: int, emit: Emitter) -> SSAValue:
    count = emit.integer(elements)
    if bits == 8:
        return count
    total = emit.binary("mul", count, bits)
    return emit.binary("lshr", total, 3)


@rewrite(nvgpu.DeviceAsyncCreateGroupOp)
def convert_create_group(emit: Emitter, op: nvgpu.DeviceAsyncCreateGroupOp) -> None:
    """cp.async.commit_group has no token operands."""
    emit.insert(target.CpAsyncCommitGroupOp.build())
    _token(op, emit)


@rewrite(nvgpu.DeviceAsyncWaitOp)
def convert_wait(emit: Emitter, op: nvgpu.DeviceAsyncWaitOp) -> None:
    """cp.async.wait_group; without a count it waits for all groups."""
    count = op.numGroups.value.data if op.numGroups else 0
    emit.replace_with(target.CpAsyncWaitGroupOp.build(properties={"n": IntegerAttr(count, i32)}))
