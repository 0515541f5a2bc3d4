"""The table of a kernel file, ``CASES``, as its syntax tree has it: names without running the file.

A table of plain rows (``CASES = [Case("name", …), …]``) names its kernels in literals. A table that code builds
(a comprehension, ``append``, a function's result, computed names) is known only after the file has run. A file without
``CASES`` is a module that others import.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from ..core.errors import InvalidInput, Location, exception_text
from ..core.file_io import read_file
from ..core.symbols.check_symbol_names import KERNEL, check_names, quoted_name

TABLE = "CASES"
CHOICES = ".tune.json"  # of the file of choices beside it (tuning_choices.py)
REFERENCES = "REFERENCES"  # of kernels whose source is beside the file
CASE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True)
class CaseRow:
    """A row of the table: its name and location (line and column from 1); in a computed table, the location of the table."""

    name: str
    line: int
    column: int


def read_rows(path: str | os.PathLike) -> list[CaseRow] | None:
    """The rows of a table of literals, each a call whose first argument is the name; None for a computed table.

    Raises InvalidInput[export-cases] where the file has no table, and for invalid names.
    """
    return rows_of(path, parse(path))


def rows_of(path: str | os.PathLike, tree: ast.Module) -> list[CaseRow] | None:
    """As ``read_rows``, of the file's syntax ``tree``."""
    if not (mentions := _mentions(tree)):
        raise table_error(path, f"no {TABLE} table at module level")
    table = _literal_table(tree, mentions)
    return None if table is None else checked_rows(path, map(_row, table.elts))


def is_helper(path: str | os.PathLike) -> bool:
    """Whether the file declares no kernels; raises InvalidInput[export] where it is not Python."""
    return not _mentions(parse(path))


def table_location(tree: ast.Module) -> tuple[int, int]:
    """Line and column of the first mention of the table."""
    first = _mentions(tree)[0]
    return first.lineno, first.col_offset + 1


def checked_rows(path: str | os.PathLike, rows: Iterable[CaseRow]) -> list[CaseRow]:
    """The rows; raises InvalidInput[export-cases] where a name is invalid or occurs twice."""
    found: dict[str, CaseRow] = {}
    for row in rows:
        if not CASE_NAME.fullmatch(row.name):
            raise table_error(path, f"case name {quoted_name(row.name)} is not an identifier", row.line, row.column)
        check_names([(KERNEL, row.name, partial(Location, os.fspath(path), row.line, row.column))])
        if row.name in found:
            raise table_error(path, f"case {row.name!r} appears twice", row.line, row.column)
        found[row.name] = row
    return list(found.values())


def parse(path: str | os.PathLike) -> ast.Module:
    """The syntax tree of a file; raises InvalidInput[export]."""
    try:
        return _parse(read_file(path), os.fspath(path))
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", 0) or 0, getattr(error, "offset", 0) or 0
        message = f"{type(error).__name__}: {getattr(error, 'msg', None) or exception_text(error)}"
        place = Location(display_path(os.fspath(path)), line, column)
        raise InvalidInput("export", message, location=place, remedy="correct the kernel file") from None


@lru_cache(maxsize=16)
def _parse(source: bytes, path: str) -> ast.Module:
    """The tree, which nobody changes: a build asks several questions about each file."""
    return ast.parse(source, filename=path)


def has_table(path: str | os.PathLike, table: str) -> list[ast.Name | ast.ImportFrom]:
    """Where the file mentions a table; raises InvalidInput[export] where it is not Python."""
    return _mentions(parse(path), table)


def _mentions(tree: ast.Module, table: str = TABLE) -> list[ast.Name | ast.ImportFrom]:
    """Where the file mentions the table, in the order of the text: its name, and imports of it."""
    found = [node for node in _nodes(tree) if isinstance(node, ast.Name | ast.ImportFrom) and _names(node, table)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _names(node: ast.Name | ast.ImportFrom, table: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == table
    return any((alias.asname or alias.name) == table for alias in node.names)


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """All nodes of a tree, several times as fast as ``ast.walk``."""
    found: list[ast.AST] = [tree]
    for node in found:
        for value in vars(node).values():
            if isinstance(value, list):
                found.extend(part for part in value if isinstance(part, ast.AST))
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def _literal_table(tree: ast.Module, mentions: list) -> ast.List | ast.Tuple | None:
    """The table, if a single assignment of a literal defines it and nothing else in the file mentions it."""
    for statement in tree.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        value = statement.value
        if targets == mentions and isinstance(value, ast.List | ast.Tuple) and all(map(_is_plain, value.elts)):
            return value
    return None


def _is_plain(element: ast.expr) -> bool:
    first = element.args[0] if isinstance(element, ast.Call) and element.args else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str)


def _row(element: ast.expr) -> CaseRow:
    assert isinstance(element, ast.Call) and isinstance(element.args[0], ast.Constant)
    return CaseRow(str(element.args[0].value), element.lineno, element.col_offset + 1)


def table_error(path: str | os.PathLike, found: str, line: int = 0, column: int = 0) -> InvalidInput:
    """The error of an invalid table."""
    return InvalidInput(
        "export-cases",
        found,
        location=Location(os.fspath(path), line, column),
        remedy=f'write {TABLE} = [Case("name", kernel, (…)), …] with one row per kernel to export',
    )


def find_imports(path: str | os.PathLike) -> list[Path]:
    """The ``.py`` files beside ``path`` that it imports, directly or through each other, sorted.

    Dependencies of a build besides the file itself. Reads syntax trees only.
    """
    folder, found, waiting = Path(path).parent, set(), [Path(path)]
    while waiting:
        for name in _imported_names(parse(waiting.pop())):
            sibling = folder / f"{name}.py"
            if sibling not in found and sibling != Path(path) and sibling.is_file():
                found.add(sibling)
                waiting.append(sibling)
    return sorted(found)


def _imported_names(tree: ast.Module) -> Iterator[str]:
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level <= 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.partition(".")[0] for name in names)


def imports_relatively(tree: ast.Module) -> bool:
    """Whether the file has ``from . import x`` or the like: it belongs to a package."""
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in _nodes(tree))


def display_path(path: str) -> str:
    """The path relative to the working directory where it is below it, as compilers print it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
