"""Every id of a diagnostic, with what it means, why it occurs and how to fix it: one TOML file per area.

``tileiras-build explain ID`` prints a row, and docs/errors.md is generated from all of them. A row has ``what`` and ``fix``, and
``why`` and ``example`` where they help; ``kind`` is the file's, or "error".
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

KINDS = {
    "error": "invalid input",
    "unsupported": "valid input that this compiler or the GPU does not support",
    "internal": "bugs of this compiler, or failures around it",
    "warning": "classes of remarks that `warnings=` and `-W` report; errors with `werror=1` and `-Werror`",
    "remark": "which instruction was selected, and why not a better one",
    "finding": "what the emulator finds in PTX that relies on unspecified behavior",
}
_REPORT = "Report it as a bug, with the command and the dump that the message names."


@dataclass(frozen=True)
class Explanation:
    """One row: ``kind`` is one of KINDS, ``area`` the title of its file; ``example`` is terminal text."""

    id: str
    kind: str
    area: str
    what: str
    why: str = ""
    fix: str = _REPORT
    example: str = ""


@cache
def explanations() -> dict[str, Explanation]:
    """All rows by their ids, in the order of the files."""
    tables = sorted(
        (file for file in files(__package__).iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )
    return {row.id: row for table in tables for row in _rows(table.read_text())}


def _rows(text: str) -> Iterator[Explanation]:
    table = tomllib.loads(text)
    area, kind = table.pop("title"), table.pop("kind", "error")
    for id, row in table.items():
        yield Explanation(
            **{"id": id, "kind": kind, "area": area} | row | {"example": row.get("example", "").strip("\n")}
        )
