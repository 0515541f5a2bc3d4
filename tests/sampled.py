"""Which cases of dear tests a plain run takes: the rows of sampled.toml. ``--exhaustive`` takes all."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
TABLE = TESTS / "sampled.toml"


@cache
def rows() -> tuple[dict[str, int], dict[str, float]]:
    """(every how many cases of a test one is taken, processor seconds of tests that are left out), by file and function."""
    table = tomllib.loads(TABLE.read_text())
    return table["every"], table["left_out"]


class Sample:
    """One walk through the cases in their order."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def takes(self, path: Path, function: str) -> bool:
        """Whether the next case of a test is one of those that a plain run takes."""
        every, left_out = rows()
        name = f"{path.relative_to(TESTS).as_posix()}::{function}" if path.is_relative_to(TESTS) else ""
        number = self.seen[name] = self.seen.get(name, -1) + 1
        return name not in left_out and number % every.get(name, 1) == 0
