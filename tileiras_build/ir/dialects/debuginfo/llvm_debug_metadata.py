"""Debug attributes as the metadata of LLVM IR text: ``!7 = !DILocation(line: 3, column: 5, scope: !4)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.symbols.check_symbol_names import llvm_string
from .attrs import DICompileUnit, DIExpression, DISubprogram, DISubroutineType, Field, Node

# MLIR's keywords -> LLVM's.
EMISSION_KINDS = {
    "Full": "FullDebug",
    "LineTablesOnly": "LineTablesOnly",
    "DebugDirectivesOnly": "DebugDirectivesOnly",
    "None": "NoDebug",
}
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_EXTRA: dict[type[Node], str] = {DICompileUnit: ", runtimeVersion: 0"}


def quoted(text: str) -> str:
    """A quoted string in LLVM's syntax; DWARF strings end at a zero byte, so none is allowed."""
    return f'"{llvm_string(text.replace(chr(0), REPLACEMENT))}"'


class DebugMetadata:
    """Assigns ids to debug nodes, from ``first`` on in order of first use; equal nodes share an id."""

    def __init__(self, first: int = 100):
        self.first = first
        self.texts: list[str] = []
        self._ids: dict[object, int] = {}

    def number(self, node: Node) -> int:
        """The id of a node; its operands are assigned ids first."""
        if (known := self._ids.get(node)) is None:
            known = self._ids[node] = self._add(self._text(node))
        return known

    def lines(self) -> list[str]:
        """The definitions of all nodes so far."""
        return [f"!{self.first + index} = {text}" for index, text in enumerate(self.texts)]

    def _add(self, text: str) -> int:
        self.texts.append(text)
        return self.first + len(self.texts) - 1

    def _text(self, node: Node) -> str:
        if isinstance(node, DISubroutineType) and node.types is None:
            return "!DISubroutineType(types: !{null})"
        fields = [(field, value) for field, value in zip(node.FIELDS, node.data) if value is not None]
        body = ", ".join(self._field(field, value) for field, value in fields if field.metadata != "")
        distinct = "distinct " if any(field.kind == "distinct" for field in node.FIELDS) else ""
        return f"{distinct}!{type(node).__name__}({body}{_EXTRA.get(type(node), '')})"

    def _field(self, field: Field, value: Any) -> str:
        return f"{field.metadata or field.key}: {self._value(field, value)}"

    def _value(self, field: Field, value: Any) -> str:
        if field.key == "subprogramFlags":
            return " | ".join(f"DISPFlag{word}" for word in value.split("|"))
        if field.key == "emissionKind":
            return EMISSION_KINDS[value]
        if field.key == "flags":
            return f"DIFlag{value}"
        return _WRITERS[field.kind](self, value)

    def _tuple(self, nodes: tuple[Node, ...]) -> str:
        key = ("tuple", *nodes)
        if key not in self._ids:
            body = ", ".join(f"!{self.number(node)}" for node in nodes)
            self._ids[key] = self._add(f"!{{{body}}}")
        return f"!{self._ids[key]}"


_WRITERS: dict[str, Callable[[DebugMetadata, Any], str]] = {
    "string": lambda metadata, value: quoted(value),
    "word": lambda metadata, value: value,
    "number": lambda metadata, value: str(value),
    "truth": lambda metadata, value: "true" if value else "false",
    "node": lambda metadata, value: f"!{metadata.number(value)}",
    "nodes": lambda metadata, value: metadata._tuple(value),
}


def expression_text(expression: DIExpression) -> str:
    """``!DIExpression(DW_OP_LLVM_fragment, 0, 32)``: LLVM writes expressions inline."""
    words = [str(word) for operator, operands in expression.data for word in (operator, *operands)]
    return f"!DIExpression({', '.join(words)})"


def subprogram_of(scope: Node) -> DISubprogram:
    """The function that contains a scope."""
    while not isinstance(scope, DISubprogram):
        scope = scope.scope
    return scope


MODULE_FLAGS = (
    # Without the first, LLVM drops all debug metadata; ptxas supports DWARF 2.
    '!{i32 2, !"Debug Info Version", i32 3}',
    '!{i32 2, !"Dwarf Version", i32 2}',
)
