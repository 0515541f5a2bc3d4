"""Terminal output: color, tables, diagnostics with links to their files, the progress line of a build.

Elsewhere (pipes, logs, CI) the same text is plain. ``rich`` is imported when needed, so that a no-op build does not
wait for it. NO_COLOR and FORCE_COLOR are respected.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .byte_sizes import UNITS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

_NUMBER = re.compile(rf"\d[\d,]*(\.\d+)?(%| ({'|'.join(UNITS)}))?", re.ASCII)
_DIAGNOSTIC = re.compile(
    r"(?:(?P<file>[^\s:\[\]]+)(?::(?P<line>\d+):(?P<column>\d+))?: )?"
    r"(?P<kind>(?:internal error|error|warning|remark)\[[\w.-]+\])"
)
_ID = re.compile(r"error\[([\w-]+)\]")
_KINDS = {"error": "bold red", "internal error": "bold red", "warning": "bold yellow", "remark": "cyan"}
# Cells with good or bad news, by the prefix of the column's name ("": any).
_CELLS = (("result", "match", "green"), ("spill", "0", ""), ("spill", "-", ""), ("spill", "", "yellow"))
_BLANK = " " * 4 + "\n"
_BOX = _BLANK * 2 + "─" * 4 + "\n" + _BLANK * 5  # rich's specification of a rule below the header, and no other lines
_BETWEEN = "  "  # columns of a plain table
_MOVES = dict.fromkeys((7, 8, 11, 12, 13))  # bell, back, vertical tab, form feed, carriage return


def is_terminal(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the stream is interactive, so that lines can be updated in place; CI logs are not, though some claim to
    be.
    """
    return stream.isatty() and not environment.get("CI") and environment.get("TERM") != "dumb"


def has_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the output may contain colors and links."""
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or is_terminal(stream, environment)


def console(stream: TextIO) -> Console:
    """A console for a stream with color, as wide as the terminal."""
    from rich.console import Console

    return Console(file=stream, force_terminal=True, highlight=False, emoji=False, markup=False)


# ---- tables
def table_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """``rows`` under ``header`` and a rule, as plain text; numeric columns are right-aligned."""
    cells = [[_plain(str(cell)) for cell in row] for row in rows]
    columns = list(zip(header, *cells, strict=True))
    widths = [max(_width(line) for cell in column for line in cell.split("\n")) for column in columns]
    places = list(zip(widths, [_is_numeric(column[1:]) for column in columns]))
    rule = "-" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1))
    return "\n".join((*_lines(header, places), rule, *(line for row in cells for line in _lines(row, places))))


def _lines(row: Sequence[str], places: Sequence[tuple[int, bool]]) -> Iterator[str]:
    """The lines of a row, whose cells may have several.

    ``places``: the width of each column, and whether it is right-aligned.
    """
    for words in zip_longest(*(cell.split("\n") for cell in row), fillvalue=""):
        yield _BETWEEN.join(_place(word, *place) for word, place in zip(words, places)).rstrip()


def _place(word: str, width: int, right: bool) -> str:
    space = " " * (width - _width(word))
    return space + word if right else word + space


def _width(text: str) -> int:
    """The width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _plain(text: str) -> str:
    """A cell without control characters that move the cursor."""
    return text if text.isprintable() else text.translate(_MOVES).expandtabs()


def _is_numeric(column: Iterable[str]) -> bool:
    return all(cell == "-" or _NUMBER.fullmatch(cell) for cell in column)


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]], stream: TextIO | None = None) -> None:
    """Print the table: on a terminal in color, and within its width."""
    out = sys.stdout if stream is None else stream
    if has_colour(out):
        console(out).print(_table(header, rows))
    else:
        out.write(table_text(header, rows) + "\n")


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    from rich.box import Box
    from rich.table import Table
    from rich.text import Text

    cells = [[str(cell) for cell in row] for row in rows]
    made = Table(box=Box(_BOX), show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name, column in zip(header, zip(*cells) if cells else ([] for _ in header), strict=True):
        # Wrapped, never truncated.
        made.add_column(Text(name), justify="right" if _is_numeric(column) else "left", overflow="fold")
    for row in cells:
        made.add_row(*(Text(cell, style=_cell_style(name, cell)) for name, cell in zip(header, row, strict=True)))
    return made


def _cell_style(name: str, cell: str) -> str:
    found = (style for column, begin, style in _CELLS if name.startswith(column) and _matches(cell, begin))
    return next(found, "")


def _matches(cell: str, begin: str) -> bool:
    return cell == begin if begin in ("0", "-") else cell.startswith(begin)


# ---- diagnostics
def diagnostic(text: str) -> Text:
    """Text with diagnostics: their kinds are colored, their files are links."""
    from rich.text import Text

    styled = Text(text)
    for found in _DIAGNOSTIC.finditer(text):
        styled.stylize(_KINDS[found["kind"].partition("[")[0]], *found.span("kind"))
        if found["file"]:
            link = Path(found["file"]).absolute().as_uri()
            end = found.end("column") if found["column"] else found.end("file")
            styled.stylize(f"bold link {link}", found.start("file"), end)
    return styled


def coloured(text: str, stream: TextIO) -> str:
    """``text`` for ``stream``, with any diagnostics colored. Nothing is wrapped or truncated."""
    if not _DIAGNOSTIC.search(text) or not has_colour(stream):
        return text
    made = io.StringIO()
    console(made).print(diagnostic(text), end="", soft_wrap=True)
    return made.getvalue()


def print_stderr(text: str) -> None:
    """Write a line of a message to stderr at once:

    SCons writes the line end of ``print`` separately, after other threads' lines.
    """
    sys.stderr.write(f"{text}\n")


def first_location(text: str) -> str | None:
    """The first file and line of diagnostics in ``text``: "k.py:17"."""
    found = next((found for found in _DIAGNOSTIC.finditer(text) if found["line"]), None)
    return None if found is None else f"{found['file']}:{found['line']}"


def explain_hint(text: str, stream: TextIO) -> str:
    """A line that names the command that explains the first diagnostic in ``text``; empty if nobody reads ``stream``
    as it is written.
    """
    found = _ID.search(text)
    return f"see `tileiras-build explain {found[1]}`\n" if found and is_terminal(stream) else ""


# ---- the line of a running build
class RunningLine:
    """One line at the bottom of a terminal: progress, the remaining time, and the running steps."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._progress: Progress | None = None
        self._share = 0.0

    def update(self, done: int, total: int, running: str) -> None:
        """Update the line; the bar never moves back, though the total may increase."""
        self._share = max(self._share, done / max(total, 1))
        if self._progress is None:
            self._progress = self._make()
        count = f"[{done:>{len(str(total))}}/{total}]"
        self._progress.update(self._progress.task_ids[0], completed=self._share, count=count, running=running)
        if self._progress.live.is_started:
            self._progress.refresh()
        else:
            self._progress.start()

    def clear(self) -> None:
        """Remove the line, so that other text can be written in its place."""
        if self._progress is not None and self._progress.live.is_started:
            self._progress.stop()

    def _make(self) -> Progress:
        from rich import progress
        from rich.table import Column

        one_line = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        made = progress.Progress(
            progress.TextColumn("{task.fields[count]}", table_column=Column(no_wrap=True), markup=False),
            progress.BarColumn(20),
            progress.TaskProgressColumn(),
            progress.TimeRemainingColumn(compact=True),
            progress.TextColumn("{task.fields[running]}", table_column=one_line, markup=False),
            console=console(self._stream), expand=True, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        made.add_task("", total=1.0, count="", running="")
        return made
