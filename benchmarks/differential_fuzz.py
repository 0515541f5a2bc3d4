"""Random tile programs: the interpreter against compiled code in the emulator, at O0 and O3 and for several targets.

    python benchmarks/differential_fuzz.py --count 10000 --sm 80,100 --jobs 2 [--later]

Prints one line per disagreement or refusal, with the seed of the program and the first operation whose result is
wrong, and a summary. ``--show SEED`` prints a program; ``--write SEED -o k.tilebc`` writes its bytecode. ``--later``:
programs of the later steps too, other ones for the same seeds.
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
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.pool import ThreadPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz.compare import Outcome, compare_program, find_culprit
from tests.fuzz.programs import LATER_STEPS, STEPS, SeededChoices, random_program
from tileiras_build.bytecode import disassemble

SECONDS = 120  # of one program, on all targets
Job = tuple[int, tuple[str, ...], tuple]
Run = Callable[[Job], tuple[int, list[Outcome]]]


def _run(job: Job) -> tuple[int, list[Outcome]]:
    seed, targets, steps = job
    signal.alarm(SECONDS)
    try:
        outcomes = compare_program(random_program(SeededChoices(seed), steps), seed, targets)
        for number, outcome in enumerate(outcomes):
            if outcome.kind == "differs":
                outcomes[number] = outcome.with_culprit(find_culprit(seed, outcome.target, outcome.opt_level, steps))
        return seed, outcomes
    except Exception as problem:
        return seed, [Outcome("fails", "-", 0, f"{type(problem).__name__}: {problem}")]
    finally:
        signal.alarm(0)


def _expire(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sm", default="80,100")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--later", action="store_true", help="use the later steps too")
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--write", type=int, metavar="SEED")
    parser.add_argument("-o", "--output", default="program.tilebc")
    options = parser.parse_args()
    steps = LATER_STEPS if options.later else STEPS
    if (seed := options.show if options.show is not None else options.write) is not None:
        return _give(seed, steps, None if options.show is not None else Path(options.output))
    targets = tuple(f"sm_{sm}" for sm in options.sm.split(","))
    jobs = ((seed, targets, steps) for seed in range(options.first, options.first + options.count))
    return _report(options.jobs, jobs)


def _give(seed: int, steps: tuple, path: Path | None) -> int:
    bytecode = random_program(SeededChoices(seed), steps).bytecode()
    if path is None:
        print(disassemble(bytecode))
    else:
        path.write_bytes(bytecode)
    return 0


class Worker:
    """A process that runs programs one after the other; another one where LLVM, or the machine, ends it."""

    def __init__(self, run: Run = _run):
        self.run, self.process = run, None

    def __call__(self, job: Job) -> tuple[int, list[Outcome]]:
        if self.process is None:
            self._start()
        self.jobs.send(job)
        try:
            return self.jobs.recv()
        except EOFError:
            self.process.join()
            ended, self.process = self.process.exitcode, None
            return job[0], [Outcome("fails", "-", 0, f"the process ended with {ended}")]

    def _start(self) -> None:
        fork = get_context("fork")
        self.jobs, theirs = fork.Pipe()
        self.process = fork.Process(target=self._serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def _serve(self, jobs: Connection) -> None:
        self.jobs.close()
        signal.signal(signal.SIGALRM, _expire)
        with suppress(EOFError):  # there are no more
            while True:
                jobs.send(self.run(jobs.recv()))


def _report(processes: int, jobs: Iterable[Job]) -> int:
    start, kinds, programs = time.monotonic(), Counter(), 0
    own = threading.local()
    with ThreadPool(processes, initializer=lambda: setattr(own, "worker", Worker())) as pool:
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
