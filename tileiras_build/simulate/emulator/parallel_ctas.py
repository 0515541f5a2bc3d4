"""One launch by several processes, each of which takes batches of its CTAs (``launch(…, jobs=N)``).

The processes are forks. What is mapped is copied to memory that they share, and what has changed there is copied back:
a region is seen through ``Region.move``, at its own addresses. Batches are handed out in order, through a pipe, to whoever
is free, the launching process among them. The numbers are those of one process, for CTAs that may see nothing of each other
(``single_process_reason``). Where something goes wrong, or is found, nothing is copied back: it is for one process to say. ``process_count.py``
says how many processes there are.
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

if TYPE_CHECKING:
    from .launch import LaunchOptions
    from .ptx.program import Program

COMPARE_BYTES = 1 << 20  # bytes at a time, of what may have changed
BATCH_NUMBER = struct.Struct("=q")
PIPE_BATCHES = 4096  # that a pipe holds for certain (pipe(7): 64 KiB)
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


# -- which programs ----------------------------------------------------------------------------------
def single_process_reason(program: Program) -> str | None:
    """Why one process has to run all CTAs of a kernel, in one sentence; None where several may."""
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
        lambda ins: ins.op in ("atom", "red") and not _is_in_cluster_shared(ins),
        "its CTAs meet in atomic operations on global memory",
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
    (lambda ins: ins.op == "clusterlaunchcontrol", "its CTAs take over each other's work"),
    (
        lambda ins: (
            ins.op == "call" and any(isinstance(arg, Name) and arg.name in ORDERED_SYSTEM_CALLS for arg in ins.args)
        ),
        "its CTAs print or allocate memory, one after another",
    ),
)


# -- memory ------------------------------------------------------------------------------------------
@contextlib.contextmanager
def shared_by_processes(memory: Memory) -> Iterator[list[_SharedCopy]]:
    """Inside, what is mapped is in copies that forks share."""
    twins: list[_SharedCopy] = []
    try:
        for region in memory.regions:
            twins.append(_SharedCopy(region))
        yield twins
    finally:
        for twin in twins:
            twin.region.move(None)


class _SharedCopy:
    """A region's bytes in memory that forks share."""

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
        """Let the region have what has changed: arrays that are only read may be in memory that cannot be written."""
        for start in range(0, len(self.own), COMPARE_BYTES):
            part = slice(start, start + COMPARE_BYTES)
            if not np.array_equal(self.own[part], self.copy[part]):
                self.own[part] = self.copy[part]


# -- processes ---------------------------------------------------------------------------------------
@dataclass
class Outcome:
    """What a process has to say: whether its CTAs ran without a fault or a finding, their counts, and the first CTA and the
    fault of a batch that the time limit has ended."""

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
    """``run(first, count, options)`` for every batch, by ``jobs`` processes; whether all have run, with nothing to say.

    If not, memory is as it was: one process has to run them all, whose fault and findings are then those of any launch.
    Raises the EmulatorFault of the first batch that the time limit ends.
    """
    with contextlib.ExitStack() as stack:
        try:
            twins = stack.enter_context(shared_by_processes(memory))
        except (OSError, MemoryError):  # no room for copies
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
        with contextlib.suppress(OSError):  # no more processes: there are as many as there are
            for _ in range(jobs - 1):
                workers.append(_Worker(run, batches, tickets, options))
        own = _take_batches(run, batches, tickets, options)
        return [own, *(worker.outcome() for worker in workers)]
    finally:
        for worker in workers:
            worker.end()
        tickets.close()


def _take_batches(run, batches: list[tuple[int, int]], tickets: _BatchQueue, options: LaunchOptions) -> Outcome:
    """Run batches while there are any; after one that fails, or finds something, nobody starts another one."""
    counters = None if options.counters is None else type(options.counters)()
    options = replace(options, counters=counters, findings=options.findings.warnings_as_faults())
    while numbers := tickets.take():
        for number in numbers:
            try:
                run(*batches[number], options)
            except Exception as error:
                tickets.drain()
                if isinstance(error, EmulatorFault) and error.kind == TIME_LIMIT:
                    return Outcome(False, fault_after_exit=(number, error))
                return Outcome(False)
    return Outcome(True, counters)


class _BatchQueue:
    """The numbers of the batches, in a pipe: each process takes the next ones."""

    def __init__(self, count: int):
        self.count, self.each = count, -(-count // PIPE_BATCHES)
        self.reading, writing = os.pipe()
        try:
            os.write(writing, b"".join(map(BATCH_NUMBER.pack, range(0, count, self.each))))
        finally:
            os.close(writing)

    def take(self) -> range:
        """The numbers of the next batches; none when all have been taken."""
        data = os.read(self.reading, BATCH_NUMBER.size)
        first = BATCH_NUMBER.unpack(data)[0] if data else self.count
        return range(first, min(first + self.each, self.count))

    def drain(self) -> None:
        while os.read(self.reading, BATCH_NUMBER.size * PIPE_BATCHES):
            pass

    def close(self) -> None:
        os.close(self.reading)


class _Worker:
    """A fork that takes batches; its outcome comes through a pipe."""

    def __init__(self, run, batches: list[tuple[int, int]], tickets: _BatchQueue, options: LaunchOptions):
        self.reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, libraries' too: a fork runs none, nor takes their locks
            self.pid = os.fork()
        self.ended = False
        if self.pid == 0:
            _work(run, batches, tickets, options, writing)
        os.close(writing)

    def outcome(self) -> Outcome:
        """Wait for the end; a process that was killed has not run its CTAs."""
        with os.fdopen(os.dup(self.reading), "rb") as pipe:
            data = pipe.read()
        self.wait()
        return pickle.loads(data) if data else Outcome(False)  # our own fork's

    def wait(self) -> None:
        os.waitpid(self.pid, 0)
        self.ended = True

    def end(self) -> None:
        """Leave nothing behind, whatever has happened."""
        os.close(self.reading)
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


def _work(run, batches: list[tuple[int, int]], tickets: _BatchQueue, options: LaunchOptions, writing: int) -> None:
    """The life of a fork: it runs batches, says how that went, and ends without the parent's exit handlers."""
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
    gc.freeze()  # garbage of the parent's is the parent's to end
