"""Source locations of instructions (PTX ISA 9.0, section 11.5: .file, .loc)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:\\.|[^"\\])*)"', re.M)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)", re.M)


class SourceLine(NamedTuple):
    """A place in a source file; ``line`` counts from 1, ``column`` as in .loc (0: unknown)."""

    file: str
    line: int
    column: int


@lru_cache(maxsize=64)
def _places(ptx: str) -> list[tuple[int, SourceLine | None]]:
    """The location of every .loc, by its line of the PTX."""
    files = {int(number): re.sub(r"\\(.)", r"\1", name) for number, name in _FILE.findall(ptx)}
    found: list[tuple[int, SourceLine | None]] = []
    for at, text in enumerate(ptx.splitlines(), 1):
        if (match := _LOC.match(text)) is not None:
            file, line, column = map(int, match.groups())
            found.append((at, SourceLine(files[file], line, column) if file in files and line else None))
    return found


def source_of(ptx: str, line: int | None) -> SourceLine | None:
    """The source of the instruction at a line of the PTX (from 1); None if unknown."""
    here = None
    for at, place in _places(ptx):
        if line is None or at > line:
            break
        here = place
    return here
