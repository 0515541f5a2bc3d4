"""Runs a program over a batch of CTAs: memories, divergence, and the scheduler.

A branch on which the threads of a group disagree splits the group. Groups that stand at the same pc with the same call
stack are merged again. The scheduler runs the deepest call, then the first place in the order of ``turns.py``, which reconverges
structured code, and lets no group starve.
"""

from __future__ import annotations

import time

import numpy as np

from ..errors import DEADLOCK, TIME_LIMIT, EmulatorError, EmulatorFault, name_internal_errors
from ..memory.cta_memories import CtaMemories
from ..performance_counters import count_run
from ..printf_output import PrintfOutput
from ..sanitizers.observers import Observers
from .cta_barriers import CtaBarriers
from .cta_clusters import Clusters
from .geometry import Geometry
from .mbarrier_waits import MbarrierWaits
from .reconvergence import reconverge
from .thread_group import Divergence, ThreadGroup
from .thread_sets import thread_set_cache

MAX_WAIT = 1000  # blocks run by others before a waiting group gets a turn out of order
MAX_WAIT_WITH_SPINNING = 30  # the same where threads may wait for each other in loops
STARVED_QUANTUM = 40  # blocks of such a turn
LIMIT_CHECK_INTERVAL = 16  # blocks between two looks at the limits of a launch that has any


class CtaBatch:
    """One batch of CTAs. ``first`` is the linear index of its first CTA in the grid."""

    def __init__(
        self, program, grid, block, first: int, ctas: int, params: np.ndarray, memory, dynamic_shared: int, options
    ):
        self.program, self.options = program, options
        self.geometry = Geometry(tuple(grid), tuple(block), tuple(program.cluster), first, ctas)
        self.alive = np.ones(ctas * self.geometry.threads, bool)
        self.clusters = Clusters(self)
        self.memories = CtaMemories(program, self.geometry, params, memory, dynamic_shared)
        self.observers = Observers(program, self.geometry, self.memories, options)
        self.ready: dict[tuple, list[ThreadGroup]] = {}
        self.barriers = CtaBarriers(self)
        self.clock = 0
        self.max_wait = MAX_WAIT_WITH_SPINNING if program.waits else MAX_WAIT
        self.exits = 1
        self.blocked_groups: list = []  # (group, why): groups that an instruction has stopped until ``unpark``
        self.waiting_for_convergence: dict[
            tuple, list[ThreadGroup]
        ] = {}  # groups that wait for warp mates at a warp-wide instruction
        self.waits = MbarrierWaits(self)
        self.prints = PrintfOutput()

    def special(self, group: ThreadGroup, name: str):
        maker = self.options.specials.get(name)
        if maker is None:
            raise EmulatorError(f"the emulator has no special register %{name}")
        return maker(self, group)

    def are_ctas_alive(self, ctas):
        """Whether CTAs of the batch have threads that have not exited."""
        return self.alive.reshape(self.geometry.ctas, -1).any(axis=1)[ctas]

    # -- scheduling ----------------------------------------------------------------------------------
    def run(self):
        program = self.program
        family = thread_set_cache(
            (
                program,
                self.geometry.grid,
                self.geometry.block,
                self.geometry.first,
                self.geometry.ctas,
                self.memories.dynamic_shared,
            )
        )
        threads = family.of(
            np.arange(self.geometry.ctas)[:, None], np.arange(self.geometry.threads)[None], self.geometry.threads
        )
        group = ThreadGroup(self, threads.cta, threads.tid, list(program.register_template), threads=threads)
        group.pc = program.starts[program.entry.name]
        self.push(group)
        while True:
            found = self.next_group()
            if found is None:
                return self.finish()
            try:
                self.step(found)
            except EmulatorError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it is renamed and raised again
                self.raise_at_instruction(error, found)

    def finish(self):
        """All threads have exited: nothing of theirs may be in flight or held."""
        self.memories.finish()

    def raise_at_instruction(self, error: Exception, group: ThreadGroup):
        """Name the PTX instruction of an unexpected Python error inside generated code."""
        traceback, found = error.__traceback__, None
        while traceback is not None:
            name = traceback.tb_frame.f_code.co_filename
            if name.startswith("<ptx "):
                found = (int(name[:-1].rsplit(":", 1)[1]), traceback.tb_lineno)
            traceback = traceback.tb_next
        if found is None:
            ins = self.program.code[min(group.pc, len(self.program.code) - 1)]
            with name_internal_errors(f"at line {ins.line}: {ins.text}"):
                raise error
        for (pc, _, _), function in self.program.cache.items():
            if pc == found[0] and found[1] <= len(function.origin):
                ins = self.program.code[function.origin[found[1] - 1]]
                with name_internal_errors(f"at line {ins.line}: {ins.text}"):
                    raise error
        raise error

    def schedule_key(self, group: ThreadGroup) -> tuple:
        """Where a group stands: the least is whose turn it is."""
        return (-len(group.stack), self.program.schedule_order[group.pc], group.stack)

    def push(self, group: ThreadGroup):
        group.since = self.clock
        key = self.schedule_key(group)
        groups = self.ready.setdefault(key, self.waiting_for_convergence.pop(key, []))
        groups.append(group)

    def next_group(self) -> ThreadGroup | None:
        while not self.ready:
            if self.has_waiters() and self.waits.make_progress():
                continue
            if self.barriers.blocked or self.waits.sleepers or self.blocked_groups or self.clusters.blocked:
                self.waits.deadlock()
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
        return groups[0] if len(groups) == 1 else reconverge(self, groups)

    def has_waiters(self) -> bool:
        return bool(
            self.barriers.blocked
            or self.waiting_for_convergence
            or self.blocked_groups
            or self.waits.sleepers
            or self.clusters.blocked
        )

    def check_limits(self, group: ThreadGroup) -> None:
        """Fault where the launch has run for longer than it may."""
        deadline, most = self.options.deadline, self.options.max_blocks
        if deadline is not None and time.monotonic() > deadline:
            self.raise_stuck(group, "the kernel still runs at its time limit", TIME_LIMIT)
        if most is not None and self.clock > most:
            self.raise_stuck(group, f"the kernel still runs after {most} blocks of instructions", TIME_LIMIT)

    def step(self, group: ThreadGroup):
        """Run a group until it splits, waits, ends, or should give way."""
        program, options, codegen = self.program, self.options, self.options.codegen
        cache, counters = program.cache, options.counters
        while True:
            pc = group.pc
            fine = not group.dense and program.needs_convergence(pc) and not group.is_converged()
            function = cache.get((pc, fine, codegen)) or program.function_at(pc, fine, codegen)
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
            result = function(group)
            if type(result) is int:
                group.pc = result
                if self.ready and self.should_yield(group):
                    self.push(group)
                    return
                continue
            result = self.handle(group, result)
            if result is None:
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

    def handle(self, group: ThreadGroup, result):
        """Act on a Divergence or SchedulerEvent. Returns the group if it may go on, else None."""
        if type(result) is Divergence:
            for mask, pc in result.pieces:
                child = group.split_off(np.asarray(mask))
                child.pc = pc
                if child.depth > 6:
                    child.detach()
                self.push(child)
            return None
        return getattr(self, f"on_{result.kind}")(group, *result.data)

    def on_retry(self, group: ThreadGroup, function, *data):
        """An instruction that may stop its group: ``function`` returns the group, or None if it has parked or pushed it."""
        return function(group, *data)

    def retry_blocked(self):
        """Parked groups try their instruction again."""
        parked, self.blocked_groups = self.blocked_groups, []
        for group, _ in parked:
            self.push(group)

    def on_call(self, group: ThreadGroup, target: int, after: int):
        group.stack = (*group.stack, after)
        group.pc = target
        return group

    def on_return(self, group: ThreadGroup):
        if not group.stack:
            return self.on_exit(group)
        group.pc, group.stack = group.stack[-1], group.stack[:-1]
        return group

    def on_partial_exit(self, group: ThreadGroup, predicate, event, after: int):
        """A predicated ret or exit: some threads leave, the rest goes on."""
        rest = group.split_off(~predicate)
        rest.pc = after
        self.push(rest)
        leaving = group.split_off(predicate)
        leaving.pc = after
        leaving = self.handle(leaving, event)
        if leaving is not None:
            self.push(leaving)

    def on_barrier(self, group: ThreadGroup, *data):
        return self.barriers.arrive(group, *data)

    def on_exit(self, group: ThreadGroup):
        group.cp_async_groups.perform_all(self)
        self.waits.check_exit(group)
        if self.observers.racecheck is not None:
            self.observers.racecheck.exits(group.flat)
        self.alive[group.flat] = False
        self.exits += 1
        self.waits.check_gone(group)
        for key, groups in self.waiting_for_convergence.items():  # an exited thread is no longer waited for
            self.ready.setdefault(key, []).extend(groups)
        self.waiting_for_convergence.clear()
        if self.barriers.blocked:
            self.barriers.release()
        self.clusters.on_threads_exited()

    def on_warp_sync(self, group: ThreadGroup):
        """Wait, at this pc, for the other threads of the warps."""
        key = self.schedule_key(group)
        if key in self.ready:
            self.ready[key].append(group)
        else:
            here = self.waiting_for_convergence.pop(key, [])
            here.append(group)
            (self.ready if len(here) > 1 else self.waiting_for_convergence)[key] = here

    def raise_stuck(self, group: ThreadGroup, why: str, kind: str = DEADLOCK):
        ins = self.program.code[group.pc]
        thread = self.geometry.thread_at(group.flat[0])
        raise EmulatorFault(why, instruction=ins.text, line=ins.line, thread=thread, kind=kind)

    def on_cluster_wait(self, group: ThreadGroup, after: int):
        self.clusters.wait(group, after)

    def on_mbarrier_wait(self, group: ThreadGroup, ready, positions):
        """A failed mbarrier.try_wait: the threads that have not got their phase sleep until it completes."""
        if not ready.any():
            self.waits.sleep(group, positions)
            return
        rest, part = group.split_off(~ready), group.split_off(ready)
        rest.pc = part.pc = group.pc
        self.waits.sleep(rest, positions)
        self.push(part)
