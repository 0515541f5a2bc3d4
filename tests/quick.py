"""Which tests are quick (``pytest -m quick``): the rows of quick.toml."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

MARK = "quick"
TESTS = Path(__file__).parent
TABLE = TESTS / "quick.toml"


@cache
def rows() -> tuple[dict[str, float], dict[str, list[str]]]:
    """(processor seconds by pattern of files, ends of names by file); paths are seen from tests/."""
    table = tomllib.loads(TABLE.read_text())
    return table["files"], table["samples"]


@cache
def has_quick_tests(path: Path) -> bool:
    """Whether there may be quick tests in a file."""
    name = path.relative_to(TESTS).as_posix()
    files, samples = rows()
    return name in samples or any(fnmatchcase(name, pattern) for pattern in files)


@cache
def _ends(path: Path) -> tuple[str, ...]:
    """How the names of a file's quick tests end; "", as all do, of a file that is quick as a whole."""
    return tuple(rows()[1].get(path.relative_to(TESTS).as_posix(), ("",)))


def is_quick(path: Path, name: str) -> bool:
    """Whether the test ``name`` of a file is quick."""
    return has_quick_tests(path) and name.endswith(_ends(path))
