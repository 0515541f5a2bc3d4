"""Random cuTile kernels with matmuls: NumPy's evaluation of their source compared with compiled code in the emulator.

    python benchmarks/matmul_fuzz.py --count 100 --sm 80,90,100,120 [--large | --scaled | --loops | --branches] [--tuned] [--races | --proofs] [--jobs 2]

Prints a line for each fault, with the seed of the kernel, and a summary. ``--show SEED`` prints a kernel. ``--large``: tiles
that are more than registers or shared memory hold; ``--scaled``: block-scaled matmuls. ``--proofs``: nothing runs, the proofs of ``verifiers/`` look at each pass, of
many more kernels in the same time.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from differential_fuzz import Worker

from tests.fuzz.block_scaled_kernels import random_scaled_kernel
from tests.fuzz.branching_kernels import random_branches
from tests.fuzz.compare_matmuls import Difference, compare_kernel
from tests.fuzz.loop_kernels import random_loops
from tests.fuzz.matmul_kernels import MatmulKernel, random_kernel
from tests.fuzz.verify_matmul_passes import prove_kernel
from tileiras_build.target.targets import parse_targets

SECONDS = 300  # of processor time, of one kernel on all targets
Look = Callable[[MatmulKernel, tuple[str, ...], Path], Iterable[Difference]]


def main() -> int:
    """Returns 1 if a kernel is wrong."""
    options = _options()
    if options.show is not None:
        print(_kernel(options.show, options).source)
        return 0
    targets = tuple(target.name for target in parse_targets(options.sm))
    seeds = range(options.first, options.first + options.count)
    faults: Counter[str] = Counter()
    look = prove_kernel if options.proofs else partial(compare_kernel, races=options.races)
    own = threading.local()
    run = partial(_faults, look, targets, options)
    with ThreadPool(options.jobs, initializer=lambda: setattr(own, "worker", Worker(run, _lost))) as pool:
        for found in pool.imap_unordered(lambda seed: own.worker(seed), seeds):
            for fault in found:
                print(fault, flush=True)
                faults[fault.target] += 1
    print(f"{options.count} kernels on {', '.join(targets)}: {sum(faults.values())} faults {dict(faults) or ''}")
    return 1 if faults else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sm", default="80,90,100,120")
    tiles = parser.add_mutually_exclusive_group()
    tiles.add_argument("--large", action="store_true", help="large tiles")
    tiles.add_argument("--scaled", action="store_true", help="block-scaled matmuls")
    tiles.add_argument(
        "--branches", action="store_true", help="matmuls in branches and loops that return, break and continue"
    )
    tiles.add_argument("--loops", action="store_true", help="matmuls in loops of every kind")
    parser.add_argument("--tuned", action="store_true", help="compile with random values of the options of TUNING")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--races", action="store_true", help="check for races, too")
    kinds.add_argument("--proofs", action="store_true", help="compile alone, with proofs behind passes")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, metavar="SEED")
    return parser.parse_args()


def _kernel(seed: int, options: argparse.Namespace) -> MatmulKernel:
    kinds = {"scaled": random_scaled_kernel, "loops": random_loops, "branches": random_branches}
    make = next((make for name, make in kinds.items() if getattr(options, name)), random_kernel)
    kernel = make(seed, options.large) if options.large else make(seed)
    return kernel.tuned() if options.tuned else kernel


def _lost(seed: int, ended: int | None) -> list[Difference]:
    return [Difference(seed, "a target", f"the process ended with {ended}")]


def _faults(look: Look, targets: tuple[str, ...], options: argparse.Namespace, seed: int) -> list[Difference]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return list(look(_kernel(seed, options), targets, Path(folder)))
    except TimeoutError as error:
        return [Difference(seed, ", ".join(targets), str(error))]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    sys.exit(main())
