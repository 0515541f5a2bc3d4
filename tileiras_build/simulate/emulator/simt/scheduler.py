"""The scheduler of a batch of CTAs: selects the next group of threads, and handles divergence and events.

A divergent branch splits a group. Groups at the same pc with the same call stack are merged. The scheduler runs the deepest
call first, then the first block in the order of ``weak_topological_order.py``, which reconverges structured code. It prevents
starvation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.error_location import raise_at_instruction
from ..errors import DEADLOCK, TIME_LIMIT, EmulatorError, fault_at
from ..performance_counters import count_run
from . import thread_group
from .geometry import Geometry
from .merge_thread_groups import reconverge
from .thread_group import Divergence, SchedulerEvent, ThreadGroup

if TYPE_CHECKING:
    from ..codegen.function_cache import FunctionCache
    from ..launch import LaunchOptions
    from ..sanitizers.observers import Observers
    from .synchronization_state import Synchronization

MAX_WAIT = 1000  # blocks that other groups run before a ready group runs out of order
MAX_WAIT_WITH_SPINNING = 30  # the same if threads may wait for each other in loops
STARVED_QUANTUM = 40  # blocks that a starved group runs
LIMIT_CHECK_INTERVAL = 16  # blocks between checks of a launch's limits


class Scheduler:
    """The ready and the blocked groups of one batch."""

    sync: Synchronization  # set by CtaBatch

    def __init__(
        self, functions: FunctionCache, geometry: Geometry, observers: Observers, options: LaunchOptions
    ) -> None:
        self.functions, self.program, self.geometry = functions, functions.program, geometry
        self.observers, self.options = observers, options
        self.alive = np.ones(geometry.ctas * geometry.threads, bool)
        self.ready: dict[tuple, list[ThreadGroup]] = {}
        self.clock = self.quantum = 0
        self.max_wait = MAX_WAIT_WITH_SPINNING if self.program.waits else MAX_WAIT
        self.exits = 1
        self.changes = 0  # counts changes of mbarriers, barriers and live threads, for which threads wait
        self.blocked_groups: list[tuple[ThreadGroup, str]] = []  # (group, why), until ``retry_blocked``
        # Groups at a warp-wide instruction that wait for the other threads of their warps.
        self.waiting_for_convergence: dict[tuple, list[ThreadGroup]] = {}

    def are_ctas_alive(self, ctas):
        """Whether CTAs of the batch have threads that have not exited."""
        alive = np.asarray(self.alive.reshape(self.geometry.ctas, -1).any(axis=1))
        return alive[ctas]

    # -- choosing a group ------------------------------------------------------------------------------
    def run(self, group: ThreadGroup) -> None:
        """Run an initial group until all threads have exited."""
        self.push(group)
        while (found := self.next_group()) is not None:
            try:
                self.step(found)
            except EmulatorError:
                raise
            except Exception as error:
                raise_at_instruction(error, self.functions, found)

    def schedule_key(self, group: ThreadGroup) -> tuple:
        """The sort key of a group: the smallest one runs first."""
        return (-len(group.stack), self.program.schedule_order[group.pc], group.stack)

    def push(self, group: ThreadGroup) -> None:
        group.since = self.clock
        key = self.schedule_key(group)
        groups = self.ready.setdefault(key, self.waiting_for_convergence.pop(key, []))
        groups.append(group)

    def next_group(self) -> ThreadGroup | None:
        while not self.ready:
            if self.has_waiters() and self.sync.waits.make_progress():
                continue
            if self.blocked_groups or self.sync.has_waiters():
                self.sync.waits.deadlock()
            if self.waiting_for_convergence:
                group = next(iter(self.waiting_for_convergence.values()))[0]
                self.raise_stuck(group, "the other threads of the warp never reach this warp-wide instruction")
            return None
        self.quantum = 0
        key = min(self.ready) if len(self.ready) > 1 else next(iter(self.ready))
        if len(self.ready) > 1:
            oldest = min(self.ready, key=lambda k: self.ready[k][0].since)
            if self.clock - self.ready[oldest][0].since > self.max_wait:
                key, self.quantum = oldest, STARVED_QUANTUM
        groups = self.ready.pop(key)
        if len(groups) > 1 and self.program.ends_at(groups[0].pc) and not groups[0].stack:
            self.ready[key] = groups[1:]
            return groups[0]
        return groups[0] if len(groups) == 1 else reconverge(groups)

    def has_waiters(self) -> bool:
        return bool(self.waiting_for_convergence or self.blocked_groups or self.sync.has_waiters())

    def retry_blocked(self) -> None:
        """Make blocked groups ready, to retry their instructions."""
        blocked, self.blocked_groups = self.blocked_groups, []
        for group, _ in blocked:
            self.push(group)

    def check_limits(self, group: ThreadGroup) -> None:
        """Raise a fault if the launch exceeds its time or block limit."""
        deadline, most = self.options.deadline, self.options.max_blocks
        if deadline is not None and time.monotonic() > deadline:
            self.raise_stuck(group, "the kernel exceeds its time limit", TIME_LIMIT)
        if most is not None and self.clock > most:
            self.raise_stuck(group, f"the kernel exceeds its limit of {most} basic blocks", TIME_LIMIT)

    def raise_stuck(self, group: ThreadGroup, why: str, kind: str = DEADLOCK) -> None:
        fault_at(self.geometry, self.program.code[group.pc], group.flat[0], why, kind=kind)

    # -- running it ------------------------------------------------------------------------------------
    def step(self, group: ThreadGroup) -> None:
        """Run a group until it diverges, waits, exits or should yield."""
        functions, program, options, codegen = self.functions, self.program, self.options, self.options.codegen
        cache, counters = functions.cache, options.counters
        while True:
            pc = group.pc
            diverged = not group.dense and functions.needs_convergence(pc) and not group.is_converged()
            function = cache.get((pc, diverged, codegen)) or functions.function_at(pc, diverged, codegen)
            if group.parent is not None and function not in group.resolved:
                group.resolve_all(function.loads)
                group.resolved.add(function)
            self.clock += 1
            if self.clock % LIMIT_CHECK_INTERVAL == 0 and options.has_limits:
                self.check_limits(group)
            if counters is not None:
                counters.blocks += 1
                counters.thread_instructions += function.count * group.size
                code = program.code[pc : function.end]
                count_run(counters, code, (program, pc, function.end), group.size)
            result: Any = function(group)
            if type(result) is int:
                group.pc = result
                if self.ready and self.should_yield(group):
                    self.push(group)
                    return
                continue
            if self.handle(group, result) is None:
                return
            if self.ready and self.should_yield(group):
                self.push(group)
                return

    def should_yield(self, group: ThreadGroup) -> bool:
        if self.quantum > 0:
            self.quantum -= 1
            return self.quantum == 0
        key = self.schedule_key(group)
        if any(other <= key for other in self.ready):
            return True
        return self.clock % 64 == 0 and any(self.clock - g[0].since > self.max_wait for g in self.ready.values())

    def handle(self, group: ThreadGroup, result: Divergence | SchedulerEvent) -> ThreadGroup | None:
        """Handle a divergence or an event; returns the group if it can continue, else None."""
        if isinstance(result, Divergence):
            for mask, pc in result.pieces:
                child = group.split_off(np.asarray(mask))
                child.pc = pc
                if child.depth > 6:
                    child.detach()
                self.push(child)
            return None
        return HANDLERS[result.kind](self, group, *result.data)


# -- events --------------------------------------------------------------------------------------------
def handle_call(scheduler: Scheduler, group: ThreadGroup, target: int, after: int) -> ThreadGroup:
    group.stack = (*group.stack, after)
    group.pc = target
    return group


def handle_return(scheduler: Scheduler, group: ThreadGroup) -> ThreadGroup | None:
    if not group.stack:
        handle_exit(scheduler, group)
        return None
    group.pc, group.stack = group.stack[-1], group.stack[:-1]
    return group


def handle_exit(scheduler: Scheduler, group: ThreadGroup) -> None:
    """Exit the threads: complete their copies and release threads that wait for them."""
    sync, racecheck = scheduler.sync, scheduler.observers.racecheck
    group.cp_async_groups.perform_all(group)
    sync.waits.check_exit(group)
    if racecheck is not None:
        racecheck.cluster.exits(group.flat)
    scheduler.alive[group.flat] = False
    scheduler.exits += 1
    sync.waits.check_exited_ctas(group)
    for key, groups in scheduler.waiting_for_convergence.items():
        scheduler.ready.setdefault(key, []).extend(groups)
    scheduler.waiting_for_convergence.clear()
    if sync.barriers.blocked:
        sync.barriers.release()
    sync.clusters.on_threads_exited()


def handle_partial_exit(
    scheduler: Scheduler, group: ThreadGroup, predicate: np.ndarray, event: SchedulerEvent, after: int
) -> None:
    """A predicated ret or exit: some threads leave, the others continue."""
    rest = group.split_off(~predicate)
    rest.pc = after
    scheduler.push(rest)
    leaving = group.split_off(predicate)
    leaving.pc = after
    if scheduler.handle(leaving, event) is not None:
        scheduler.push(leaving)


def handle_barrier(scheduler: Scheduler, group: ThreadGroup, *data) -> ThreadGroup | None:
    return scheduler.sync.barriers.arrive(group, *data)


def handle_cluster_wait(scheduler: Scheduler, group: ThreadGroup, after: int) -> None:
    scheduler.sync.clusters.wait(group, after)


def handle_warp_sync(scheduler: Scheduler, group: ThreadGroup) -> None:
    """Wait at this pc for the other threads of the warps."""
    ready, waiting, key = scheduler.ready, scheduler.waiting_for_convergence, scheduler.schedule_key(group)
    if key in ready:
        ready[key].append(group)
    else:
        here = waiting.pop(key, [])
        here.append(group)
        (ready if len(here) > 1 else waiting)[key] = here


def handle_mbarrier_wait(scheduler: Scheduler, group: ThreadGroup, ready: np.ndarray, positions: np.ndarray) -> None:
    """A failed mbarrier.try_wait: suspend the threads until their phase completes."""
    if not ready.any():
        scheduler.sync.waits.sleep(group, positions)
        return
    rest, part = group.split_off(~ready), group.split_off(ready)
    rest.pc = part.pc = group.pc
    scheduler.sync.waits.sleep(rest, positions)
    scheduler.push(part)


def handle_retry(
    scheduler: Scheduler, group: ThreadGroup, function: Callable[..., ThreadGroup | None], *data
) -> ThreadGroup | None:
    """An instruction that may block: ``function`` returns the group, or None if it has blocked or pushed it."""
    return function(group, *data)


HANDLERS: dict[str, Callable[..., ThreadGroup | None]] = {
    thread_group.CALL: handle_call,
    thread_group.RETURN: handle_return,
    thread_group.EXIT: handle_exit,
    thread_group.PARTIAL_EXIT: handle_partial_exit,
    thread_group.BARRIER: handle_barrier,
    thread_group.CLUSTER_WAIT: handle_cluster_wait,
    thread_group.WARP_SYNC: handle_warp_sync,
    thread_group.MBARRIER_WAIT: handle_mbarrier_wait,
    thread_group.RETRY: handle_retry,
}
