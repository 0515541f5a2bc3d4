"""Plain-text tables: aligned columns, words to the left and numbers to the right."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..units import UNITS

_NUMBER = re.compile(rf"\d[\d,]*(\.\d+)?(%| ({'|'.join(UNITS)}))?", re.ASCII)


def align(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """``rows`` under ``header`` and a rule; a column in which every cell is a number or "-" is right-aligned."""
    cells = [[str(cell) for cell in row] for row in rows]
    columns = list(zip(header, *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(cell == "-" or _is_number(cell) for cell in column[1:]) for column in columns]
    lines = [_line(row, widths, right) for row in (header, *cells)]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None
