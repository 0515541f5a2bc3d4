"""One file reads and writes private members of xDSL: a release of xDSL may change them."""

import ast
import re
from functools import cache
from pathlib import Path

import xdsl.ir.core

from tileiras_build.pipeline.stages import PACKAGE

ONLY = "ir/dialects/fast_xdsl.py"
_PRIVATE = re.compile(r"\b_\w+")
_IMPORT = re.compile(r"from xdsl[\w.]* import (\([^)]*|[^\n]*)\b_[^\W_]")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def attributes(nodes: list[ast.AST]) -> set[str]:
    """The private attributes that a module reads or writes, of any object."""
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_private(node.attr)}


def members(nodes: list[ast.AST]) -> set[str]:
    """The private members that a module's classes define: fields, methods, and what they assign to themselves."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {node.attr} if isinstance(node.value, ast.Name) and node.value.id == "self" else set()
    return set(filter(is_private, found))


def imports(nodes: list[ast.AST]) -> set[str]:
    """The private names that a module imports from xDSL."""
    statements = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in statements if (node.module or "").startswith("xdsl") for alias in node.names]
    return set(filter(is_private, names))


@cache
def of_xdsl() -> set[str]:
    """The private members of xDSL's operations, blocks and values."""
    return members(nodes_of(Path(xdsl.ir.core.__file__)))


def uses_of(path: Path) -> set[str]:
    """The private members of xDSL's operations, blocks and values that a module uses; those of its own classes may have
    equal names."""
    if not _may_use_some(path.read_text()):
        return set()
    nodes = nodes_of(path)
    used = attributes(nodes) & of_xdsl()
    return (used - members(nodes) if used else used) | imports(nodes)


def _may_use_some(source: str) -> bool:
    """Whether a private member stands in the text, or a private name behind an import of xDSL's: a syntax tree takes longer."""
    return bool(of_xdsl() & set(_PRIVATE.findall(source)) or _IMPORT.search(source))


def test_one_file_uses_private_members_of_xdsl():
    assert {"_operands", "_type", "_next_op", "_args"} <= of_xdsl()
    used = {path.relative_to(PACKAGE).as_posix(): uses_of(path) for path in PACKAGE.rglob("*.py")}
    assert {name: found for name, found in used.items() if found and name != ONLY} == {}
    assert used[ONLY]
