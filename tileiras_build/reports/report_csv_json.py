"""The rows of a report as CSV, and as JSON, which is also the baseline format of later reports."""

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
    """One document with ``version`` and ``rows``; sizes in bytes, null for unknown."""
    return json.dumps({"version": VERSION, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"


def csv_text(rows: Iterable[KernelRow]) -> str:
    """A header line, then one line per row; empty cells for unknown values."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(astuple(row) for row in rows)
    return stream.getvalue()


def read_baseline(path: Path) -> list[KernelRow]:
    """The rows written by ``json_text``. Raises InvalidInput[report-baseline] for any other file."""
    try:
        document = msgspec.json.decode(read_file(path), type=_Document)
        if document.version != VERSION:
            raise ValueError(f"version {document.version}, expected {VERSION}")
        return document.rows
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"not a report JSON file: {error}"
        remedy = "write one with tileiras-build report DIR --json"
        raise InvalidInput("report-baseline", message, location=Location(str(path)), remedy=remedy) from None
