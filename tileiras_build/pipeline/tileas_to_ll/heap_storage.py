"""Storage on the device's heap: what other tile programs reach as well, and what lives as long as a block.

One thread of the CTA calls the driver's ``malloc``, and leaves the address in shared memory for the others; where
control leaves the block, by its end, ``break``, ``continue`` or ``return``, it calls ``free`` when all are done.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, Operation

from ..shared.element_types import element_of
from .builder import SHARED, Value
from .kernel_emitter import KernelEmitter

LOOPS = ("nv_tileas.for", "nv_tileas.loop")


def allocate(e: KernelEmitter, op: Any, offset: int) -> Value:
    """The global pointer of a new block, whose address lies for a moment at ``offset`` of shared memory; traps if none."""
    size = element_of(op.result.type.pointee).global_bytes(op.attributes["num_elem"].value.data)
    alignment = op.attributes["alignment"].value.data
    slot = e.b.pointer(e.b.add(e.shared_base, offset), SHARED)
    e.module.use_function("ptr @malloc(i64)")
    with e.b.when(e.first_thread):
        block = e.b.value(f"call ptr @malloc(i64 {max(size, 1) + alignment - 1})")
        address = e.b.value(f"ptrtoint ptr {block} to i64")
        e.b.line(f"store i64 {address}, ptr addrspace({SHARED}) {slot}, align 8")
    e.barrier()
    address = e.b.value(f"load i64, ptr addrspace({SHARED}) {slot}, align 8")
    with e.b.when(e.b.value(f"icmp eq i64 {address}, 0")):
        e.b.call_void("@llvm.trap", "")
    e.heap.setdefault(op.parent, []).append(address)
    start = e.b.value(f"add i64 {address}, {alignment - 1}")
    return e.b.value(f"inttoptr i64 {e.b.value(f'and i64 {start}, {-alignment}')} to ptr addrspace(1)")


def leave_block(e: KernelEmitter, block: Block) -> None:
    """Free what the block has allocated so far."""
    addresses = e.heap.get(block)
    if not addresses:
        return
    e.module.use_function("void @free(ptr)")
    e.barrier()
    with e.b.when(e.first_thread):
        for address in reversed(addresses):
            e.b.call_void("@free", f"ptr {e.b.value(f'inttoptr i64 {address} to ptr')}")


def leave_loop(e: KernelEmitter, op: Operation) -> None:
    """Free what the blocks around a ``break`` or ``continue`` have allocated, out to its loop's body."""
    block = op.parent
    while block is not None:
        leave_block(e, block)
        around = block.parent_op()
        block = None if around.name in LOOPS else around.parent


def leave_kernel(e: KernelEmitter, op: Operation) -> None:
    """Free what all blocks around a ``return`` have allocated."""
    block = op.parent
    while block is not None:
        leave_block(e, block)
        block = block.parent_op().parent
