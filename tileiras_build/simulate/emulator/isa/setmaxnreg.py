"""setmaxnreg: warps release and acquire registers of their CTA's pool (PTX ISA 9.0, section 9.7.19.5).

All warps of a warpgroup must change to the same count before one of them changes again.

The size of the pool is the number of threads times the registers at entry. A cubin has this count
(``LaunchOptions.registers``). PTX alone only implies a bound: the minimum of .maxnreg and, with .minnctapersm, the share of
each CTA in an SM's 64 Ki registers. A setmaxnreg.inc to fewer registers than the bound then succeeds, because the warp may
have started with fewer. Without both directives, ptxas does not know the registers at entry and ignores setmaxnreg (its
remark C7508).
"""

from __future__ import annotations

import numpy as np

from ..errors import fault_at, fault_of
from ..sanitizers.observers import Observers
from ..simt.broadcasting import are_all, is_any, run_starts
from ..simt.geometry import Geometry
from ..simt.thread_group import RETRY
from .handler_registry import WARP_WIDE, handles, helper
from .warp_collectives import emit_warp_sync

SM_REGISTERS = 65536
WARPGROUP_THREADS = 128  # the unit of allocation
MIN_REGISTERS, MAX_REGISTERS, REGISTER_STEP = 24, 256, 8
MAX_REGISTERS_AT_ENTRY = 255  # per thread
WARP_WIDE.add("setmaxnreg")


def bound_at_entry(directives: dict, threads: int) -> int | None:
    """The maximum registers per thread that ptxas can have assigned; None if it does not know."""
    bounds = list(directives.get("maxnreg", ()))
    if "minnctapersm" in directives and ("reqntid" in directives or "maxntid" in directives):
        whole = -(-threads // WARPGROUP_THREADS) * WARPGROUP_THREADS
        bounds.append(SM_REGISTERS // (whole * directives["minnctapersm"][0]) // REGISTER_STEP * REGISTER_STEP)
    return min(*bounds, MAX_REGISTERS_AT_ENTRY) if bounds else None


class RegisterPool:
    """Registers per thread of each warp, free registers of each CTA's pool, and the history of each warp's changes."""

    def __init__(self, geometry: Geometry, directives: dict, at_launch: int | None):
        bound = bound_at_entry(directives, geometry.threads)
        self.ignored = bound is None
        self.known = at_launch is not None
        entry = (
            -(-(at_launch or bound or 0) // REGISTER_STEP) * REGISTER_STEP
        )  # registers are allocated in multiples of 8: 255 take 256
        self.owned = np.full((geometry.ctas, -(-geometry.threads // 32)), entry)
        self.change_counts = np.zeros_like(self.owned)  # changes of each warp so far
        self.free = np.zeros(geometry.ctas, np.int64)  # in units of one register for each thread of a warp
        self.changes: list[np.ndarray] = []  # for each change: the new count of each warp

    def set_registers(self, cta, warp, wanted: int) -> None:
        """Change warps (integers or arrays), all with the same number of changes so far, to ``wanted``."""
        turn = int(np.max(self.change_counts[cta, warp]))
        if turn == len(self.changes):
            self.changes.append(np.zeros_like(self.owned))
        self.changes[turn][cta, warp] = wanted
        self.change_counts[cta, warp] += 1

    def apply_to_warpgroups(self, cta: np.ndarray, warp: np.ndarray, wanted: int, *, grows: bool) -> bool:
        """Change whole warpgroups at once; returns False if they are not whole or differ, or if a warp must wait or fault."""
        indices = cta * self.owned.shape[1] + warp
        warpgroups = (
            indices.reshape(-1, 4) if len(indices) % 4 == 0 and self.owned.shape[1] % 4 == 0 else indices[:, None]
        )
        if is_any(warpgroups != warpgroups[:, :1] // 4 * 4 + np.arange(4)):
            return False
        if is_any(self.change_counts[cta, warp] != self.change_counts[cta[0], warp[0]]):
            return False
        if not self.ignored:
            more = wanted - self.owned[cta, warp]
            each = int(more[0])
            taken = each * np.bincount(cta, minlength=len(self.free))
            if is_any(more != each) or (each > 0) != grows or not each or (grows and is_any(taken > self.free)):
                return False
            self.free -= taken
            self.owned[cta, warp] = wanted
        self.set_registers(cta, warp, wanted)
        return True


def pool_of(group) -> RegisterPool:
    """The register pool of a group's batch, created on first use."""
    memories = group.memories
    if memories.register_pool is None:
        directives = memories.program.entry.directives
        memories.register_pool = RegisterPool(group.geometry, directives, group.options.registers)
    return memories.register_pool


def warps_of(group) -> tuple[np.ndarray, np.ndarray]:
    """(CTA, index in the CTA) of each warp with threads in a group."""
    if (found := group.memo.get("registers")) is None:
        slots, _, _ = group.threads.scattered
        flat = group.flat[np.flatnonzero(run_starts(slots[0]))]
        found = group.memo["registers"] = (
            flat // group.geometry.threads,
            flat % group.geometry.threads // 32,
        )
    return found


@helper
def change_registers(group, ins, wanted: int, grows: bool, after: int):
    """Acquire or release registers; warps that must wait are blocked and retry."""
    pool = pool_of(group)
    cta, warp = warps_of(group)
    if pool.apply_to_warpgroups(cta, warp, wanted, grows=grows):
        served = np.ones(len(cta), bool)
    else:
        served = np.array(
            [apply_change(group.observers, pool, ins, c, w, wanted, grows) for c, w in zip(cta.tolist(), warp.tolist())]
        )
    if not grows:
        group.scheduler.retry_blocked()
    if are_all(served):
        group.pc = after
        return group
    mask = served[group.threads.scattered[0][0]].reshape(group.shape)
    rest = group.split_off(~mask)
    rest.pc = group.pc
    group.scheduler.blocked_groups.append((rest, f"waits for {wanted} registers per thread of the CTA's pool"))
    if is_any(served):
        part = group.split_off(mask)
        part.pc = after
        group.scheduler.push(part)
    return None


def apply_change(observers: Observers, pool, ins, cta: int, warp: int, wanted: int, grows: bool) -> bool:
    """Apply the change of one warp; returns False if the pool has too few registers."""
    if pool.ignored:
        check_warpgroup_agrees(observers, pool, ins, cta, warp, wanted)
        pool.set_registers(cta, warp, wanted)
        return True
    more = wanted - int(pool.owned[cta, warp])
    if more > 0 and not grows or more < 0 and grows and pool.known:
        fault_at(
            observers.geometry, ins, (cta, 32 * warp), f"the warp has {pool.owned[cta, warp]} registers per thread"
        )
    if not more:
        return True
    check_warpgroup_agrees(observers, pool, ins, cta, warp, wanted)
    if more > pool.free[cta]:
        return False
    if more > 0 or not grows:  # else the warp started with fewer registers than the bound
        pool.free[cta] -= more
        pool.owned[cta, warp] = wanted
    pool.set_registers(cta, warp, wanted)
    return True


def check_warpgroup_agrees(observers: Observers, pool, ins, cta: int, warp: int, wanted: int) -> None:
    """Check that the other warps of the warpgroup have made the same changes so far."""
    turn = pool.change_counts[cta, warp]
    for other in range(warp // 4 * 4, min(warp // 4 * 4 + 4, pool.owned.shape[1])):
        theirs = pool.change_counts[cta, other]
        if theirs < turn:
            why = f"warp {other} of the warpgroup has not executed the preceding setmaxnreg"
            observers.findings.report("registers-differ", fault_of(observers.geometry, ins, (cta, 32 * warp), why))
        if theirs > turn and pool.changes[turn][cta, other] != wanted:
            why = f"warp {other} of the warpgroup changes to {pool.changes[turn][cta, other]} registers"
            observers.findings.report("registers-differ", fault_of(observers.geometry, ins, (cta, 32 * warp), why))


@handles("setmaxnreg")
def handle_setmaxnreg(e, ins):
    wanted = ins.args[0].value
    if not MIN_REGISTERS <= wanted <= MAX_REGISTERS or wanted % REGISTER_STEP:
        e.fail(
            f"invalid count {wanted}: expected a multiple of {REGISTER_STEP} from {MIN_REGISTERS} to {MAX_REGISTERS}"
        )
    emit_warp_sync(e)
    return f"return SchedulerEvent({RETRY!r}, change_registers, {e.constant(ins, 'ins')}, {wanted}, {'inc' in ins.mods}, {e.pc + 1})"
