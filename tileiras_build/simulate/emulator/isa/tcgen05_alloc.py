"""Allocation of tensor memory: tcgen05.alloc, .dealloc and .relinquish_alloc_permit."""

from __future__ import annotations

import numpy as np

from ..errors import fault_at
from ..memory import tensor_memory
from ..memory.load_store import Site
from ..memory.tensor_memory import tensor_memory_of
from ..simt.broadcasting import are_all, is_any
from ..simt.thread_group import RETRY, narrow_value
from ..simt.thread_selection import Selection, flat_threads
from .handler_registry import helper
from .ld_st import address_expression
from .tcgen05_addresses_and_issuers import is_pair, per_warp, warps_of
from .tcgen05_async_queue import pair_of
from .warp_collectives import emit_warp_sync


def handle_alloc(e, ins):
    """Emit the end of a function: the warp may have to wait for columns."""
    emit_warp_sync(e)
    space = "shared" if any(m.startswith("shared") for m in ins.mods) else "generic"
    base, offset = address_expression(e, space, ins.args[0])
    site = e.constant(Site(ins, space, 4, 1, offset), "site")
    return f"return SchedulerEvent({RETRY!r}, tcgen05_alloc, {site}, {base}, {e.use(ins.args[1], 'u32')}, {e.pc + 1})"


@helper
def tcgen05_alloc(group, site, address, columns, after):
    ins = site.ins
    ctas, warps = warps_of(group, ins)
    require_peer_cta(group, ins, ctas, warps)
    counts = per_warp(group, ins, columns)
    starts = np.full(len(ctas), tensor_memory.FREE)
    for _ in range(2 if is_pair(ins) else 1):  # the second CTA of a pair completes the allocation of the first one
        for i in np.flatnonzero(starts == tensor_memory.FREE).tolist():
            starts[i] = try_allocate(group, ins, int(ctas[i]), int(warps[i]) * 32, int(counts[i]))
    served = starts != tensor_memory.FREE
    if not are_all(served):
        return allocate_or_wait(group, site, address, starts, after)
    write_addresses(group, site, address, starts)
    group.pc = after
    return group


def require_peer_cta(group, ins, ctas, warps):
    """Require running peer CTAs: allocation and deallocation of a pair communicate through the peer's shared memory."""
    if group.observers.racecheck is not None and is_pair(ins):
        group.observers.racecheck.cluster.peer_required(
            ins, ctas * group.geometry.threads + warps * 32, peer_ctas(group, ctas)
        )


def peer_ctas(group, ctas):
    """The other CTAs of pairs."""
    geometry = group.geometry
    return geometry.ctas_with_rank(ctas, geometry.rank(ctas) ^ 1)


def allocate_or_wait(group, site, address, starts, after):
    """Block the warps that must wait; the others continue."""
    served = starts != tensor_memory.FREE
    mask = group.from_warps(np.repeat(served[:, None], 32, axis=1))
    rest = group.split_off(~mask)
    rest.pc = group.pc
    group.scheduler.blocked_groups.append((rest, "waits for free columns of tensor memory"))
    if not is_any(served):
        return
    part = group.split_off(mask)
    write_addresses(part, site, narrow_value(address, part.select), starts[served])
    part.pc = after
    group.scheduler.push(part)


def write_addresses(group, site, address, starts):
    """One lane of each warp stores the address of its columns."""
    leaders = np.broadcast_to((group.tid & 31) == 0, group.shape)
    value = group.from_warps(np.repeat(starts.astype(np.uint32)[:, None], 32, axis=1))
    site.store(group, address, [value], leaders)
    if group.observers.racecheck is not None:
        selection = Selection(group, leaders)
        place = site.in_shared(group, selection.pick(address), selection)
        index = np.broadcast_to(place.index(4), len(selection.rows))
        group.observers.racecheck.shared_memory.tcgen05_writes(site.ins, 4 * index, flat_threads(group, selection))


def try_allocate(group, ins, cta: int, tid: int, columns: int) -> int:
    """The first column of a new allocation, or FREE if the warp must wait."""
    memory = tensor_memory_of(group)
    memory.check_count(ins, cta, tid, columns)
    if not memory.permitted[cta]:
        fault_at(group.geometry, ins, (cta, tid), "tcgen05.alloc after tcgen05.relinquish_alloc_permit")
    if columns > memory.largest[cta]:
        fault_at(
            group.geometry,
            ins,
            (cta, tid),
            f"{columns} columns: more than the preceding allocation of {memory.largest[cta]}",
        )
    if is_pair(ins):
        return try_allocate_pair(group, memory, ins, cta, columns)
    start = memory.find_free([cta], columns)
    if start != tensor_memory.FREE:
        record_allocation(memory, ins, [cta], start, columns)
    return start


def record_allocation(memory, ins, ctas, start: int, columns: int):
    for cta in ctas:
        memory.allocate(cta, start, columns)
        memory.largest[cta] = columns
        memory.sources[cta] = ins


def try_allocate_pair(group, memory, ins, cta: int, columns: int) -> int:
    """Both CTAs of a pair allocate together: the first one waits for the second."""
    waiting = memory.requests.get(cta)
    if waiting is not None and waiting[1] != tensor_memory.FREE:
        return memory.requests.pop(cta)[1]
    even, odd = (int(side[0]) for side in pair_of(group, ins, np.array([cta])))
    peer = odd if cta == even else even
    memory.requests[cta] = (columns, tensor_memory.FREE)
    other = memory.requests.get(peer)
    if other is None:
        return tensor_memory.FREE
    if other[0] != columns:
        fault_at(group.geometry, ins, (cta, 0), f"the peer CTA allocates {other[0]} columns, this one {columns}")
    start = memory.find_free([cta, peer], columns)
    if start != tensor_memory.FREE:
        record_allocation(memory, ins, [cta, peer], start, columns)
        memory.requests[peer] = (columns, start)
        del memory.requests[cta]
        group.scheduler.retry_blocked()
    return start


def handle_dealloc(e, ins):
    emit_warp_sync(e)
    address = e.use(ins.args[0], "u32")
    e.line(f"tcgen05_dealloc({e.constant(ins, 'ins')}, g, {address}, {e.use(ins.args[1], 'u32')})")


@helper
def tcgen05_dealloc(ins, group, address, columns):
    memory = tensor_memory_of(group)
    ctas, warps = warps_of(group, ins)
    require_peer_cta(group, ins, ctas, warps)
    for cta, warp, start, count in zip(ctas, warps, per_warp(group, ins, address), per_warp(group, ins, columns)):
        memory.release(ins, int(cta), int(warp) * 32, int(start), int(count))
        if group.observers.racecheck is not None:
            others = [int(cta)]
            if is_pair(ins):
                others.append(int(peer_ctas(group, cta)))
            span = tensor_memory.Span(int(cta), int(start), int(count))
            group.observers.racecheck.tensor_memory.free(ins, span, others, (int(cta), int(warp)))
    group.scheduler.retry_blocked()


def handle_relinquish(e, ins):
    emit_warp_sync(e)
    e.line(f"tcgen05_relinquish({e.constant(ins, 'ins')}, g)")


@helper
def tcgen05_relinquish(ins, group):
    ctas, warps = warps_of(group, ins)
    require_peer_cta(group, ins, ctas, warps)
    tensor_memory_of(group).permitted[ctas] = False
