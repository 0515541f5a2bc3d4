"""Tensor maps in memory: reads, tensormap.replace and tensormap.cp_fenceproxy."""

from __future__ import annotations

import numpy as np

from .. import tensor_map
from ..errors import fault_at
from ..memory.address_space import PARAM_WINDOW
from ..ptx.ast import Address, Name, Register, Variable
from ..simt.geometry import OFFSET_MASK, RANK_SHIFT
from ..simt.thread_selection import Selection, flat_threads
from .handler_registry import handles
from .ld_st import address_expression, resolve_space, space_of, widen_address
from .tma_box_copies import global_view
from .warp_collectives import emit_warp_sync


def read_map(batch, ins, flat, address: int) -> bytes:
    """The 128 bytes of a tensor map at a generic address."""
    return bytes(map_bytes(batch, ins, flat, address))


def map_bytes(batch, ins, flat, address: int) -> np.ndarray:
    if address % 64:
        fault_at(batch.geometry, ins, flat, "misaligned tensor map (needs 64 bytes)", address)
    if address >> 56 == PARAM_WINDOW >> 56:
        offset = address & 0xFFFFFFFF
        if offset + tensor_map.SIZE > batch.memories.program.param_size:
            fault_at(batch.geometry, ins, flat, "tensor map outside the kernel parameters", address)
        return batch.memories.params[offset : offset + tensor_map.SIZE]
    view, index = global_view(batch, ins, flat, address, np.array([0, tensor_map.SIZE - 1]), 1, False)
    return view[int(index[0]) : int(index[1]) + 1]


def map_address(e, address: Address) -> str:
    """Source of the generic address of a tensor map: a register, or the parameter itself."""
    base = address.base
    if isinstance(base, Name):
        base = e.program.lookup(base) or base
    if isinstance(base, Variable):
        return e.scalar("u64", e.program.address_of(base, e.ins) + address.offset)
    is_narrow = isinstance(base, Register) and base.bits < 64
    value = widen_address(e, e.use(base, "u32" if is_narrow else "u64"), address, "generic")
    return f"({value} + {e.scalar('u64', address.offset)})" if address.offset else value


class MapSite:
    """tensormap.replace and tensormap.cp_fenceproxy: each thread changes or copies 128 bytes."""

    def __init__(self, ins, field: str | None = None, ordinal: int = 0):
        self.ins, self.field, self.ordinal = ins, field, ordinal

    def bytes_at(self, group, space: str, address, offset: int, selection, i: int, flat):
        values = np.broadcast_to(selection.pick(address), len(flat))
        value = int(values[i]) + offset
        if space == "generic" and value >> 56 == 1:
            space, value = "shared", value & ((1 << 56) - 1)
        if space != "shared":
            return map_bytes(group, self.ins, flat[i], value)
        return self.shared_bytes(group, int(flat[i]), value)

    def shared_bytes(self, batch, flat: int, value: int):
        """A map in the thread's own CTA; in a cluster, addresses include the CTA's rank."""
        cta = flat // batch.geometry.threads
        offset = value
        if batch.geometry.cluster_size > 1:
            rank, offset = value >> RANK_SHIFT, value & OFFSET_MASK
            if rank != int(batch.geometry.rank(np.array([cta]))[0]):
                fault_at(batch.geometry, self.ins, flat, "tensor map in the shared memory of another CTA", value)
        if offset % 64 or offset + tensor_map.SIZE > batch.memories.shared_limit:
            fault_at(batch.geometry, self.ins, flat, "tensor map misaligned or outside the shared memory", value)
        return batch.memories.shared[cta * batch.memories.shared_size + offset :][: tensor_map.SIZE]

    def replace(self, group, space, address, offset, value, mask=None):
        selection = Selection(group, True if mask is None else mask)
        flat = flat_threads(group, selection)
        values = np.broadcast_to(selection.pick(value), len(flat))
        for i in range(len(flat)):
            place = self.bytes_at(group, space, address, offset, selection, i, flat)
            new = tensor_map.replaced(bytes(place), self.field, self.ordinal, int(values[i]))
            place[:] = np.frombuffer(new, np.uint8)

    def copy(self, group, to, to_offset, source, from_offset):
        """Copy once per warp; the operands are warp-uniform."""
        selection = Selection(group, True)
        flat = flat_threads(group, selection)
        for i in np.unique(flat // 32, return_index=True)[1].tolist():
            place = self.bytes_at(group, "global", to, to_offset, selection, i, flat)
            place[:] = self.bytes_at(group, "shared", source, from_offset, selection, i, flat)


@handles("tensormap")
def handle_tensormap(e, ins):
    if ins.mods[0] == "cp_fenceproxy":
        emit_warp_sync(e)
        site = e.constant(MapSite(ins), "tensormap")
        (to, to_offset), (source, from_offset) = (
            address_expression(e, space, a) for space, a in zip(("global", "shared"), ins.args)
        )
        return e.line(f"{site}.copy(g, {to}, {to_offset}, {source}, {from_offset})")
    if ins.mods[:2] != ("replace", "tile"):
        e.fail("not supported")
    field, space = ins.mods[2], resolve_space(e, space_of(ins), ins.args[0])
    base, offset = address_expression(e, space, ins.args[0])
    value, ordinal = ins.args[-1], ins.args[1].value if len(ins.args) == 3 else 0
    kind = "u64" if ins.mods[-1] == "b64" else "u32"
    site = e.constant(MapSite(ins, field, ordinal), "tensormap")
    e.line(f"{site}.replace(g, {space!r}, {base}, {offset}, {e.use(value, kind)}, {e.predicate or 'None'})")
