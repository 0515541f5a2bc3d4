"""One launch by several processes, each of which takes batches of its CTAs (``launch(…, jobs=N)``).

The processes are forks. What is mapped is copied to memory that they share, and what has changed there is copied back:
a region is seen through ``Region.move``, at its own addresses. Batches are handed out in order, through a pipe, to whoever
is free, the launching process among them. The numbers are those of one process, for CTAs that may see nothing of each other
(``why_alone``). Of several faults the one of the first batch is raised.
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
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .faults import EmulatorError
from .isa.builtin import ORDERED_CALLS
from .memory import Counters, Memory, Region
from .syntax import Instruction, Name

if TYPE_CHECKING:
    from .launch import Options
    from .program import Program

PIECES = 4  # batches for each process: some take longer than others
LEAST_THREADS = 1024  # of a batch made smaller for that: NumPy's overhead is the same for one thread and for a thousand
WORTH = 0.05  # seconds of a launch from which a fork pays
COMPARED = 1 << 20  # bytes at a time, of what may have changed
TICKET = struct.Struct("=q")
TICKETS = 4096  # that a pipe holds for certain (pipe(7): 64 KiB)
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


# -- which programs ----------------------------------------------------------------------------------
def why_alone(program: Program) -> str | None:
    """Why one process has to run all CTAs of a kernel, in one sentence; None where several may."""
    for ins in program.code:
        for found, why in _TOGETHER:
            if found(ins):
                return f"{why} (line {ins.line}: {ins.text})"
    return None


def _own(ins: Instruction) -> bool:
    """Whether an access stays in the shared memory of a cluster."""
    return any(mod.startswith("shared") for mod in ins.mods)


_TOGETHER: tuple[tuple[Callable[[Instruction], bool], str], ...] = (
    (lambda ins: ins.op in ("atom", "red") and not _own(ins), "its CTAs meet in atomic operations on global memory"),
    (
        lambda ins: ins.op == "ld" and bool({"acquire", "volatile", "relaxed"} & set(ins.mods)) and not _own(ins),
        "its CTAs may wait for each other's stores",
    ),
    (
        lambda ins: ins.op == "cp" and ins.mods[:1] == ("reduce",) and "global" in ins.mods,
        "its CTAs reduce into global memory",
    ),
    (lambda ins: ins.op == "clusterlaunchcontrol", "its CTAs take over each other's work"),
    (
        lambda ins: ins.op == "call" and any(isinstance(arg, Name) and arg.name in ORDERED_CALLS for arg in ins.args),
        "its CTAs print or allocate memory, one after another",
    ),
)


def processes_for(program: Program, jobs: int, ctas: int) -> int:
    """How many processes a launch of so many CTAs should have, of at most ``jobs``."""
    jobs = min(jobs, ctas // program.cluster_size)
    if jobs < 2 or not hasattr(os, "fork") or program.seconds_per_cta * ctas < WORTH or why_alone(program):
        return 1
    return jobs


def smaller_batches(size: int, ctas: int, threads: int, jobs: int) -> int:
    """CTAs of a batch, at most ``size``, where ``jobs`` processes share ``ctas`` of them."""
    pieces = max(-(-ctas // (PIECES * jobs)), -(-LEAST_THREADS // threads))
    return min(size, pieces, -(-ctas // jobs))


# -- memory ------------------------------------------------------------------------------------------
@contextlib.contextmanager
def shared_by_processes(memory: Memory) -> Iterator[None]:
    """Inside, forks share what is mapped; at the end what has changed is in its own place."""
    twins: list[_Twin] = []
    try:
        for region in memory.regions:
            twins.append(_Twin(region))
        yield
    finally:
        for twin in twins:
            twin.end()


class _Twin:
    """A region's bytes in memory that forks share."""

    def __init__(self, region: Region):
        self.region = region
        self.own = region.bytes()
        self.buffer = mmap.mmap(-1, region.end + COMPARED)  # anonymous and shared; views may end on a multiple of 64
        self.held = (ctypes.c_uint8 * region.end).from_buffer(self.buffer)
        self.copy = np.ctypeslib.as_array(self.held)[region.pad :]
        self.copy[:] = self.own
        region.move(ctypes.addressof(self.held))

    def end(self) -> None:
        """Copy back what has changed: arrays that are only read may be in memory that cannot be written."""
        self.region.move(None)
        for start in range(0, len(self.own), COMPARED):
            part = slice(start, start + COMPARED)
            if not np.array_equal(self.own[part], self.copy[part]):
                self.own[part] = self.copy[part]


# -- processes ---------------------------------------------------------------------------------------
@dataclass
class Outcome:
    """What a process has to say: counts, findings that it warns of, and the fault that ended it, with its first CTA."""

    counters: Counters | None = None
    noted: dict[tuple, str] | None = None
    fault: BaseException | None = None
    first: int = 0


def run_batches(
    run: Callable[[int, int, Options], None],
    batches: list[tuple[int, int]],
    jobs: int,
    memory: Memory,
    options: Options,
) -> None:
    """``run(first, count, options)`` for every batch, by ``jobs`` processes; raises the first batch's fault."""
    tickets = _Tickets(len(batches))
    with shared_by_processes(memory):
        workers = []
        try:
            with contextlib.suppress(BlockingIOError):  # no more processes: there are as many as there are
                for _ in range(jobs - 1):
                    workers.append(_Worker(run, batches, tickets, options))
            own = _take_batches(run, batches, tickets, options, EmulatorError)
            outcomes = [own, *(worker.outcome() for worker in workers)]
        finally:
            for worker in workers:
                worker.end()
            tickets.close()
    for outcome in outcomes[1:]:
        _take_over(options, outcome)
    faults = {outcome.first: outcome.fault for outcome in outcomes if outcome.fault is not None}
    if faults:
        raise faults[min(faults)]


def _take_over(options: Options, outcome: Outcome) -> None:
    if options.counters is not None and outcome.counters is not None:
        options.counters.add(outcome.counters)
    for key, text in (outcome.noted or {}).items():
        options.findings.warn(key, text)


def _take_batches(
    run, batches: list[tuple[int, int]], tickets: _Tickets, options: Options, faults: type[Exception]
) -> Outcome:
    """Run batches while there are any; after one of ``faults`` nobody starts another one."""
    while numbers := tickets.take():
        for number in numbers:
            try:
                run(*batches[number], options)
            except faults as error:
                tickets.drain()
                return Outcome(fault=error, first=batches[number][0])
    return Outcome()


class _Tickets:
    """The numbers of the batches, in a pipe: each process takes the next ones."""

    def __init__(self, count: int):
        self.count, self.each = count, -(-count // TICKETS)
        self.reading, writing = os.pipe()
        try:
            os.write(writing, b"".join(map(TICKET.pack, range(0, count, self.each))))
        finally:
            os.close(writing)

    def take(self) -> range:
        """The numbers of the next batches; none when all have been taken."""
        data = os.read(self.reading, TICKET.size)
        first = TICKET.unpack(data)[0] if data else self.count
        return range(first, min(first + self.each, self.count))

    def drain(self) -> None:
        while os.read(self.reading, TICKET.size * TICKETS):
            pass

    def close(self) -> None:
        os.close(self.reading)


class _Worker:
    """A fork that takes batches; its outcome comes through a pipe."""

    def __init__(self, run, batches: list[tuple[int, int]], tickets: _Tickets, options: Options):
        self.reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: a fork runs none, nor takes their locks
            self.pid = os.fork()
        self.ended = False
        if self.pid == 0:
            _work(run, batches, tickets, options, writing)
        os.close(writing)

    def outcome(self) -> Outcome:
        """Wait for the end. Raises EmulatorError if there is none to speak of."""
        with os.fdopen(os.dup(self.reading), "rb") as pipe:
            data = pipe.read()
        status = self.wait()
        if not data:
            raise EmulatorError(f"a process of the emulator ended with {_describe(status)} before its CTAs had run")
        return pickle.loads(data)  # our own fork's

    def wait(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        self.ended = True
        return status

    def end(self) -> None:
        """Leave nothing behind, whatever has happened."""
        os.close(self.reading)
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


def _describe(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"status {code}"


def _work(run, batches, tickets: _Tickets, options: Options, writing: int) -> None:
    """The life of a fork: it runs batches, says how that went, and ends without the parent's exit handlers."""
    status = 1
    try:
        _be_a_fork()
        if options.counters is not None:
            options = replace(options, counters=type(options.counters)())
        options.findings.relay()
        outcome = _take_batches(run, batches, tickets, options, Exception)
        outcome.counters, outcome.noted = options.counters, options.findings.noted
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_pickled(outcome))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _be_a_fork() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    gc.freeze()  # garbage of the parent's is the parent's to end


def _pickled(outcome: Outcome) -> bytes:
    try:
        return pickle.dumps(outcome)
    except Exception:
        fault = EmulatorError(f"{type(outcome.fault).__name__}: {outcome.fault}")
        return pickle.dumps(replace(outcome, fault=fault))


@contextlib.contextmanager
def timed(program: Program, ctas: int, jobs: int) -> Iterator[None]:
    """Note what a CTA of a program takes of one process, so that short launches need no fork."""
    start = time.perf_counter()
    yield
    program.seconds_per_cta = (time.perf_counter() - start) * jobs / max(ctas, 1)
