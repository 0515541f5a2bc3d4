"""Break one synchronizing instruction of a compiled kernel at a time, and list the mutants that the emulator does not detect.

    python tools/mutate_synchronization.py KERNELS.py [CASE ...] --sm 90,100 [--tiles 5] [--kind drop --kind behind] [--jobs 2]

Each case of the file's CASES is compiled and run on inputs derived from it (``simulate/interpreter/derive_inputs.py``) under the checks for races, as it
is and with each mutation of its PTX. Noticed is what ends in a fault, takes too long, or leaves other results. What is not is
printed, and the exit status is 1: either the instruction is not needed, or the emulator lacks a rule (docs/emulator.md), or these
inputs do not lead there. ``--all`` prints the others as well, with what noticed them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np

import tileiras_build
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.simulate import emulator
from tileiras_build.simulate.interpreter.compare_with_compiled import run_compiled
from tileiras_build.simulate.interpreter.derive_inputs import Inputs, derive_inputs

SECONDS = 20  # of one run; what takes longer is stuck
UNNOTICED = "unnoticed"


# ---- mutations -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Mutation:
    """One changed text: ``lines`` of it take the place of those from number ``first`` (0 for the first) to ``last``."""

    kind: str
    first: int
    last: int
    lines: tuple[str, ...]

    def apply(self, ptx: str) -> str:
        """The text with the change."""
        lines = ptx.split("\n")
        return "\n".join([*lines[: self.first], *self.lines, *lines[self.last :]])


# What synchronizes: instructions that may be left out, but for a wait whose result is used (``_passed``).
SYNCHRONIZES = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(?:fence|membar|bar\.|barrier\.(?!cluster)|mbarrier\.arrive|tcgen05\.(?:fence|wait|commit)|wgmma\.(?:fence|commit_group|wait_group)"
    r"|cp\.async\.(?:bulk\.)?(?:commit_group|wait_group|wait_all)|griddepcontrol)[^;]*;\s*$"
)
TRIES = re.compile(r"^\s*mbarrier\.try_wait\S*\s+(?P<flag>%p\d+),\s*(?P<place>\[[^\]]*\]),\s*(?P<parity>[^;]+);\s*$")
COUNTS = re.compile(r"^(?P<head>\s*(?:@!?%\w+\s+)?mbarrier\.init\S*\s+\[[^\]]*\],\s*)(?P<count>\d+)(?P<tail>;\s*)$")
BYTES = re.compile(r"^(?P<head>.*mbarrier\.arrive\.expect_tx\S*\s+_,\s*\[[^\]]*\],\s*)(?P<count>\d+)(?P<tail>;\s*)$")
GROUPS = re.compile(r"^(?P<head>\s*\S*wait_group\S*\s+)(?P<count>\d+)(?P<tail>;\s*)$")
ENDS = re.compile(r"^\s*(?:\}|\$?\w+:|(?:@!?%\w+\s+)?(?:bra|ret|exit|call)\b)")


def _dropped(lines: list[str], at: int) -> Iterator[tuple[str, ...]]:
    if SYNCHRONIZES.match(lines[at]):
        yield ("",)


def _passed(lines: list[str], at: int) -> Iterator[tuple[str, ...]]:
    """A wait that is over at once."""
    if found := TRIES.match(lines[at]):
        yield (f"setp.eq.u32 {found['flag']}, 0, 0;",)


def _turned(lines: list[str], at: int) -> Iterator[tuple[str, ...]]:
    """A wait for the other phase."""
    if found := TRIES.match(lines[at]):
        parity = found["parity"].strip()
        turned = (f"xor.b32 %mutated, {parity}, 1;",)
        yield *turned, lines[at].replace(f"{found['place']}, {found['parity']}", f"{found['place']}, %mutated")


def _counted(pattern: re.Pattern, change: int, lines: list[str], at: int) -> Iterator[tuple[str, ...]]:
    if (found := pattern.match(lines[at])) and int(found["count"]) + change >= 0:
        yield (f"{found['head']}{int(found['count']) + change}{found['tail']}",)


def _behind(lines: list[str], at: int) -> Iterator[tuple[str, ...]]:
    """After the next synchronizing instruction of the block, if there is one: every line up to it moves ahead."""
    if not SYNCHRONIZES.match(lines[at]):
        return
    for other in range(at + 1, len(lines)):
        if ENDS.match(lines[other]):
            return
        if SYNCHRONIZES.match(lines[other]):
            yield (*lines[at + 1 : other + 1], lines[at])
            return


KINDS: dict[str, Callable[[list[str], int], Iterator[tuple[str, ...]]]] = {
    "drop": _dropped,
    "behind": _behind,
    "pass": _passed,
    "parity": _turned,
    "more arrivals": partial(_counted, COUNTS, 1),
    "fewer arrivals": partial(_counted, COUNTS, -1),
    "more bytes": partial(_counted, BYTES, 16),
    "fewer bytes": partial(_counted, BYTES, -16),
    "later groups": partial(_counted, GROUPS, 1),
}


def mutations_of(ptx: str, kinds: list[str]) -> list[Mutation]:
    """All mutations of the kinds, in the order of the lines."""
    lines = ptx.split("\n")
    return [
        Mutation(kind, at, at + _replaced(kind, new), new)
        for at in range(len(lines))
        for kind in kinds
        for new in KINDS[kind](lines, at)
    ]


def _replaced(kind: str, new: tuple[str, ...]) -> int:
    return len(new) if kind == "behind" else 1


def prepared(ptx: str) -> str:
    """With the register that mutations use."""
    return re.sub(r"(\.reg \.pred[^;]*;)", r"\1 .reg .b32 %mutated;", ptx, count=1)


# ---- running ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Subject:
    """A kernel that runs as it is."""

    ptx: str
    manifest: dict
    entry: str
    inputs: Inputs
    wanted: list[np.ndarray]

    def verdict(self, mutation: Mutation) -> str:
        """What notices a mutation, or UNNOTICED."""
        try:
            found = _run(mutation.apply(self.ptx), self.manifest, self.entry, self.inputs)
        except emulator.EmulatorFault as fault:
            return f"{fault.kind}: {fault.message}"
        except emulator.EmulatorError as error:
            return f"refused: {error}"
        same = all(np.array_equal(one.view(np.uint8), two.view(np.uint8)) for one, two in zip(self.wanted, found))
        return UNNOTICED if same else "other results"


def _run(ptx: str, manifest: dict, entry: str, inputs: Inputs) -> list[np.ndarray]:
    memory = emulator.Memory()
    for buffer in inputs.buffers:
        memory.map(buffer.address, buffer.bytes.size, buffer.bytes)
    artifacts = SimpleNamespace(ptx=ptx, manifest=manifest)
    checks = {"check_races": True, "cta_racecheck": True, "time_limit": SECONDS, "jobs": 1}
    return run_compiled(
        inputs, lambda: emulator.launch(artifacts, entry, inputs.grid, inputs.params, memory=memory, **checks)
    )


def subject_of(bytecode: bytes, entry: str, sm: str, tiles: int) -> Subject:
    """A case compiled, and run as it is; raises EmulatorError where that is wrong already."""
    artifacts = tileiras_build.compile(bytecode, sm, stop_at="ptx")
    inputs = derive_inputs(read_module(bytecode), entry, tiles=tiles)
    ptx = prepared(artifacts.ptx)
    return Subject(ptx, artifacts.manifest, entry, inputs, _run(ptx, artifacts.manifest, entry, inputs))


_subject: Subject  # of the processes of a pool, which are forks


def _try(mutation: Mutation) -> tuple[Mutation, str]:
    return mutation, _subject.verdict(mutation)


def try_all(subject: Subject, kinds: list[str], jobs: int) -> Iterator[tuple[Mutation, str]]:
    """Each mutation and its verdict."""
    global _subject
    _subject = subject
    mutations = mutations_of(subject.ptx, kinds)
    if jobs == 1:
        yield from map(_try, mutations)
        return
    with get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(_try, mutations)


# ---- the command -----------------------------------------------------------------------------------------------------
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(arguments)
    exported, seen = export_kernels(options.file), Counter()
    for name in options.cases or exported:
        for sm in options.sm.split(","):
            subject = subject_of(exported[name], name, f"sm_{sm}", options.tiles)
            for mutation, verdict in try_all(subject, options.kind or list(KINDS), options.jobs):
                seen[verdict == UNNOTICED] += 1
                if options.all or verdict == UNNOTICED:
                    text = subject.ptx.split("\n")[mutation.first].strip()
                    print(f"{name} sm_{sm} line {mutation.first + 1} {mutation.kind}: {text}: {verdict}", flush=True)
    print(f"{seen.total()} mutations, {seen[True]} unnoticed")
    return int(seen[True] > 0)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--sm", default="90,100")
    parser.add_argument("--tiles", type=int, default=5, help="tiles of each tensor along each dimension")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="print what is noticed, too")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
