"""Storage on the device heap: memory with the lifetime of a block, which other tile programs also access.

One thread of the CTA calls the driver's ``malloc``, and broadcasts the address through shared memory. At each exit of
the block (its end, ``break``, ``continue`` or ``return``) that thread calls ``free`` after a barrier.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from ....ir.casting import int_attr, parent_block, unwrap
from ....ir.dialects.nvvm.target_independent_intrinsics import TrapOp
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import GLOBAL, I64, SHARED, pointer
from ..emission.function_builder import Value
from ..emission.kernel_emitter import KernelEmitter

LOOPS = ("nv_tileas.for", "nv_tileas.loop")


def allocate(e: KernelEmitter, op: TableOp, offset: int) -> Value:
    """The global pointer of a new block; ``offset`` is the slot in shared memory for its broadcast. Traps if it is null."""
    size = element_of(op.result.type.pointee).global_bytes(int_attr(op, "num_elem"))
    alignment = int_attr(op, "alignment")
    b = e.b
    slot = b.pointer(b.add(e.memory.shared_base, offset), SHARED)
    e.symbols.use_function("malloc", pointer(), (I64,))
    with b.if_then(e.threads.is_first_thread):
        block = b.call("malloc", (b.constant(max(size, 1) + alignment - 1, I64),), pointer())
        b.store(b.cast("ptrtoint", block, I64), slot, 8)
    e.memory.barrier()
    address = b.load(I64, slot, 8)
    with b.if_then(b.compare("eq", address, 0, I64)):
        b.issue(TrapOp)
    e.memory.heap.setdefault(parent_block(op), []).append(address)
    start = b.and_(b.add(address, alignment - 1, I64), -alignment, I64)
    return b.cast("inttoptr", start, pointer(GLOBAL))


def free_in_block(e: KernelEmitter, block: Block) -> None:
    """Free the allocations of the block so far."""
    addresses = e.memory.heap.get(block)
    if not addresses:
        return
    e.symbols.use_function("free", None, (pointer(),))
    e.memory.barrier()
    with e.b.if_then(e.threads.is_first_thread):
        for address in reversed(addresses):
            e.b.call("free", (e.b.cast("inttoptr", address, pointer()),))


def free_in_loop(e: KernelEmitter, op: Operation) -> None:
    """Free what the blocks around a ``break`` or ``continue`` have allocated, out to its loop's body."""
    block = op.parent
    while block is not None:
        free_in_block(e, block)
        around = unwrap(block.parent_op())
        block = None if around.name in LOOPS else around.parent


def free_in_kernel(e: KernelEmitter, op: Operation) -> None:
    """Free what all blocks around a ``return`` have allocated."""
    block = op.parent
    while block is not None:
        free_in_block(e, block)
        block = unwrap(block.parent_op()).parent
