"""The delay before a program's first launch: imports of the runtime, in CPU time of whole processes.

    python benchmarks/runtime_import.py [PACKAGE] [--runs N]

PACKAGE is a folder that ``env.KernelPackage`` made; with one, opening it is measured too. Rows are the median and the least
of all runs in milliseconds, user and system time together; the first is Python itself, which every other row includes.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

STATEMENTS = ("pass", "import tileiras_build.launch.runtime", "from tileiras_build.launch.runtime import Library")


def cpu_milliseconds(statement: str) -> float:
    """Of one process that executes ``statement``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?")
    parser.add_argument("--runs", type=int, default=21)
    given = parser.parse_args()
    opened = f"from tileiras_build.launch.runtime import Library; Library({given.package!r})"
    for statement in (*STATEMENTS, *([opened] if given.package else [])):
        times = [cpu_milliseconds(statement) for _ in range(given.runs)]
        print(f"{statistics.median(times):7.1f} {min(times):7.1f}  {statement}")


if __name__ == "__main__":
    main()
