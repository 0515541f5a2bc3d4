"""Add the tiles of a cluster's CTAs, through distributed shared memory (PTX ISA 9.0, section 5.1.5, "shared::cluster").

Each thread sends the shards of other CTAs to the threads of the same index there, which add them to their own. A slot for
each sender has 16 bytes of each thread for four registers; those of neighboring threads are adjacent, so there are no bank
conflicts. The barriers are the cluster's, in which producer warps take part (``CLUSTER_REDUCE_BARRIERS``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.casting import int_attr, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.op_definition import TableOp
from ...analysis.scratch_memory_sizes import SPILL_VECTOR_REGS, SPILLED_ELEMENT_BYTES, cluster_reduce_slot, spill_bytes
from ...common.llvm_element_types import element_of
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import spill_vectors
from ..memory.shared_memory import load_shared
from ..memory.vector_access import store_vector
from ..pipelines.cluster_synchronization import peer_address, sync_cluster

PEER = {"space": "shared::cluster"}


def emit_cluster_reduce(e: KernelEmitter, op: TableOp) -> None:
    """Write to the others once all CTAs are done with what the slots overlap; read once all have written."""
    shards = _shards(op, e.values.registers(op.value))
    _, distinct, ours = layout_of(op.result).distinct_registers()
    parts = [[shard[register] for register in distinct] for shard in shards]
    sync_cluster(e.b, releases=True)
    for rank, part in enumerate(parts):
        _send(e, op, part, rank, len(parts))
    sync_cluster(e.b, releases=True)
    found = _add_received(e, op, _own(e, op, parts), len(parts))
    e.values[op.result] = [found[index] for index in ours]


def _shards(op: TableOp, registers: Sequence[Value]) -> list[list[Value]]:
    """The registers of each CTA's shard."""
    layout, dim, size = layout_of(op.value), op.dim, op.result.type.get_shape()[op.dim]
    starts = range(0, layout.shape[dim], size)
    return [[registers[index] for index in unwrap(layout.slice_registers(dim, start, size))[1]] for start in starts]


def _send(e: KernelEmitter, op: TableOp, part: Sequence[Value], rank: int, ctas: int) -> None:
    """Store a shard to the slot for this CTA in the CTA of a rank, unless that is this one."""
    slot = e.b.and_(e.b.sub(e.threads.cta_rank, rank + 1), ctas - 1)
    is_other = e.b.compare("ne", e.threads.cta_rank, rank)
    mine = e.b.add(_thread_address(e), e.b.mul(slot, cluster_reduce_slot(op, e.num_warps)))
    address, element = peer_address(e.b, mine, rank), element_of(op.value.type)
    for number, values in enumerate(spill_vectors(part)):
        store_vector(e.b, element, values, address, _offset(e, op, number), is_other, PEER)


def _own(e: KernelEmitter, op: TableOp, parts: Sequence[Sequence[Value]]) -> list[Value]:
    """The shard of this CTA."""
    found, type = list(parts[0]), element_of(op.value.type).type
    for rank, part in enumerate(parts[1:], 1):
        is_own = e.b.compare("eq", e.threads.cta_rank, rank)
        found = [e.b.select(is_own, value, before, type) for value, before in zip(part, found, strict=True)]
    return found


def _add_received(e: KernelEmitter, op: TableOp, own: list[Value], ctas: int) -> list[Value]:
    """Add what the others have sent, in the order of the ranks after this one."""
    element = element_of(op.value.type)
    opcode = "fadd" if element.is_float else "add"
    for slot in range(ctas - 1):
        start, received = slot * cluster_reduce_slot(op, e.num_warps), []
        for number, values in enumerate(spill_vectors(own)):
            received += load_shared(e.b, element, len(values), _thread_address(e), start + _offset(e, op, number))
        own = [e.b.binary(opcode, value, other, element.type) for value, other in zip(own, received, strict=True)]
    return own


def _thread_address(e: KernelEmitter) -> Value:
    with e.b.at_function_start():
        return e.b.add(e.b.mul(e.threads.thread, SPILLED_ELEMENT_BYTES), e.memory.shared_base)


def _offset(e: KernelEmitter, op: TableOp, number: int) -> int:
    """Bytes from a thread's address to its registers of a group in the first slot."""
    return int_attr(op, "scratch_offset") + spill_bytes(number * SPILL_VECTOR_REGS, e.num_warps)


HANDLERS: dict[str, Handler] = {"nv_tileas.cluster_reduce": emit_cluster_reduce}
