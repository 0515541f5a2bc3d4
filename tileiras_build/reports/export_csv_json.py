"""The rows of a report for programs: as CSV, and as JSON, which a later report is compared with."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import msgspec

from ..core.errors import InvalidInput, Location
from ..core.file_io import read_file
from .collect_rows import KernelRow

VERSION = 1
COLUMNS = tuple(field.name for field in fields(KernelRow))


@dataclass(frozen=True)
class _Document:
    version: int
    rows: list[KernelRow]


def json_text(rows: Iterable[KernelRow]) -> str:
    """One document with ``version`` and ``rows``; sizes in bytes, null = not known."""
    return json.dumps({"version": VERSION, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"


def csv_text(rows: Iterable[KernelRow]) -> str:
    """A line with the names of the columns, then one for each row; nothing in a cell = not known."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(astuple(row) for row in rows)
    return stream.getvalue()


def read_baseline(path: Path) -> list[KernelRow]:
    """The rows that ``json_text`` has written. Raises InvalidInput[report-baseline] for any other file."""
    try:
        document = msgspec.json.decode(read_file(path), type=_Document)
        if document.version != VERSION:
            raise ValueError(f"version {document.version}, expected {VERSION}")
        return document.rows
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"this is not the JSON of a report: {error}"
        remedy = "write one with tileiras-build report DIR --json"
        raise InvalidInput("report-baseline", message, location=Location(str(path)), remedy=remedy) from None
