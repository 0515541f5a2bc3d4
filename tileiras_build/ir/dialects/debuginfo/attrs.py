"""Debug metadata as attributes, in the text form of MLIR's LLVM dialect (``#llvm.di_file<"k.py" in "src">``).

Each kind of node is one class with a row per field; ``llvm_debug_metadata.py`` writes the same rows as LLVM metadata. An absent
optional field is None and is not printed.

``#llvm.di_location`` is ours: it holds what MLIR keeps in an operation's location once the scope is known, so that the
result of TranslateDebugInfo is text that parses back.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@dataclass(frozen=True)
class Field:
    """One field of a node: its key, its kind (a key of KINDS) and whether it may be absent.

    ``metadata`` is the key in LLVM's spelling where that differs; an empty one means that LLVM has no such field.
    """

    key: str
    kind: str
    optional: bool = False
    metadata: str | None = None

    def __post_init__(self):
        assert self.kind in KINDS, self.kind


def _parse_distinct(parser: AttrParser) -> int:
    parser.parse_keyword("distinct")
    parser.parse_punctuation("[")
    number = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_punctuation("]")
    parser.parse_punctuation("<")
    parser.parse_punctuation(">")
    return number


def _parse_nodes(parser: AttrParser) -> tuple:
    nodes = [parser.parse_attribute()]
    while parser.parse_optional_punctuation(","):
        nodes.append(parser.parse_attribute())
    return tuple(nodes)


def _print_nodes(printer: Printer, nodes: tuple) -> None:
    printer.print_list(nodes, printer.print_attribute)


# Kind -> (reader, writer) of a field's value: a str, int, bool, node, or tuple of nodes.
KINDS: dict[str, tuple[Callable[[AttrParser], Any], Callable[[Printer, Any], None]]] = {
    "string": (lambda p: p.parse_str_literal(), lambda p, v: p.print_string_literal(v)),
    "word": (lambda p: p.parse_identifier(), lambda p, v: p.print_string(v)),
    "number": (lambda p: p.parse_integer(allow_boolean=False), lambda p, v: p.print_string(str(v))),
    "truth": (lambda p: p.parse_boolean(), lambda p, v: p.print_string("true" if v else "false")),
    "distinct": (_parse_distinct, lambda p, v: p.print_string(f"distinct[{v}]<>")),
    "node": (lambda p: p.parse_attribute(), lambda p, v: p.print_attribute(v)),
    # Without brackets, as MLIR prints it: always the last field.
    "nodes": (_parse_nodes, _print_nodes),
}


def _reader(index: int) -> Callable[[Node], Any]:
    return lambda node: node.data[index]


class Node(Data[tuple]):
    """A debug node: the values of its FIELDS, which are also attributes of the object; created by ``of(key=value)``."""

    FIELDS: ClassVar[tuple[Field, ...]] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The value of a field."""

    def __init_subclass__(cls) -> None:
        for index, field in enumerate(cls.__dict__.get("FIELDS", ())):
            # Every attribute class has a ``name`` already: that of its kind.
            key = "source_name" if field.key == "name" else field.key
            setattr(cls, key, property(_reader(index)))

    @classmethod
    def of(cls, **values: Any) -> Self:
        """A node from its fields by key; raises TypeError for an unknown or missing one."""
        unknown = values.keys() - {field.key for field in cls.FIELDS}
        missing = [f.key for f in cls.FIELDS if not f.optional and values.get(f.key) is None]
        if unknown or missing:
            raise TypeError(f"{cls.name}: unknown fields {sorted(unknown)}, missing fields {missing}")
        return cls(tuple(values.get(field.key) for field in cls.FIELDS))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple:
        fields = {field.key: field for field in cls.FIELDS}
        values: dict[str, Any] = {}
        with parser.in_angle_brackets():
            while True:
                key = parser.parse_identifier()
                if key not in fields or key in values:
                    parser.raise_error(f"{cls.name} has no field {key} here")
                parser.parse_punctuation("=")
                values[key] = KINDS[fields[key].kind][0](parser)
                if not parser.parse_optional_punctuation(","):
                    break
        missing = [field.key for field in cls.FIELDS if not field.optional and field.key not in values]
        if missing:
            parser.raise_error(f"{cls.name} needs the field {missing[0]}")
        return tuple(values.get(field.key) for field in cls.FIELDS)

    def print_parameter(self, printer: Printer) -> None:
        present = [(field, value) for field, value in zip(self.FIELDS, self.data) if value is not None]
        with printer.in_angle_brackets():
            for position, (field, value) in enumerate(present):
                printer.print_string(f"{', ' if position else ''}{field.key} = ")
                KINDS[field.kind][1](printer, value)


@irdl_attr_definition
class DIFile(Node):
    """A source file: ``#llvm.di_file<"k.py" in "src">``."""

    name = "llvm.di_file"
    FIELDS = (Field("filename", "string"), Field("directory", "string"))

    @property
    def path(self) -> str:
        """The file with its directory."""
        return posixpath.join(self.directory, self.filename)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple:
        with parser.in_angle_brackets():
            filename = parser.parse_str_literal()
            parser.parse_keyword("in")
            return (filename, parser.parse_str_literal())

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data[0])
            printer.print_string(" in ")
            printer.print_string_literal(self.data[1])


@irdl_attr_definition
class DICompileUnit(Node):
    """The translation unit; ``emissionKind`` is Full, LineTablesOnly, DebugDirectivesOnly or None."""

    name = "llvm.di_compile_unit"
    FIELDS = (
        Field("id", "distinct", metadata=""),
        Field("sourceLanguage", "word", metadata="language"),
        Field("file", "node"),
        Field("producer", "string", optional=True),
        Field("isOptimized", "truth"),
        Field("emissionKind", "word"),
    )


@irdl_attr_definition
class DISubroutineType(Node):
    """A function type; empty for kernels."""

    name = "llvm.di_subroutine_type"
    FIELDS = (Field("types", "nodes", optional=True),)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple:
        if parser.parse_optional_punctuation("<") is None:
            return (None,)
        parser.parse_keyword("types")
        parser.parse_punctuation("=")
        nodes = _parse_nodes(parser)
        parser.parse_punctuation(">")
        return (nodes,)

    def print_parameter(self, printer: Printer) -> None:
        if self.data[0] is not None:
            super().print_parameter(printer)


@irdl_attr_definition
class DISubprogram(Node):
    """A source function; ``subprogramFlags`` are words joined by ``|``, such as ``Definition|Optimized``."""

    name = "llvm.di_subprogram"
    FIELDS = (
        Field("id", "distinct", metadata=""),
        Field("compileUnit", "node", metadata="unit"),
        Field("scope", "node"),
        Field("name", "string"),
        Field("linkageName", "string", optional=True),
        Field("file", "node"),
        Field("line", "number"),
        Field("scopeLine", "number"),
        Field("subprogramFlags", "string", metadata="spFlags"),
        Field("type", "node"),
    )


@irdl_attr_definition
class DILexicalBlock(Node):
    """A block of a function."""

    name = "llvm.di_lexical_block"
    FIELDS = (Field("scope", "node"), Field("file", "node"), Field("line", "number"), Field("column", "number"))


@irdl_attr_definition
class DILexicalBlockFile(Node):
    """A part of a function in another file."""

    name = "llvm.di_lexical_block_file"
    FIELDS = (Field("scope", "node"), Field("file", "node"), Field("discriminator", "number"))


@irdl_attr_definition
class DIBasicType(Node):
    """A scalar type: ``encoding`` is DW_ATE_signed, DW_ATE_float, …"""

    name = "llvm.di_basic_type"
    FIELDS = (
        Field("tag", "word"),
        Field("name", "string"),
        Field("sizeInBits", "number", metadata="size"),
        Field("encoding", "word", optional=True),
    )


@irdl_attr_definition
class DIDerivedType(Node):
    """A pointer (DW_TAG_pointer_type) or a member (DW_TAG_member) of ``baseType``."""

    name = "llvm.di_derived_type"
    FIELDS = (
        Field("tag", "word"),
        Field("name", "string", optional=True),
        Field("baseType", "node"),
        Field("sizeInBits", "number", metadata="size"),
        Field("offsetInBits", "number", optional=True, metadata="offset"),
    )


@irdl_attr_definition
class DISubrange(Node):
    """The extent of an array."""

    name = "llvm.di_subrange"
    FIELDS = (Field("count", "number"),)


@irdl_attr_definition
class DICompositeType(Node):
    """An array, vector (``flags = Vector``) or structure."""

    name = "llvm.di_composite_type"
    FIELDS = (
        Field("tag", "word"),
        Field("name", "string", optional=True),
        Field("baseType", "node", optional=True),
        Field("flags", "word", optional=True),
        Field("sizeInBits", "number", metadata="size"),
        Field("elements", "nodes", optional=True),
    )


@irdl_attr_definition
class DILocalVariable(Node):
    """A variable of ``scope``; ``arg`` counts parameters from 1."""

    name = "llvm.di_local_variable"
    FIELDS = (
        Field("scope", "node"),
        Field("name", "string"),
        Field("file", "node"),
        Field("line", "number"),
        Field("arg", "number", optional=True),
        Field("type", "node", optional=True),
    )


@irdl_attr_definition
class DILocation(Node):
    """A source position in ``scope``, and where that scope was inlined."""

    name = "llvm.di_location"
    FIELDS = (
        Field("line", "number"),
        Field("column", "number"),
        Field("scope", "node"),
        Field("inlinedAt", "node", optional=True),
    )


@irdl_attr_definition
class DIExpression(Data[tuple]):
    """Steps from a value to the variable: ``#llvm.di_expression<[DW_OP_LLVM_fragment(0, 32)]>``.

    ``data`` is a tuple of (operator, operands): ``(("DW_OP_LLVM_fragment", (0, 32)),)``.
    """

    name = "llvm.di_expression"

    @classmethod
    def fragment(cls, offset: int, size: int) -> DIExpression:
        """The bits ``offset`` .. ``offset + size`` of a variable."""
        return cls((("DW_OP_LLVM_fragment", (offset, size)),))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple:
        if parser.parse_optional_punctuation("<") is None:
            return ()
        steps = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: cls._parse_step(parser))
        parser.parse_punctuation(">")
        return tuple(steps)

    @staticmethod
    def _parse_step(parser: AttrParser) -> tuple[str, tuple[int, ...]]:
        operator = parser.parse_identifier()
        operands = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
        return operator, tuple(operands or ())

    def print_parameter(self, printer: Printer) -> None:
        if not self.data:
            return
        steps = (f"{word}({', '.join(map(str, operands))})" if operands else word for word, operands in self.data)
        printer.print_string(f"<[{', '.join(steps)}]>")


NODES = (
    *(DIFile, DICompileUnit, DISubroutineType, DISubprogram, DILexicalBlock, DILexicalBlockFile),
    *(DIBasicType, DIDerivedType, DISubrange, DICompositeType, DILocalVariable, DILocation),
)
DEBUG_ATTRS = (*NODES, DIExpression)
