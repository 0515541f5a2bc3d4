"""Barriers, fences and mbarriers (PTX ISA 9.0, section 9.7.13)."""

from __future__ import annotations

import numpy as np

from ..access import Site
from ..parse import SINK, Address, Register
from . import handles, helper
from .memory import address_expression

CLUSTER_BARRIER = 16  # a cluster of one CTA: its barrier is one more barrier of the CTA


@handles("bar", "barrier")
def handle_barrier(e, ins):
    if "warp" in ins.mods:
        return warp_barrier(e, ins)
    if "cluster" in ins.mods:
        return cluster_barrier(e, ins)
    waits = "arrive" not in ins.mods
    red = next((m for m in ins.mods if m in ("and", "or", "popc")), None)
    args = list(ins.args)
    predicate = "None"
    if red is not None:
        args.pop(0)
        predicate = e.use(args.pop(), "p")
    barrier = e.use(args[0], "u32")
    count = e.use(args[1], "u32") if len(args) > 1 else "None"
    return f"return Event('barrier', {barrier}, {count}, {red!r}, {predicate}, {waits}, {e.pc + 1})"


@handles("_barrier_result")
def handle_barrier_result(e, ins):
    if "popc" in ins.mods:
        return e.set(ins.args[0], "u32", "np.asarray(g.barrier_value).astype(u32)")
    e.set(ins.args[0], "p", "np.asarray(g.barrier_value).astype(p)")


def warp_barrier(e, ins):
    if e.fine:
        e.line(f"wait = g.require_warps({e.use(ins.args[0], 'u32')})")
        e.line("if wait is not None: return wait")
    e.line("if g.m.race is not None: g.m.race.warp_barrier(g)")


def cluster_barrier(e, ins):
    if "wait" in ins.mods:
        return f"return Event('barrier', u32({CLUSTER_BARRIER}), None, None, None, True, {e.pc + 1})"
    return None


@handles("membar", "fence")
def handle_fence(e, ins):
    """Memory operations of the emulator are already in order."""


# -- mbarrier ----------------------------------------------------------------------------------------
# Our layout of the opaque 64 bits: expected arrivals 0-19, pending arrivals 20-39, pending transaction bytes
# 40-62 (biased by 2^22), phase 63.
_BIAS = 1 << 22


def _pack(expected: int, pending: int, tx: int, phase: int) -> int:
    return expected | pending << 20 | ((tx + _BIAS) & 0x7FFFFF) << 40 | phase << 63


def _unpack(word: int) -> tuple[int, int, int, int]:
    return word & 0xFFFFF, word >> 20 & 0xFFFFF, (word >> 40 & 0x7FFFFF) - _BIAS, word >> 63


def _complete(expected: int, pending: int, tx: int, phase: int) -> int:
    if pending == 0 and tx == 0:
        return _pack(expected, expected, 0, phase ^ 1)
    return _pack(expected, pending, tx, phase)


def _each(site, group, address, mask):
    """(view, index of each participating thread, the threads' selection)."""
    from ..access import Selection

    selection = Selection(group, True if mask is None else mask)
    site = site if site.space == "shared" else site.variant("shared")
    place = site.in_shared(group, selection.pick(address), selection)
    index = np.broadcast_to(place.index(8), len(selection.rows))
    return place.view(np.uint64), index, selection


def change_barrier(view, position: int, arrivals: int, tx: int, drop: int = 0) -> int:
    """Apply arrivals and expected bytes to one mbarrier; returns its state before."""
    before = int(view[position])
    expected, pending, bytes_, phase = _unpack(before)
    view[position] = _complete(expected - drop, max(pending - arrivals, 0), bytes_ + tx, phase)
    return before


@helper
def mbarrier_init(site, group, address, count, mask):
    view, index, selection = _each(site, group, address, mask)
    counts = np.broadcast_to(selection.pick(count), len(index))
    for position, value in zip(index.tolist(), counts.tolist()):
        view[position] = _pack(value, value, 0, 0)


@helper
def mbarrier_arrive(site, group, address, count, expect, tx, mask, drop=False):
    """Arrive (and expect bytes); returns the states before. Threads arrive one after another."""
    view, index, selection = _each(site, group, address, mask)
    number = len(index)
    counts = np.broadcast_to(selection.pick(count), number).tolist()
    bytes_ = np.broadcast_to(selection.pick(tx), number).tolist()
    out = np.zeros(group.shape, np.uint64)
    before = [change_barrier(view, p, c, b, c if drop else 0) for p, c, b in zip(index.tolist(), counts, bytes_)]
    out[selection.rows, selection.columns] = np.array(before, np.uint64)
    return out


@helper
def mbarrier_test(site, group, address, state, parity, mask):
    """Whether the phase named by a state (or a parity) has completed."""
    view, index, selection = _each(site, group, address, mask)
    phase = view[index] >> np.uint64(63)
    wanted = selection.pick(state)
    wanted = (
        np.asarray(wanted).astype(np.uint64) & np.uint64(1)
        if parity
        else np.asarray(wanted).astype(np.uint64) >> np.uint64(63)
    )
    out = np.zeros(group.shape, bool)
    out[selection.rows, selection.columns] = phase != wanted
    return out


@handles("mbarrier")
def handle_mbarrier(e, ins):
    form = ins.mods[0]
    address = next(a for a in ins.args if isinstance(a, Address))
    rest = ins.args[ins.args.index(address) + 1 :]
    base, offset = address_expression(
        e, "shared" if any(m.startswith("shared") for m in ins.mods) else "generic", address
    )
    site = e.constant(Site(ins, "shared", 8, 1, offset), "site")
    mask = e.predicate or "None"
    if form == "inval":
        return
    if form == "init":
        return e.line(f"mbarrier_init({site}, g, {base}, {e.use(rest[0], 'u32')}, {mask})")
    if form in ("expect_tx", "complete_tx"):
        tx = e.use(rest[0], "s32")
        return e.line(
            f"mbarrier_arrive({site}, g, {base}, 0, True, {tx if form == 'expect_tx' else f'-({tx})'}, {mask})"
        )
    if form in ("arrive", "arrive_drop"):
        return emit_arrive(e, ins, form, site, base, rest, mask)
    if form in ("test_wait", "try_wait"):
        parity = "parity" in ins.mods
        state = e.use(rest[0], "u32" if parity else "u64")
        return e.set(ins.args[0], "p", f"mbarrier_test({site}, g, {base}, {state}, {parity}, {mask})")
    if form == "pending_count":
        return e.set(ins.args[0], "u32", f"(({e.use(ins.args[1], 'u64')} >> u64(20)) & u64(0xFFFFF)).astype(u32)")
    e.fail()


def emit_arrive(e, ins, form, site, base, rest, mask):
    expect = "expect_tx" in ins.mods
    tx = e.use(rest[0], "s32") if expect else "0"
    count = "1" if expect or not rest else e.use(rest[0], "u32")
    call = f"mbarrier_arrive({site}, g, {base}, {count}, {expect}, {tx}, {mask}, {form == 'arrive_drop'})"
    if isinstance(ins.args[0], Register) and ins.args[0] is not SINK:
        return e.set(ins.args[0], "u64", call)
    e.line(call)
