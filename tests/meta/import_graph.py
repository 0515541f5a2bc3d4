"""Which modules of the package import which, from the source text: function-level imports count too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.compiled_once import once
from tileiras_build.pipeline.stages import PACKAGE
from tileiras_build.target.sass_listing import cycles

_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")  # the fields that statements stand in


class Statements(NamedTuple):
    """What a module imports, and what of that under ``if TYPE_CHECKING:``."""

    imports: list[ast.Import | ast.ImportFrom]
    type_only: list[ast.ImportFrom]


@cache
def module_files() -> dict[str, Path]:
    """Every module of the package, by dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = (PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports_of(module: str) -> frozenset[str]:
    """The package's modules that ``module`` imports or names as ``"module:function"``."""
    path = module_files()[module]
    found: set[str] = set()
    for node in statements()[module].imports:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            base = _base(module, path, node)
            found.update((base, *(f"{base}.{alias.name}" for alias in node.names)))
    return frozenset(found & module_files().keys()) - {module, PACKAGE.name}


def _base(module: str, path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)


def closure(*modules: str) -> set[str]:
    """``modules`` and everything of the package that they need, directly or through each other."""
    seen, waiting = set(), [module for module in modules if module in module_files()]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += imports_of(module)
    return seen


def needed_by(module: str) -> set[str]:
    """What a module needs when it runs, directly or through others: of ``from package import module`` the module alone."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _needed_by(name)
    return seen - {module}


def is_type_only(module: str, imported: str) -> bool:
    """Whether ``module`` imports ``imported`` under ``if TYPE_CHECKING:`` only."""
    return imported in _type_only(module)


@cache
def statements() -> dict[str, Statements]:
    """Of every module; read once for all processes of a test session."""
    return once(("imports",), lambda: {module: _read(path) for module, path in module_files().items()})


def _read(path: Path) -> Statements:
    imports: list[ast.Import | ast.ImportFrom] = []
    guarded: list[ast.ImportFrom] = []
    for node in _within(ast.parse(path.read_bytes())):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(node)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            inside = (inner for statement in node.body for inner in (statement, *_within(statement)))
            guarded += (inner for inner in inside if isinstance(inner, ast.ImportFrom))
    return Statements(imports, guarded)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """The statements inside, at any depth: no expression has one, and most of a tree is expressions."""
    for part in _PARTS:
        for child in getattr(node, part, ()):
            yield child
            yield from _within(child)


@cache
def _type_only(module: str) -> set[str]:
    """What the module imports from under ``if TYPE_CHECKING:``, and nowhere else."""
    path, guarded = module_files()[module], set(statements()[module].type_only)
    froms = {node for node in statements()[module].imports if isinstance(node, ast.ImportFrom)}
    return {_base(module, path, node) for node in guarded} - {_base(module, path, node) for node in froms - guarded}


def circles() -> list[list[str]]:
    """The groups of modules that import one another in a circle, each sorted; imports for type checkers do not count."""
    names = sorted(module_files())
    indices = {name: number for number, name in enumerate(names)}
    targets = [sorted(indices[imported] for imported in _needed_by(name)) for name in names]
    return sorted(sorted(names[number] for number in circle) for circle in cycles(targets))


@cache
def _needed_by(module: str) -> set[str]:
    """What a module imports itself: of ``from package import module`` the module alone."""
    path, found = module_files()[module], set()
    for node in statements()[module].imports:
        if isinstance(node, ast.ImportFrom) and not is_type_only(module, base := _base(module, path, node)):
            members = (f"{base}.{alias.name}" for alias in node.names)
            found |= {member if member in module_files() else base for member in members}
    return found & imports_of(module)
