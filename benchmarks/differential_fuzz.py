"""Random tile programs: the interpreter compared with compiled code in the emulator, at O0 and O3 and for several targets.

    python benchmarks/differential_fuzz.py --count 10000 --sm 80,100 --jobs 2 [--later | --grid | --branches] [--tuned] [--races]

Prints one line per disagreement or refusal, with the seed of the program and the first operation whose result is
wrong, and a summary. ``--show SEED`` prints a program; ``--write SEED -o k.tilebc`` writes its bytecode, or a kernel's source. ``--later``:
programs of the later steps too, other ones for the same seeds. ``--grid``: programs of several blocks, with loops of matmuls,
attention, TMA and arguments for bounds. ``--branches``: cuTile kernels with uniform control flow around matmuls, scans and stores, against
NumPy's reading of their source (those of ``matmul_fuzz.py --branches``). ``--tuned``: at O3, and at a level, with a strategy and with values of TUNING that the
seed makes up. ``--races``: look for races within blocks, too, and between them.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.pool import ThreadPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz.branching_kernels import random_branches
from tests.fuzz.compare_matmuls import compare_ways
from tests.fuzz.compare_tile_programs import KINDS, WAYS, Outcome, Way, compare_program, find_culprit, tuned_way
from tests.fuzz.tile_program_builder import SeededChoices
from tileiras_build.ir.bytecode import disassemble

Work, Found = TypeVar("Work"), TypeVar("Found")
BRANCHES = "branches"  # the kind whose programs are cuTile kernels
SECONDS = 120  # of processor time, of one program on all targets


@dataclass(frozen=True)
class Job:
    """A program, by its seed and kind, and what it is run on."""

    seed: int
    kind: str
    targets: tuple[str, ...]
    is_tuned: bool = False
    races: bool = False

    @property
    def ways(self) -> tuple[Way, ...]:
        return (WAYS[-1], tuned_way(self.seed)) if self.is_tuned else WAYS


def _run(job: Job) -> tuple[int, list[Outcome]]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        if job.kind == BRANCHES:
            with TemporaryDirectory() as folder:
                kernel = random_branches(job.seed)
                return job.seed, compare_ways(kernel, job.targets, job.ways, Path(folder), job.races)
        program = KINDS[job.kind](SeededChoices(job.seed))
        outcomes = compare_program(program, job.seed, job.targets, job.ways, job.races)
        for number, one in enumerate(outcomes):
            if one.kind == "differs":
                outcomes[number] = one.with_culprit(find_culprit(job.seed, one.target, one.way, job.kind))
        return job.seed, outcomes
    except Exception as problem:
        return job.seed, [Outcome("fails", "-", Way(0), f"{type(problem).__name__}: {problem}")]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _expire(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sm", default="80,100")
    parser.add_argument("--jobs", type=int, default=1)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--later", action="store_true", help="use the later steps too")
    kinds.add_argument("--grid", action="store_true", help="programs of several blocks")
    kinds.add_argument("--branches", action="store_true", help="cuTile kernels that return, choose, break and continue")
    parser.add_argument("--tuned", action="store_true", help="options that the seed makes up")
    parser.add_argument("--races", action="store_true", help="check for races, too")
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--write", type=int, metavar="SEED")
    parser.add_argument("-o", "--output", default="program.tilebc")
    options = parser.parse_args()
    kind = next((name for name in ("later", "grid", BRANCHES) if getattr(options, name)), "first")
    if (seed := options.show if options.show is not None else options.write) is not None:
        return _give(seed, kind, None if options.show is not None else Path(options.output))
    targets = tuple(f"sm_{sm}" for sm in options.sm.split(","))
    seeds = range(options.first, options.first + options.count)
    jobs = (Job(seed, kind, targets, options.tuned, options.races) for seed in seeds)
    return _report(options.jobs, jobs)


def _give(seed: int, kind: str, path: Path | None) -> int:
    if kind == BRANCHES:
        return _give_source(random_branches(seed).source, path)
    bytecode = KINDS[kind](SeededChoices(seed)).bytecode()
    if path is None:
        print(disassemble(bytecode))
    else:
        path.write_bytes(bytecode)
    return 0


def _give_source(source: str, path: Path | None) -> int:
    if path is None:
        print(source)
    else:
        path.write_text(source)
    return 0


def _lost(job: Job, ended: int | None) -> tuple[int, list[Outcome]]:
    return job.seed, [Outcome("fails", "-", Way(0), f"the process ended with {ended}")]


class Worker(Generic[Work, Found]):
    """A process that runs programs one after the other; another one where LLVM, or the machine, ends it.

    ``lost``: what is found of a program with which the process has ended so.
    """

    def __init__(self, run: Callable[[Work], Found], lost: Callable[[Work, int | None], Found]):
        self.run, self.lost, self.process = run, lost, None

    def __call__(self, job: Work) -> Found:
        if self.process is None:
            self._start()
        self.jobs.send(job)
        try:
            return self.jobs.recv()
        except EOFError:
            self.process.join()
            ended, self.process = self.process.exitcode, None
            return self.lost(job, ended)

    def _start(self) -> None:
        fork = get_context("fork")
        self.jobs, theirs = fork.Pipe()
        self.process = fork.Process(target=self._serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def _serve(self, jobs: Connection) -> None:
        self.jobs.close()
        signal.signal(signal.SIGPROF, _expire)
        with suppress(EOFError):  # there are no more
            while True:
                jobs.send(self.run(jobs.recv()))


def _report(processes: int, jobs: Iterable[Job]) -> int:
    start, kinds, programs = time.monotonic(), Counter(), 0
    own = threading.local()
    with ThreadPool(processes, initializer=lambda: setattr(own, "worker", Worker(_run, _lost))) as pool:
        for seed, outcomes in pool.imap_unordered(lambda job: own.worker(job), jobs):
            programs += 1
            kinds.update(outcome.kind for outcome in outcomes)
            for outcome in outcomes:
                if outcome.kind != "agrees":
                    print(f"seed {seed}: {outcome}", flush=True)
    seconds = time.monotonic() - start
    print(f"{programs} programs in {seconds:.0f} s: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    return 1 if kinds["differs"] or kinds["fails"] else 0


if __name__ == "__main__":
    sys.exit(main())
