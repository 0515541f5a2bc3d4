"""Verify every .tilebc file below a folder; a script: ``python -m tests.simulate.interpreter.verify_corpus FOLDER --sm 90``.

Each kernel runs on derived inputs in the interpreter and, compiled, in the emulator. A line for every kernel that
disagrees, cannot be compiled or has no usable inputs, and a summary.
"""

import argparse
import signal
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import tileiras_build
from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode import read_module
from tileiras_build.simulate.emulator import EmulatorError
from tileiras_build.simulate.interpreter import entry_names
from tileiras_build.simulate.interpreter.compare_with_compiled import ExpectedMemory, run_in_emulator
from tileiras_build.simulate.interpreter.derive_inputs import usable_inputs

SECONDS = 60


def check(data: bytes, target: str) -> tuple[str, str]:
    """What became of the first kernel of a file that does not agree: a word and the reason."""
    module = read_module(data)
    for entry in entry_names(module):
        try:
            inputs, expected = usable_inputs(module, entry, partial(ExpectedMemory, module, entry))
        except (TileirasError, TimeoutError) as problem:
            return "no inputs", str(problem)
        try:
            artifacts = tileiras_build.compile(data, target, stop_at="ptx")
        except TileirasError as problem:
            return "refused", str(problem)
        try:
            wrong = expected.compare(run_in_emulator(artifacts, entry, inputs))
        except (EmulatorError, TimeoutError) as problem:
            return "fails", str(problem)
        if wrong:
            return "differs", "; ".join(map(str, wrong))
    return "agrees", ""


def _expire(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--sm", required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _expire)
    found = Counter()
    for path in sorted(Path(options.folder).rglob("*.tilebc")):
        if "invalid" in path.parts:
            continue
        signal.alarm(SECONDS)
        kind, reason = check(path.read_bytes(), options.sm)
        found[kind] += 1
        if kind != "agrees":
            print(f"{path}: {kind}: {reason}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in found.items()))
    return 1 if found["differs"] or found["fails"] else 0


if __name__ == "__main__":
    sys.exit(main())
