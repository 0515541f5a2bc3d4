"""Break the compiler in the ways of tests/seeds/mutations.toml and see that the tests of the rows notice.

Usage: python tools/seed_mutations.py              # all; exits with 1 where a broken behavior goes unnoticed
       python tools/seed_mutations.py nvvm         # those whose document or row contains the word

Each entry replaces one piece of text in a copy of the project and runs the tests that show the row there: they must
pass before and fail after. The project itself is not touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.conformance_seeds import Mark, read_marks

MUTATIONS = ROOT / "tests" / "seeds" / "mutations.toml"
COPIED = ("tileiras_build", "tests", "examples", "tools", "docs", "pyproject.toml", "README.md")
PASSED, FAILED = 0, 1  # pytest's exit codes
TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Mutation:
    """One way to break a row: in ``file``, ``old`` (found exactly once) becomes ``new``.

    ``tests``, where there are some, stand for those that show the row; each of them must notice by itself.
    """

    document: str
    row: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    def apply(self, text: str) -> str:
        """The broken text; raises ValueError where ``old`` is not there exactly once."""
        if text.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"{self.document} {self.row}: {self.old!r} is {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)


def read_mutations(path: Path = MUTATIONS) -> list[Mutation]:
    """All entries of the table."""
    entries = tomllib.loads(path.read_text())["mutation"]
    return [Mutation(**entry | {"tests": tuple(entry.get("tests", ()))}) for entry in entries]


def showing_tests(mutation: Mutation, marks: list[Mark]) -> list[str]:
    """The pytest ids of the tests that must notice the mutation."""
    if mutation.tests:
        return list(mutation.tests)
    shown = [mark for mark in marks if (mark.document, mark.id) == (mutation.document, mutation.row)]
    return [f"{mark.file}::{mark.test}" for mark in shown]


def copy_project(folder: Path) -> None:
    """What the tests need, in ``folder``."""
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignore)
        else:
            shutil.copy(source, folder / name)


def run_tests(folder: Path, tests: list[str]) -> int:
    """pytest's exit code for some tests of the copy, with the copy's package."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
    ).returncode


def try_mutation(folder: Path, mutation: Mutation, tests: list[str]) -> str:
    """What is wrong, or "noticed"."""
    if not tests:
        return "no test shows this row"
    if run_tests(folder, tests) != PASSED:
        return "the tests fail without the mutation"
    path = folder / mutation.file
    original = path.read_text()
    path.write_text(mutation.apply(original))
    try:
        alone = [[test] for test in tests] if mutation.tests else [tests]
        return "noticed" if all(run_tests(folder, some) == FAILED for some in alone) else "NOT NOTICED"
    finally:
        path.write_text(original)


def main(arguments: list[str]) -> int:
    """Try every mutation and print one line each; returns the exit code."""
    word = arguments[0] if arguments else ""
    chosen = [mutation for mutation in read_mutations() if word in f"{mutation.document} {mutation.row}"]
    marks, results = read_marks(), []
    with tempfile.TemporaryDirectory() as name:
        copy_project(Path(name))
        for mutation in chosen:
            results.append(try_mutation(Path(name), mutation, showing_tests(mutation, marks)))
            print(f"{mutation.document:24} {mutation.row:24} {results[-1]}", flush=True)
    return 0 if results and set(results) == {"noticed"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
