"""Find the references of kernels: in the CASES of a Python file, or in REFERENCES of the Python file next to other sources.

``softmax.py`` defines its references in CASES. For ``softmax.cu`` and ``softmax.tilebc``, a ``softmax.py`` next to them defines
them in a table REFERENCES.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from ..core.errors import InvalidInput, Location
from ..core.symbols.itanium_demangler import demangle
from ..frontend.cases_table_from_ast import REFERENCES, display_path, has_table
from ..frontend.export_cutile import opened_cases, opened_module
from ..frontend.kernel_case import Checked, Reference
from ..frontend.users_errors import users_code

PYTHON = ".py"


@contextmanager
def load_references(source: str, entries: Collection[str]) -> Iterator[dict[str, Checked]]:
    """The references of the kernels ``entries`` (symbols) of the file ``source``, by symbol.

    The references' functions may be called inside the ``with`` block only: they may import modules next to their file. Raises
    InvalidInput as ``frontend.export_cutile.load_cases`` does, and [reference-table] for an invalid REFERENCES table.
    """
    if source.endswith(PYTHON):
        with opened_cases(source) as cases:
            yield {case.name: case for case in cases if case.name in entries and case.inputs is not None}
    elif has_references(path := reference_file(source)):
        with opened_module(path) as module:
            with users_code(os.path.dirname(os.path.realpath(path)), Location(path), f"{REFERENCES}: "):
                rows = _by_symbol(path, getattr(module, REFERENCES, None), entries)
            yield rows
    else:
        yield {}


def reference_file(source: str) -> str:
    """The path of the Python file with the references of ``source``; it need not exist."""
    return source if source.endswith(PYTHON) else os.path.splitext(source)[0] + PYTHON


def has_references(path: str) -> bool:
    """Whether the file exists and defines REFERENCES."""
    return os.path.isfile(path) and bool(has_table(path, REFERENCES))


def _by_symbol(path: str, table: object, entries: Collection[str]) -> dict[str, Checked]:
    if isinstance(table, dict | str) or not isinstance(table, Iterable):
        raise _bad_table(path, f"{REFERENCES} must be a list of Reference, got {type(table).__name__}")
    rows: dict[str, Checked] = {}
    symbols = {demangle(symbol): symbol for symbol in entries} | {symbol: symbol for symbol in entries}
    for row in table:
        if not isinstance(row, Reference):
            raise _bad_table(path, f"{REFERENCES} must contain Reference objects, got {type(row).__name__}")
        if row.name not in symbols:
            kernels = ", ".join(sorted(map(demangle, entries)))
            raise _bad_table(path, f"{REFERENCES}: no kernel {row.name!r} (kernels: {kernels})")
        if symbols[row.name] in rows:
            raise _bad_table(path, f"{REFERENCES}: duplicate entry for {row.name!r}")
        rows[symbols[row.name]] = row
    return {symbol: row for symbol, row in rows.items() if row.inputs is not None}


def _bad_table(path: str, found: str) -> InvalidInput:
    first = has_table(path, REFERENCES)[0]
    place = Location(display_path(path), first.lineno, first.col_offset + 1)
    remedy = f'write {REFERENCES} = [Reference("kernel", inputs=…, reference=…, grid=…), …]'
    return InvalidInput("reference-table", found, location=place, remedy=remedy)
