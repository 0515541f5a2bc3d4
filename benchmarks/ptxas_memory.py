"""The cost of ptxas by the malloc settings of its C library: the defaults, and those of the compiler.

    python benchmarks/ptxas_memory.py [--repeat 5] FILE.ptx...

CPU milliseconds (the least of ``repeat`` runs, summed over the files), page faults and the most resident memory in MB.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.pipeline.ptx_to_cubin.run_ptxas import PAGES

WAYS = {"usual": {"GLIBC_TUNABLES": ""}, "asked for": PAGES}


@dataclass(order=True)
class Cost:
    """One run: CPU seconds, page faults, resident memory in KB."""

    cpu: float
    faults: int
    resident: int


def cost(path: Path, environment: dict[str, str]) -> Cost:
    """Of assembling one file."""
    arch = next(line.split()[1].rstrip(",") for line in path.read_text().splitlines() if line.startswith(".target"))
    ptxas = str(find_ptxas(None))
    words = [ptxas, "-arch", arch, "-O3", str(path), "-o", os.devnull]
    process = os.posix_spawn(ptxas, words, dict(os.environ) | environment)
    _, status, used = os.wait4(process, 0)
    if status != 0:
        raise SystemExit(f"ptxas refuses {path}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_minflt, used.ru_maxrss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.ptx")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    least: dict[tuple[str, Path], Cost] = {}
    for _ in range(options.repeat):
        for path in options.files:
            for way, environment in WAYS.items():
                found = cost(path, environment)
                least[way, path] = min(found, least.get((way, path), found))
    for way in WAYS:
        costs = [least[way, path] for path in options.files]
        resident = max(found.resident for found in costs) / 1024
        faults = sum(found.faults for found in costs)
        print(f"{way:10} {sum(found.cpu for found in costs) * 1e3:8.0f} ms {faults:8} faults {resident:6.0f} MB")


if __name__ == "__main__":
    main()
