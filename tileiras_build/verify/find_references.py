"""Where the row of a kernel stands: in its own Python file, or in the Python file beside a source that is none.

``softmax.py`` says in CASES what its kernels compute. ``softmax.cu`` and ``softmax.tilebc`` can say nothing of that kind, so
``softmax.py`` beside them may, in a table REFERENCES.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from ..core.errors import InvalidInput, Location
from ..core.symbols.itanium_demangler import demangle
from ..frontend.export_cutile import opened_cases, opened_module
from ..frontend.kernel_case import Checked, Reference
from ..frontend.kernel_case_table import REFERENCES, display_path, has_table
from ..frontend.users_errors import users_code

PYTHON = ".py"


@contextmanager
def load_references(source: str, entries: Collection[str]) -> Iterator[dict[str, Checked]]:
    """The rows of the kernels ``entries`` (their symbols) that are made from the file ``source``, by symbol.

    Inside of the block the rows' functions may be called: they may import what lies beside their file. Raises InvalidInput
    as ``bytecode.export.load_cases`` does, and [reference-table] where REFERENCES is no table of the file's kernels.
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
    """The Python file that has the rows of the kernels of ``source``, whether or not it is there."""
    return source if source.endswith(PYTHON) else os.path.splitext(source)[0] + PYTHON


def has_references(path: str) -> bool:
    """Whether there is a Python file of this name, and it speaks of REFERENCES."""
    return os.path.isfile(path) and bool(has_table(path, REFERENCES))


def _by_symbol(path: str, table: object, entries: Collection[str]) -> dict[str, Checked]:
    if isinstance(table, dict | str) or not isinstance(table, Iterable):
        raise _bad_table(path, f"{REFERENCES} is a {type(table).__name__}, not a list of rows")
    rows: dict[str, Checked] = {}
    symbols = {demangle(symbol): symbol for symbol in entries} | {symbol: symbol for symbol in entries}
    for row in table:
        if not isinstance(row, Reference):
            raise _bad_table(path, f"{REFERENCES} has a {type(row).__name__}, not a Reference")
        if row.name not in symbols:
            kernels = ", ".join(sorted(map(demangle, entries)))
            raise _bad_table(path, f"{REFERENCES} has a row for {row.name!r}, and the kernels are {kernels}")
        if symbols[row.name] in rows:
            raise _bad_table(path, f"{REFERENCES} has two rows for {row.name!r}")
        rows[symbols[row.name]] = row
    return {symbol: row for symbol, row in rows.items() if row.inputs is not None}


def _bad_table(path: str, found: str) -> InvalidInput:
    first = has_table(path, REFERENCES)[0]
    place = Location(display_path(path), first.lineno, first.col_offset + 1)
    remedy = f'write {REFERENCES} = [Reference("kernel", inputs=…, reference=…, grid=…), …]'
    return InvalidInput("reference-table", found, location=place, remedy=remedy)
