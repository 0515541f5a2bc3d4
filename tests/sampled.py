"""Which cases of slow tests a plain run takes: the rows of sampled.toml. ``--exhaustive`` takes all."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
TABLE = TESTS / "sampled.toml"


@dataclass(frozen=True)
class Rows:
    """The table: which files are begun first; every how many cases of a test one is taken, every how many tests of a file;
    what is left out.

    Files are named by patterns below tests/, the first that fits counts. What is left out, a file or a test, is there with
    its processor seconds.
    """

    first: list[str]
    every: dict[str, int]
    files: dict[str, int]
    left_out: dict[str, float]

    def is_left_out(self, file: str, name: str) -> bool:
        """Whether a test, or its whole file, is no part of a plain run."""
        return name in self.left_out or file in self.left_out


@cache
def is_begun_first(path: Path) -> bool:
    """Whether tests of a file wait for what they start."""
    return any(fnmatchcase(_file_of(path), pattern) for pattern in rows().first)


@cache
def every_in(file: str) -> int:
    """Every how many tests of a file one is taken."""
    return next((every for pattern, every in rows().files.items() if fnmatchcase(file, pattern)), 1)


@cache
def rows() -> Rows:
    """What the file says."""
    return Rows(**tomllib.loads(TABLE.read_text()))


@cache
def name_of(path: Path, function: str) -> tuple[str, str]:
    """A file below tests/, and a test in it, as the table names them; files elsewhere have no rows."""
    file = _file_of(path)
    return file, f"{file}::{function}"


@cache
def _file_of(path: Path) -> str:
    return path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""


def named_files(words: Iterable[str], folder: Path) -> set[Path]:
    """The files that words of pytest's command line name, alone or with tests in them, seen from ``folder``."""
    paths = (folder / word.partition("::")[0] for word in words)
    return {path.resolve() for path in paths if path.is_file()}


class Sample:
    """One walk through the cases in their order."""

    def __init__(self) -> None:
        self.cases: dict[str, int] = {}
        self.tests: dict[str, dict[str, int]] = {}

    def takes(self, path: Path, function: str) -> bool:
        """Whether the next case of a test is one of those that a plain run takes."""
        file, name = name_of(path, function)
        if rows().is_left_out(file, name):
            return False
        tests = self.tests.setdefault(file, {})
        test = tests.setdefault(function, len(tests))
        case = self.cases[name] = self.cases.get(name, -1) + 1
        return test % every_in(file) == 0 and case % rows().every.get(name, 1) == 0
