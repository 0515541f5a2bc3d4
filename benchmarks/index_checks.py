"""The cost of bounds checks: instructions of the innermost loops of kernels.

    python benchmarks/index_checks.py [--sm 80,90,100,120] [FILE.py]...

Each kernel of the files (default: the examples) is compiled as it is, and as if every index were proven to be inside. Of a loop that is
there in two versions (``tileaa_to_tileas/hoist_bounds_checks.py``) the one counts that runs where all tiles are inside: the one most
like the other compilation's. A row is a loop whose instructions are not as many in both; ``--all`` shows the others as well. A loop that
has more than 2 % more is a demand not met: exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tileiras_build import driver
from tileiras_build.core.terminal import table_text
from tileiras_build.frontend.export_cutile import export_kernels, load_cases
from tileiras_build.pipeline.analysis.integer_ranges import BoundsCheck, IntegerRanges
from tileiras_build.pipeline.job import Job
from tileiras_build.target import sass_listing
from tileiras_build.target.targets import Target, parse_targets

EXAMPLES = Path(__file__).parents[1] / "examples" / "kernels"
HEADER = ("kernel", "sm", "loop", "proven", "checked", "more")
MAX_GROWTH = 0.02
MIN_LOOP = 8  # instructions; shorter ones only wait
# What a loop is for: two versions of one have as many of each.
WORK = (
    *sass_listing.TENSOR,
    *sass_listing.ASYNC_COPY,
    "UTMASTG",
    "LDG",
    "STG",
    "LDS",
    "LDSM",
    "STS",
    "BAR",
    "SHFL",
    "MUFU",
    "FFMA",
)


@dataclass(frozen=True)
class Loop:
    """An innermost loop: its instructions, and how many there are of those that are its work."""

    size: int
    work: Counter[str]

    @property
    def title(self) -> str:
        """What stands most often in it."""
        return ", ".join(f"{count} {opcode}" for opcode, count in self.work.most_common(2)) or "arithmetic"


def main() -> int:
    """Count and print; returns 1 where a loop has too many more instructions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--sm", default="80,90,100,120")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    rows, growths = [], []
    for path in given.files or sorted(EXAMPLES.glob("*.py")):
        for name, target, checked, proven in _compared(path, parse_targets(given.sm)):
            for loop in proven:
                size = min(checked, key=lambda found, own=loop: _difference(found, own)).size
                growths.append(size / loop.size - 1)
                if given.all or size != loop.size:
                    more = f"{growths[-1]:+.1%}"
                    rows.append((name, target.name, loop.title, str(loop.size), str(size), more))
    print(table_text(HEADER, rows))
    more, fewer = sum(growth > 0 for growth in growths), sum(growth < 0 for growth in growths)
    print(
        f"{len(growths)} loops: {more} have more instructions, {fewer} fewer; the most: {max(growths, default=0):+.1%}"
    )
    return int(max(growths, default=0) > MAX_GROWTH)


def _difference(loop: Loop, other: Loop) -> tuple[int, int]:
    return ((loop.work - other.work) + (other.work - loop.work)).total(), abs(loop.size - other.size)


def _compared(path: Path, targets: list[Target]) -> Iterator[tuple[str, Target, list[Loop], list[Loop]]]:
    if "CASES" not in path.read_text():
        return
    names = {case.name for case in load_cases(path)}
    for name, bytecode in export_kernels(path).items():
        for target in targets if name in names else ():
            checked = _loops(bytecode, target)
            with mock.patch.object(IntegerRanges, "checks", lambda _, access: [BoundsCheck.NONE] * len(access.coords)):
                yield name, target, checked, _loops(bytecode, target)


def _loops(bytecode: bytes, target: Target) -> list[Loop]:
    cubin = driver.lower(bytecode, "tilebc", "cubin", Job(target))[".cubin"]
    [listing] = sass_listing.read_listings(sass_listing.disassemble(cubin))
    loops = [loop for loop in listing.natural_loops if len(loop) > MIN_LOOP]
    inner = [loop for loop in loops if not any(other < loop for other in loops)]
    return [_loop(listing, loop) for loop in inner]


def _loop(listing: sass_listing.Listing, lines: Iterable[int]) -> Loop:
    opcodes = Counter(listing.lines[number].opcode for number in lines)
    return Loop(opcodes.total(), Counter({opcode: opcodes[opcode] for opcode in WORK if opcodes[opcode]}))


if __name__ == "__main__":
    sys.exit(main())
