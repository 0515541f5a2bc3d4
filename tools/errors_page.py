"""Write docs/errors.md: what each id of an error, a remark or a finding means, from the index of errors.

python tools/errors_page.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tileiras_build.core.error_index.explanations import KINDS, Explanation, explanations

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
HEAD = """\
# Errors

Every diagnostic has an id. `tileiras-build explain ID` prints its row of this page, and an example where there is one.
`tileiras-build explain` lists all ids.

    k.py:12:8: error[mma-no-row]: no tensor-core instruction for f8E4M3FN on sm_80; use sm_89 or newer

The line names the place, the id, what was found, and a remedy. Commands end with these exit codes:

| code | meaning |
|---|---|
| 0 | done |
| 1 | `error`: invalid input |
| 2 | `error`: valid input that the compiler or the GPU does not support, or wrong usage of the command |
| 3 | `internal error`: a bug of the compiler; a dump and a command that repeats it are named |
| 130 | interrupted |

If you gave `lower` or `opt` text of a stage, an internal error about that text is reported as `error`, with the same id.
"""


def page() -> str:
    """The whole page."""
    rows = explanations().values()
    return "".join((HEAD, *(_section(area, list(of_area)) for area, of_area in groupby(rows, lambda row: row.area))))


def _section(area: str, rows: list[Explanation]) -> str:
    kinds = {row.kind for row in rows}
    note = f"\nThese are {KINDS[rows[0].kind]}.\n" if kinds == {"internal"} else ""
    return f"\n## {area}\n{note}\n| id | what, and why | how to fix |\n|---|---|---|\n" + "".join(map(_row, rows))


def _row(row: Explanation) -> str:
    kind = "" if row.kind in ("error", "internal") or row.id.startswith("Remark") else f" ({row.kind})"
    cells = (f'<a id="{row.id}"></a>`{row.id}`{kind}', " ".join(_sentences(row)), row.fix)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _sentences(row: Explanation) -> Iterator[str]:
    yield row.what
    if row.why:
        yield row.why


if __name__ == "__main__":
    PAGE.write_text(page())
