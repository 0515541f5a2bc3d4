"""Runs the CTAs of one launch in several processes (``launch(…, jobs=N)``).

The processes are forks. Mapped regions are copied to shared memory, which ``Region.move`` shows at the original addresses,
and changes are copied back. A pipe distributes the batches in order to idle processes, including the launching one. The
results equal those of one process, because such CTAs do not communicate (``single_process_reason``). After a fault or a
finding, nothing is copied back: one process repeats the launch and reports it. ``process_count.py`` chooses the number of
processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import os
import pickle
import signal
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .errors import TIME_LIMIT, EmulatorFault
from .isa.system_calls import ORDERED_SYSTEM_CALLS
from .memory.address_space import Memory, Region
from .performance_counters import Counters
from .ptx.ast import Instruction, Name
from .ptx.program import Program

if TYPE_CHECKING:
    from .launch import LaunchOptions

COMPARE_BYTES = 1 << 20  # bytes compared per step
BATCH_NUMBER = struct.Struct("=q")
PIPE_BATCHES = 4096  # batches that fit into a pipe (pipe(7): 64 KiB)
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


# -- which programs ----------------------------------------------------------------------------------
def single_process_reason(program: Program) -> str | None:
    """The reason why one process must run all CTAs of a kernel, or None if several may."""
    for ins in program.code:
        for found, why in _SINGLE_PROCESS_RULES:
            if found(ins):
                return f"{why} (line {ins.line}: {ins.text})"
    return None


def _is_in_cluster_shared(ins: Instruction) -> bool:
    """Whether an access stays in the shared memory of a cluster."""
    return any(mod.startswith("shared") for mod in ins.mods)


_SINGLE_PROCESS_RULES: tuple[tuple[Callable[[Instruction], bool], str], ...] = (
    (
        lambda ins: ins.op in ("atom", "red", "multimem") and not _is_in_cluster_shared(ins),
        "its CTAs communicate by atomic operations on global memory",
    ),
    (
        lambda ins: (
            ins.op == "ld"
            and bool({"acquire", "volatile", "relaxed"} & set(ins.mods))
            and not _is_in_cluster_shared(ins)
        ),
        "its CTAs may wait for each other's stores",
    ),
    (
        lambda ins: ins.op == "cp" and ins.mods[:1] == ("reduce",) and "global" in ins.mods,
        "its CTAs reduce into global memory",
    ),
    (lambda ins: ins.op == "clusterlaunchcontrol", "its CTAs cancel each other"),
    (
        lambda ins: (
            ins.op == "call" and any(isinstance(arg, Name) and arg.name in ORDERED_SYSTEM_CALLS for arg in ins.args)
        ),
        "its CTAs print or allocate memory in order",
    ),
)


# -- memory ------------------------------------------------------------------------------------------
@contextlib.contextmanager
def shared_by_processes(memory: Memory) -> Iterator[list[_SharedCopy]]:
    """Move all mapped regions to copies that forks share, inside the context."""
    twins: list[_SharedCopy] = []
    try:
        for region in memory.regions:
            twins.append(_SharedCopy(region))
        yield twins
    finally:
        for twin in twins:
            twin.region.move(None)


class _SharedCopy:
    """A copy of a region in memory that forks share."""

    def __init__(self, region: Region):
        self.region = region
        self.own = region.bytes()
        self.buffer = mmap.mmap(
            -1, region.end + COMPARE_BYTES
        )  # anonymous and shared; views may end on a multiple of 64
        self.held = (ctypes.c_uint8 * region.end).from_buffer(self.buffer)
        self.copy = np.frombuffer(self.held, np.uint8)[region.pad :]
        self.copy[:] = self.own
        region.move(ctypes.addressof(self.held))

    def copy_back(self) -> None:
        """Copy changed bytes back to the region. Unchanged bytes are skipped, because the memory may be read-only."""
        for start in range(0, len(self.own), COMPARE_BYTES):
            part = slice(start, start + COMPARE_BYTES)
            if not np.array_equal(self.own[part], self.copy[part]):
                self.own[part] = self.copy[part]


# -- processes ---------------------------------------------------------------------------------------
@dataclass
class Outcome:
    """The outcome of a process: whether its CTAs ran without faults and findings, their counters, and the first CTA and the
    fault of a batch that exceeded the time limit."""

    ran: bool
    counters: Counters | None = None
    fault_after_exit: tuple[int, EmulatorFault] | None = None


def run_batches(
    run: Callable[[int, int, LaunchOptions], None],
    batches: list[tuple[int, int]],
    jobs: int,
    memory: Memory,
    options: LaunchOptions,
) -> bool:
    """Call ``run(first, count, options)`` for every batch in ``jobs`` processes; returns whether all ran without faults and findings.

    If not, memory is unchanged, and one process must repeat the launch to report them. Raises the EmulatorFault of the first
    batch that exceeds the time limit.
    """
    with contextlib.ExitStack() as stack:
        try:
            twins = stack.enter_context(shared_by_processes(memory))
        except (OSError, MemoryError):  # not enough memory for copies
            return False
        outcomes = _outcomes(run, batches, jobs, options)
        late = min(
            (outcome.fault_after_exit for outcome in outcomes if outcome.fault_after_exit),
            default=None,
            key=lambda found: found[0],
        )
        if late is not None:
            raise late[1]
        if not all(outcome.ran for outcome in outcomes):
            return False
        for twin in twins:
            twin.copy_back()
    for outcome in outcomes:
        if options.counters is not None and outcome.counters is not None:
            options.counters.add(outcome.counters)
    return True


def _outcomes(run, batches: list[tuple[int, int]], jobs: int, options: LaunchOptions) -> list[Outcome]:
    tickets = _BatchQueue(len(batches))
    workers: list[_Worker] = []
    try:
        with contextlib.suppress(OSError):  # continue with the processes created so far
            for _ in range(jobs - 1):
                workers.append(_Worker(run, batches, tickets, options))
        own = _take_batches(run, batches, tickets, options)
        return [own, *(worker.outcome() for worker in workers)]
    finally:
        for worker in workers:
            worker.end()
        tickets.close()


def _take_batches(run, batches: list[tuple[int, int]], tickets: _BatchQueue, options: LaunchOptions) -> Outcome:
    """Run batches until none are left; after a fault or a finding, no process starts another batch."""
    counters = None if options.counters is None else type(options.counters)()
    options = replace(options, counters=counters, findings=options.findings.warnings_as_faults())
    while indices := tickets.take():
        for number in indices:
            try:
                run(*batches[number], options)
            except Exception as error:
                tickets.drain()
                if isinstance(error, EmulatorFault) and error.kind == TIME_LIMIT:
                    return Outcome(False, fault_after_exit=(number, error))
                return Outcome(False)
    return Outcome(True, counters)


class _BatchQueue:
    """A queue of batch indices in a pipe, shared by the processes."""

    def __init__(self, count: int):
        self.count, self.each = count, -(-count // PIPE_BATCHES)
        self.reading, writing = os.pipe()
        try:
            os.write(writing, b"".join(map(BATCH_NUMBER.pack, range(0, count, self.each))))
        finally:
            os.close(writing)

    def take(self) -> range:
        """Take the next batch indices; empty if none are left."""
        data = os.read(self.reading, BATCH_NUMBER.size)
        first = BATCH_NUMBER.unpack(data)[0] if data else self.count
        return range(first, min(first + self.each, self.count))

    def drain(self) -> None:
        while os.read(self.reading, BATCH_NUMBER.size * PIPE_BATCHES):
            pass

    def close(self) -> None:
        os.close(self.reading)


class _Worker:
    """A fork that runs batches and returns its outcome through a pipe."""

    def __init__(self, run, batches: list[tuple[int, int]], tickets: _BatchQueue, options: LaunchOptions):
        self.reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads: the fork uses no threads and no locks of theirs
            self.pid = os.fork()
        self.ended = False
        if self.pid == 0:
            _work(run, batches, tickets, options, writing)
        os.close(writing)

    def outcome(self) -> Outcome:
        """Wait for the outcome; a killed process counts as failed."""
        with os.fdopen(os.dup(self.reading), "rb") as pipe:
            data = pipe.read()
        self.wait()
        return pickle.loads(data) if data else Outcome(False)  # trusted: from our own fork

    def wait(self) -> None:
        os.waitpid(self.pid, 0)
        self.ended = True

    def end(self) -> None:
        """Release all resources in any state."""
        os.close(self.reading)
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


def _work(run, batches: list[tuple[int, int]], tickets: _BatchQueue, options: LaunchOptions, writing: int) -> None:
    """The main function of a fork: run batches, send the outcome, exit without the parent's exit handlers."""
    status = 1
    try:
        _prepare_child()
        outcome = _take_batches(run, batches, tickets, options)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(outcome))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _prepare_child() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    gc.freeze()  # finalizers of the parent's garbage must not run here
