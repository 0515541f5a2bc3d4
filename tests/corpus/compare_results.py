"""Run the kernels of two folders, file by file of the same name, in the emulator on the same inputs: the same kernels in two
versions of the bytecode give the same bytes.

    python tests/corpus/compare_results.py OLDER NEWER [--sm 90] [--seconds 300] [NAME...]

Inputs are derived from the older file's operations (``simulate/interpreter/derive_inputs.py``): buffers for all pointers, sizes of a tile
or two, what ``assume`` promises; the first of them is taken on which the emulator finds no fault. Prints a line for each
kernel and the counts; exits with 1 where results differ or no inputs do. Each kernel runs in a process of its own, for at
most ``--seconds``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import tileiras_build
from tileiras_build.ir.bytecode import read_module
from tileiras_build.pipeline.tile_ir_text_format import render
from tileiras_build.simulate.emulator import EmulatorError
from tileiras_build.simulate.interpreter import entry_names
from tileiras_build.simulate.interpreter.compare_with_compiled import elements, run_in_emulator
from tileiras_build.simulate.interpreter.derive_inputs import MAX_ELEMENTS, UNVIEWED_ELEMENTS, Inputs, derive_inputs

# Ways to choose inputs, the cheapest first: tiles per dimension, elements of arrays that nothing tells the extents of.
ATTEMPTS = ((1, UNVIEWED_ELEMENTS), (1, MAX_ELEMENTS), (7, UNVIEWED_ELEMENTS), (40, UNVIEWED_ELEMENTS))
_POSITION_OR_PRODUCER = re.compile(r'loc = #loc\d*|producer = "[^"]*"')
EQUAL, DIFFERENT, NO_INPUTS, TOO_LONG = "equal", "different", "no inputs", "too long"


@dataclass(frozen=True)
class Outcome:
    """The comparison of two versions of one kernel: of ``elements`` in all buffers, ``changed`` were written to other values.

    ``same_code`` says whether their PTX has the same instructions.
    """

    kernel: str
    result: str
    changed: int = 0
    elements: int = 0
    same_code: bool = False
    note: str = ""

    def __str__(self) -> str:
        code = "the same PTX" if self.same_code else "other PTX"
        return f"{self.kernel}: {self.result}, {self.changed} of {self.elements} elements changed, {code} {self.note}".rstrip()


def compare(older: bytes, newer: bytes, target: str, compiled: Callable = tileiras_build.compile) -> list[Outcome]:
    """One Outcome for each kernel of the two files; ``compiled(bytecode, target)`` gives artifacts with PTX."""
    module, made = read_module(older), [compiled(data, target) for data in (older, newer)]
    assert entry_names(module) == entry_names(read_module(newer))
    return [_compare(module, entry, made) for entry in entry_names(module)]


def _compare(module, entry: str, made: list) -> Outcome:
    fault, same_code = "", instructions(made[0].ptx) == instructions(made[1].ptx)
    for tiles, loose in ATTEMPTS:
        inputs = derive_inputs(module, entry, tiles=tiles, grid=(1, 1, 1), loose=loose)
        try:
            first = run_in_emulator(made[0], entry, inputs)
            # The same instructions on the same inputs: the same results.
            second = first if same_code else run_in_emulator(made[1], entry, inputs)
        except EmulatorError as problem:
            fault = str(problem)
            continue
        return replace(_outcome(entry, inputs, first, second), same_code=same_code)
    return Outcome(entry, NO_INPUTS, same_code=same_code, note=fault)


def operations(data: bytes) -> list[str]:
    """The operations of a file as it is read, without source positions and the name of the compiler that wrote it."""
    lines = render(read_module(data)).decode().splitlines()
    return [_POSITION_OR_PRODUCER.sub("", line) for line in lines if not line.startswith("#")]


def instructions(ptx: str) -> list[str]:
    """The lines of PTX without comments, files and source positions."""
    lines = (line.partition("//")[0].strip() for line in ptx.splitlines())
    return [line for line in lines if line and not line.startswith((".loc", ".file"))]


def _outcome(entry: str, inputs: Inputs, first: list[np.ndarray], second: list[np.ndarray]) -> Outcome:
    same = all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    before = [elements(buffer) for buffer in inputs.buffers]
    changed = sum(int((one != was).sum()) for one, was in zip(first, before, strict=True))
    return Outcome(entry, EQUAL if same else DIFFERENT, changed, sum(map(len, first)))


def pairs(older: Path, newer: Path, names: list[str]) -> list[str]:
    """The names of files in both folders that begin with one of ``names``."""
    found = sorted(path.name for path in older.glob("*.tilebc") if (newer / path.name).exists())
    return [name for name in found if not names or name.startswith(tuple(names))]


def in_a_process(older: Path, newer: Path, target: str, seconds: float) -> list[Outcome]:
    """As ``compare``, of files, ended after so many ``seconds``."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        running = pool.apply_async(compare, (older.read_bytes(), newer.read_bytes(), target))
        try:
            return running.get(seconds)
        except multiprocessing.TimeoutError:
            return [Outcome(older.stem, TOO_LONG)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("older", type=Path)
    parser.add_argument("newer", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sm", default="90")
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for name in pairs(options.older, options.newer, options.names):
        for outcome in in_a_process(options.older / name, options.newer / name, f"sm_{options.sm}", options.seconds):
            print(outcome, flush=True)
            counts[outcome.result] += 1
            counts["written to"] += outcome.changed > 0
            counts["of the same PTX"] += outcome.same_code
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    return int(any(counts[result] for result in (DIFFERENT, NO_INPUTS, TOO_LONG)))


if __name__ == "__main__":
    sys.exit(main())
