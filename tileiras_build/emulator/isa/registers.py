"""setmaxnreg: warpgroups trade registers of their CTA's pool (PTX ISA 9.0, section 9.7.19.5).

The pool holds what the CTA was launched with: threads times .maxnreg, or without it the most that .minnctapersm CTAs of
this size can have of an SM's 64 Ki registers.
"""

from __future__ import annotations

import numpy as np

from ..faults import EmulatorFault
from . import GROUP_WIDE, WARP_WIDE, handles, helper
from .wgmma import GROUP, gather_warpgroup

SM_REGISTERS = 65536
LEAST, MOST, STEP = 24, 256, 8
GROUP_WIDE.add("setmaxnreg")
WARP_WIDE.add("setmaxnreg")


class RegisterPool:
    """Registers per thread of each warpgroup of each CTA, and what is left in the CTA's pool."""

    def __init__(self, machine):
        directives = machine.program.entry.directives
        fixed = directives.get("maxnreg")
        share = SM_REGISTERS // (machine.threads * directives.get("minnctapersm", (1,))[0]) // STEP * STEP
        each = fixed[0] if fixed else min(share, 255 // STEP * STEP)
        self.owned = np.full((machine.ctas, -(-machine.threads // GROUP)), each)
        self.free = np.zeros(machine.ctas, np.int64)  # in units of a register of every thread of a warpgroup


def pool_of(machine) -> RegisterPool:
    found = machine.__dict__.get("registers")
    if found is None:
        found = machine.registers = RegisterPool(machine)
    return found


@helper
def change_registers(group, ins, wanted: int, grows: bool, after: int):
    """Take or release registers; warpgroups that have to wait are parked and try again."""
    machine, pool = group.m, pool_of(group.m)
    leaders = group.flat[::GROUP]
    cta, which = leaders // machine.threads, leaders % machine.threads // GROUP
    more = wanted - pool.owned[cta, which]
    if (more < 0).any() if grows else (more > 0).any():
        bad = int(np.flatnonzero(more < 0 if grows else more > 0)[0])
        fault(machine, ins, leaders[bad], f"the warpgroup has {pool.owned[cta[bad], which[bad]]} registers per thread")
    served = np.array([serve(pool, c, w, wanted, m) for c, w, m in zip(cta, which, more)])
    if not grows:
        machine.unpark()
    if served.all():
        group.pc = after
        return group
    mask = np.repeat(served, GROUP).reshape(group.shape)
    rest = group.take(~mask)
    rest.pc = group.pc
    machine.parked.append((rest, f"waits for {wanted} registers per thread of the CTA's pool"))
    if served.any():
        part = group.take(mask)
        part.pc = after
        machine.push(part)
    return None


def serve(pool, cta: int, which: int, wanted: int, more: int) -> bool:
    if more > pool.free[cta]:
        return False
    pool.free[cta] -= more
    pool.owned[cta, which] = wanted
    return True


def fault(machine, ins, flat, why: str) -> None:
    cta, tid = divmod(int(flat), machine.threads)
    thread = machine.thread_name(cta, tid)
    raise EmulatorFault(why, instruction=ins.text, line=ins.line, thread=thread)


@handles("setmaxnreg")
def handle_setmaxnreg(e, ins):
    wanted = ins.args[0].value
    if not LEAST <= wanted <= MOST or wanted % STEP:
        e.fail(f"{wanted} registers: a multiple of {STEP} from {LEAST} to {MOST} is possible")
    gather_warpgroup(e)
    return f"return Event('run', change_registers, {e.constant(ins, 'ins')}, {wanted}, {'inc' in ins.mods}, {e.pc + 1})"
