"""What it costs to ask whether tiles are outside of their arrays: instructions of kernels, and of their innermost loops.

    python benchmarks/index_checks.py [--sm 80,90,100] [FILE.py]...

Each kernel of the files (default: the examples) is compiled as it is, and as if every index were proven to be inside. Of a loop that is
there in two versions (``tileaa_to_tileas/hoist_index_checks.py``) the one counts that runs where all tiles are inside: the one most
like the other compilation's. A kernel whose loops have more than 2 % more instructions is a demand not met: exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tileiras_build import driver
from tileiras_build.bytecode.export import export_kernels, load_cases
from tileiras_build.pipeline.analysis.index_ranges import Check, IndexRanges
from tileiras_build.pipeline.job import Job
from tileiras_build.reports import sass
from tileiras_build.targets import Target, parse_targets
from tileiras_build.terminal import table_text

EXAMPLES = Path(__file__).parents[1] / "examples" / "kernels"
HEADER = ("kernel", "sm", "instructions", "proven", "in loops", "proven")
MOST = 0.02
LEAST_LOOP = 8  # instructions; shorter ones only wait


@dataclass(frozen=True)
class Counts:
    """Instructions of a kernel, and of each of its innermost loops."""

    total: int
    loops: tuple[int, ...]


def main() -> int:
    """Count and print; returns 1 where a kernel's loops have too many more instructions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--sm", default="80,90,100")
    given = parser.parse_args()
    rows, worst = [], 0.0
    for path in given.files or sorted(EXAMPLES.glob("*.py")):
        for name, target, checked, proven in _compared(path, parse_targets(given.sm)):
            loops = [min(checked.loops, key=lambda found, own=loop: abs(found - own)) for loop in proven.loops]
            rows.append((name, target.name, *map(str, (checked.total, proven.total, sum(loops), sum(proven.loops)))))
            worst = max(worst, sum(loops) / max(sum(proven.loops), 1) - 1)
    print(table_text(HEADER, rows))
    print(f"most in loops: {worst:+.1%}")
    return int(worst > MOST)


def _compared(path: Path, targets: list[Target]) -> Iterator[tuple[str, Target, Counts, Counts]]:
    if "CASES" not in path.read_text():
        return
    names = {case.name for case in load_cases(path)}
    for name, bytecode in export_kernels(path).items():
        for target in targets if name in names else ():
            checked = _counts(bytecode, target)
            with mock.patch.object(IndexRanges, "checks", lambda _, access: [Check.NONE] * len(access.coords)):
                yield name, target, checked, _counts(bytecode, target)


def _counts(bytecode: bytes, target: Target) -> Counts:
    cubin = driver.lower(bytecode, "tilebc", "cubin", Job(target))[".cubin"]
    [listing] = sass.read_listings(sass.disassemble(cubin))
    inner = [loop for loop in listing.loops if not any(_holds(loop, other) for other in listing.loops)]
    return Counts(listing.total, tuple(len(loop) for loop in inner if len(loop) > LEAST_LOOP))


def _holds(loop: range, other: range) -> bool:
    return loop != other and loop.start <= other.start and other.stop <= loop.stop


if __name__ == "__main__":
    sys.exit(main())
