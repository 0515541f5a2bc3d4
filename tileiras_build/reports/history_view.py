"""The view model of a kernel's history: a row for each build in which it changed, and a trend line for each metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.byte_sizes import size_text
from .build_history import METRICS, BuildRecord, History, Values

WIDTH, HEIGHT = 110, 26  # of a trend line in pixels
_MARGIN = 3


def _time(value: float) -> str:
    return f"{value:.2f} us"


# The columns of a build: title, metrics that are added up, and their format.
COLUMNS: tuple[tuple[str, tuple[str, ...], Callable[[float], str]], ...] = (
    ("registers", ("registers",), "{:g}".format),
    ("spills", ("spill_stores", "spill_loads"), size_text),
    ("shared memory", ("shared",), size_text),
    ("stack", ("stack",), size_text),
    ("instructions", ("instructions",), "{:,.0f}".format),
    ("cubin", ("size",), size_text),
    ("estimate", ("microseconds",), _time),
)


@dataclass(frozen=True)
class Cell:
    """A formatted metric, and whether it differs from the build before."""

    text: str
    changed: bool


@dataclass(frozen=True)
class BuildRow:
    """One build of the table; ``named``: labelled by the user."""

    title: str
    named: bool
    cells: list[Cell]


@dataclass(frozen=True)
class Trend:
    """The trend line of one column: SVG polyline points, the last of them, and a text description."""

    points: str
    last: tuple[float, float]
    description: str


@dataclass(frozen=True)
class HistoryView:
    """The builds, newest first; ``trends`` are None for constant columns."""

    titles: list[str]
    trends: list[Trend | None]
    rows: list[BuildRow]
    builds: int


def view_history(history: History, key: str) -> HistoryView | None:
    """The history of one kernel on one GPU, by its key; None if there is only one build."""
    series = [
        _comparable(one, build, history.builds[-1]) for one, build in zip(history.of(key), history.builds, strict=True)
    ]
    table = [[_number(values, names) for _, names, _ in COLUMNS] for values in series]
    if len(table) < 2:
        return None
    used = [column for column in range(len(COLUMNS)) if any(row[column] is not None for row in table)]
    titles = [COLUMNS[column][0] for column in used]
    trends = [_trend([row[column] for row in table], COLUMNS[column][2]) for column in used]
    shown = [
        n for n in range(len(table)) if n in (0, len(table) - 1) or table[n] != table[n - 1] or history.builds[n].name
    ]
    rows = [_row(history.builds[n], table[n], table[n - 1] if n else None, used) for n in reversed(shown)]
    return HistoryView(titles, trends, rows, len(table))


def _comparable(values: Values | None, build: BuildRecord, newest: BuildRecord) -> Values | None:
    if values is None or build.problem == newest.problem:
        return values
    return (*values[:-1], None)


def _number(values: Values | None, names: Sequence[str]) -> float | None:
    found = [] if values is None else [values[METRICS.index(name)] for name in names]
    known = [number for number in found if number is not None]
    return sum(known) if known else None


def _row(
    build: BuildRecord, now: list[float | None], before: list[float | None] | None, used: Sequence[int]
) -> BuildRow:
    cells = [
        Cell(
            "-" if (value := now[column]) is None else COLUMNS[column][2](value),
            before is not None and value != before[column],
        )
        for column in used
    ]
    return BuildRow(build.title, build.name is not None, cells)


def _trend(values: Sequence[float | None], show: Callable[[float], str]) -> Trend | None:
    known = [(number, value) for number, value in enumerate(values) if value is not None]
    low, high = (edge(value for _, value in known) for edge in (min, max))
    if low == high:
        return None
    across, up = (WIDTH - 2 * _MARGIN) / max(len(values) - 1, 1), (HEIGHT - 2 * _MARGIN) / (high - low)
    points = [(_MARGIN + across * number, HEIGHT - _MARGIN - up * (value - low)) for number, value in known]
    words = f"from {show(known[0][1])} to {show(known[-1][1])}, lowest {show(low)}, highest {show(high)}"
    return Trend(" ".join(f"{x:.1f},{y:.1f}" for x, y in points), points[-1], words)
