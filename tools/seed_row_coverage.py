"""Whether production code covers each row of tests/seeds/rows.toml; ``tools/uncalled_functions.py --rows`` writes the result.

A mutation of a row (tests/seeds/mutations.toml) names the text that makes it. The row is one of

    production    the function around that text runs where kernels are compiled. Of a table: a function that runs names it,
                  and operations that the entry names are made. Of what LLVM does: the words are in its input or output.
    opt           that is so with the front ends only: ``opt`` and the tests of IR that is written by hand
    command       neither: options of commands, or input of LLVM's that no kernel has
    diagnostic    a refusal, whose text is verbatim
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Operation

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.conformance_seeds import CLASSES, REACHED, read_rows
from tools.seed_mutations import PACKAGE, Mutation, read_mutations, words_of

_OPERATION = re.compile(r"\b[A-Z]\w*Op\b")
_HEAD = "# Made by `python tools/uncalled_functions.py --rows`: what runs each row (tools/seed_row_coverage.py).\n"


@dataclass
class Evidence:
    """What was seen while something ran: code, the classes of operations, words that LLVM got or printed."""

    codes: dict[int, CodeType] = field(default_factory=dict)
    operations: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hear of the functions whose values tell more than that they run: what they return, or leave of their module."""
        from tileiras_build.pipeline import opt, pass_manager
        from tileiras_build.pipeline.ll_to_ptx import compile_module

        nvptx = compile_module._Nvptx
        with ExitStack() as stack:
            for owner, name, note in (
                # The module behind each pass, and what text is read as.
                (pass_manager, "_run_one", lambda result, edge_pass, module, job: self._note_operations(module)),
                (opt, "parse_module", lambda result, *given: self._note_operations(result)),
                (nvptx, "run", lambda result, serializer, *given: self._note_words(result, serializer._lines.text)),
            ):
                stack.enter_context(_followed(owner, name, note))
            yield

    def _note_operations(self, module: Operation) -> None:
        from tileiras_build.ir.dialects.fast_xdsl import walk

        self.operations |= {kind.__name__ for kind in {*map(type, walk(module))}}

    def _note_words(self, printed: str, handed: str) -> None:
        self.words |= {word for word in _words() if word in printed or word in handed}

    def by_file(self) -> dict[str, set[int]]:
        """The first lines of the code that was entered, by file."""
        found: dict[str, set[int]] = {}
        for code in self.codes.values():
            found.setdefault(code.co_filename, set()).add(code.co_firstlineno)
        return found

    def names(self) -> set[str]:
        """What functions that were entered name, and tables that these name."""
        found = {name for code in self.codes.values() if code.co_name != "<module>" for name in code.co_names}
        tables, fresh = _tables(), found
        while fresh:
            fresh = {name for table in fresh for name in tables.get(table, ())} - found
            found |= fresh
        return found


@contextmanager
def _followed(owner: object, name: str, note: Callable[..., None]) -> Iterator[None]:
    """Inside, ``note`` is called with what a function returns and with its arguments, each time that it returns."""
    function = getattr(owner, name)

    def call(*arguments):
        result = function(*arguments)
        note(result, *arguments)
        return result

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, function)


@cache
def _words() -> tuple[str, ...]:
    return tuple({word for mutation in read_mutations() if (word := words_of(mutation))})


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a file: several looks at the package ask for it."""
    return ast.parse(text)


@cache
def _tree(file: str) -> ast.Module:
    return parsed((ROOT / file).read_text())


@cache
def _tables() -> dict[str, set[str]]:
    """Name of a table at the top of a module -> the names in it."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in _tree(path.relative_to(ROOT).as_posix()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                inside = {child.id for child in ast.walk(node.value) if isinstance(child, ast.Name)}
                inside |= {child.attr for child in ast.walk(node.value) if isinstance(child, ast.Attribute)}
                for name in _targets(node):
                    found.setdefault(name, set()).update(inside)
    return found


def _targets(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        yield from (child.id for child in ast.walk(target) if isinstance(child, ast.Name)) if target else ()


def _line_of(mutation: Mutation) -> int:
    """The first line that a mutation changes."""
    text = (ROOT / mutation.file).read_text()
    same = next((i for i, (a, b) in enumerate(zip(mutation.old, mutation.new)) if a != b), len(mutation.new))
    return text.count("\n", 0, text.index(mutation.old) + min(same, len(mutation.old) - 1)) + 1


def _around(file: str, line: int) -> list[ast.stmt]:
    """The statements around a line, from the outside in, that are functions or classes or stand in none."""
    found: list[ast.stmt] = []
    nodes: list[ast.stmt] = _tree(file).body
    while inside := [node for node in nodes if _start(node) <= line <= (node.end_lineno or 0)]:
        found.append(inside[0])
        nodes = [child for child in ast.iter_child_nodes(inside[0]) if isinstance(child, ast.stmt)]
    return [node for node in found if isinstance(node, ast.FunctionDef | ast.ClassDef)] or found[:1]


def _start(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])


class Reach:
    """Which mutations change what was seen to run."""

    def __init__(self, evidence: Evidence):
        self.evidence, self.entered, self.names = evidence, evidence.by_file(), evidence.names()

    def has(self, mutation: Mutation) -> bool:
        """Whether the text that a mutation changes was at work."""
        if word := words_of(mutation):
            return word in self.evidence.words
        *_, node = _around(mutation.file, _line_of(mutation))
        entered = self.entered.get(str(ROOT / mutation.file), set())
        if isinstance(node, ast.FunctionDef):
            return _start(node) in entered
        if isinstance(node, ast.ClassDef):
            methods = {_start(child) for child in node.body if isinstance(child, ast.FunctionDef)}
            return bool(methods & entered) or node.name in self.evidence.operations | self.names
        named = set(_OPERATION.findall(mutation.old))
        return bool(self.names.intersection(_targets(node))) and (not named or bool(named & self.evidence.operations))


def classes(production: Evidence, everything: Evidence) -> dict[str, dict[str, str]]:
    """The class of each row that is ours, by document."""
    made, seen = Reach(production), Reach(everything)
    mutations: dict[tuple[str, str], list[Mutation]] = {}
    for mutation in read_mutations():
        mutations.setdefault((mutation.document, mutation.row), []).append(mutation)
    found: dict[str, dict[str, str]] = {}
    for row in (row for row in read_rows() if not row.not_ours and not row.deviates):
        ours = mutations[row.document, row.id]
        found.setdefault(row.document, {})[row.id] = _class(row.kind, ours, made, seen)
    return found


def _class(kind: str, mutations: Iterable[Mutation], made: Reach, seen: Reach) -> str:
    production, opt, command, diagnostic = CLASSES
    if kind == diagnostic:
        return diagnostic
    if any(map(made.has, mutations)):
        return production
    return opt if any(map(seen.has, mutations)) else command


def write(found: dict[str, dict[str, str]]) -> None:
    """Write the file that the page reads."""
    parts = [_HEAD]
    for document, rows in found.items():
        parts.append(f"\n[{document}]\n" + "".join(f'{row} = "{name}"\n' for row, name in rows.items()))
    REACHED.write_text("".join(parts))


def read() -> dict[str, dict[str, str]]:
    """What ``write`` wrote."""
    return tomllib.loads(REACHED.read_text())
