"""Barriers and fences (PTX ISA 9.0, section 9.7.13)."""

from __future__ import annotations

from ..sanitizers.vector_clocks import CLUSTER_OR_WIDER
from ..simt.thread_group import BARRIER, CLUSTER_WAIT
from .handler_registry import handles, helper


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
    return f"return SchedulerEvent({BARRIER!r}, {barrier}, {count}, {red!r}, {predicate}, {waits}, {e.pc + 1})"


@handles("_barrier_result")
def handle_barrier_result(e, ins):
    if "popc" in ins.mods:
        return e.set(ins.args[0], "u32", "np.asarray(g.barrier_value).astype(u32)")
    e.set(ins.args[0], "p", "np.asarray(g.barrier_value).astype(p)")


def warp_barrier(e, ins):
    if e.diverged:
        e.line(f"wait = g.require_convergence({e.use(ins.args[0], 'u32')})")
        e.line("if wait is not None: return wait")
    e.line("if g.observers.racecheck is not None: g.observers.racecheck.clocks.warp_barrier(g)")


def cluster_barrier(e, ins):
    if "wait" in ins.mods:
        return f"return SchedulerEvent({CLUSTER_WAIT!r}, {e.pc + 1})"
    e.line(f"cluster_arrive({e.constant(ins, 'ins')}, g, {e.predicate or 'None'})")


@helper
def cluster_arrive(ins, group, mask):
    group.sync.clusters.arrive(ins, group.flat if mask is None else group.flat[group.full(mask)])


@handles("membar", "fence")
def handle_fence(e, ins):
    """The emulator executes memory operations in order, so fences only matter to racecheck."""
    if (call := fence_effects(ins)) is not None:
        flat = "g.flat" if e.predicate is None else f"g.flat[g.full({e.predicate})]"
        e.line(f"if g.observers.racecheck is not None: g.observers.racecheck.{call.format(flat)}")


def fence_effects(ins) -> str | None:
    """The call of racecheck for a fence, if any."""
    if "proxy" in ins.mods:
        return "clocks.proxy_fence({})" if "async" in ins.mods and "global" not in ins.mods else None
    if "mbarrier_init" in ins.mods:
        return "mbarriers.init_fence({})"
    return f"clocks.memory_fence({{}}, {ins.mods})" if not CLUSTER_OR_WIDER.isdisjoint(ins.mods) else None
