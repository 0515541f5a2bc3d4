"""Source locations and debug scopes of cuda_tile operations (Tile IR AttrDefs.td, DI* attributes).

An operation that was read from bytecode with debug information carries one of LOCATION_ATTRS as
``op.attributes["loc"]``; an operation without one has its parent's.
"""

from __future__ import annotations

import posixpath

from xdsl.ir import Attribute, Data, Operation
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tileiras_build.core.errors import Location

from .data_attribute_constructor import record_attribute

LOC = "loc"


class DebugAttr(Data[tuple]):
    """A tuple of strings, integers and other debug attributes, printed as a list."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        def one():
            if (text := parser.parse_optional_str_literal()) is not None:
                return text
            if (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
                return number
            return parser.parse_attribute()

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, one))

    def print_parameter(self, printer: Printer) -> None:
        def one(value):
            if isinstance(value, str):
                printer.print_string_literal(value)
            elif isinstance(value, int):
                printer.print_string(str(value))
            else:
                printer.print_attribute(value)

        with printer.in_angle_brackets():
            printer.print_list(self.data, one)


def _field(index: int):
    return property(lambda self: self.data[index])


@record_attribute
class DIFileAttr(DebugAttr):
    """A source file: ``file_name`` in ``directory``."""

    name = "cuda_tile.di_file"
    file_name, directory = _field(0), _field(1)

    def __init__(self, file_name: str, directory: str):
        super().__init__((file_name, directory))

    @property
    def path(self) -> str:
        return posixpath.join(self.directory, self.file_name)


@record_attribute
class DICompileUnitAttr(DebugAttr):
    """The translation unit of a source ``file``."""

    name = "cuda_tile.di_compile_unit"
    file = _field(0)

    def __init__(self, file: DIFileAttr):
        super().__init__((file,))


@record_attribute
class DISubprogramAttr(DebugAttr):
    """A source function: ``function_name`` at ``file``:``line``, linked as ``linkage_name``.

    A ``declaration`` (since bytecode 13.5) has a seventh entry, no other one has.
    """

    name = "cuda_tile.di_subprogram"
    file, line, function_name, linkage_name = _field(0), _field(1), _field(2), _field(3)
    compile_unit, scope_line = _field(4), _field(5)

    def __init__(
        self,
        file: DIFileAttr,
        line: int,
        function_name: str,
        linkage_name: str,
        compile_unit: DICompileUnitAttr,
        scope_line: int,
        declaration: bool = False,
    ):
        known = (file, line, function_name, linkage_name, compile_unit, scope_line)
        super().__init__((*known, 1) if declaration else known)

    @property
    def declaration(self) -> bool:
        return len(self.data) > 6

    @property
    def subprogram(self) -> DISubprogramAttr:
        return self


@record_attribute
class DILexicalBlockAttr(DebugAttr):
    """A block inside ``scope`` that starts at ``file``:``line``:``column``."""

    name = "cuda_tile.di_lexical_block"
    scope, file, line, column = _field(0), _field(1), _field(2), _field(3)

    def __init__(self, scope: Attribute, file: DIFileAttr, line: int, column: int):
        super().__init__((scope, file, line, column))

    @property
    def subprogram(self) -> DISubprogramAttr:
        scope = self.scope
        while isinstance(scope, DILexicalBlockAttr):
            scope = scope.scope
        return scope


@record_attribute
class DILocAttr(DebugAttr):
    """The source position ``file``:``line``:``column`` in the debug scope ``scope``."""

    name = "cuda_tile.di_loc"
    file, line, column, scope = _field(0), _field(1), _field(2), _field(3)

    def __init__(self, file: str, line: int, column: int, scope: Attribute):
        super().__init__((file, line, column, scope))

    @property
    def function(self) -> str:
        """Name of the source function."""
        return self.scope.subprogram.function_name

    @property
    def position(self) -> DILocAttr:
        return self

    @property
    def call_sites(self) -> tuple[DILocAttr, ...]:
        return ()


@record_attribute
class CallSiteLocAttr(DebugAttr):
    """A position in an inlined function (``callee``) and where that was called (``caller``).

    A chain of callers is flat, so that deep inlining is not nested deeply: ``data`` is the callee
    followed by its callers from the inside out.
    """

    name = "cuda_tile.call_site"
    callee = _field(0)

    def __init__(self, callee: Attribute, caller: Attribute):
        callers = caller.data if isinstance(caller, CallSiteLocAttr) else (caller,)
        super().__init__((callee, *callers))

    @property
    def caller(self) -> Attribute:
        return self.data[1] if len(self.data) == 2 else CallSiteLocAttr.new(self.data[1:])

    @property
    def position(self) -> DILocAttr | None:
        """The innermost known position."""
        loc = self
        while isinstance(loc, CallSiteLocAttr):
            loc = loc.callee
        return loc if isinstance(loc, DILocAttr) else None

    @property
    def call_sites(self) -> tuple[DILocAttr, ...]:
        """The positions of the inlined calls, from the inside out."""
        inner = self.callee.call_sites if isinstance(self.callee, (CallSiteLocAttr, DILocAttr)) else ()
        return (*inner, *(loc for loc in self.data[1:] if isinstance(loc, DILocAttr)))


@record_attribute
class UnknownLocAttr(DebugAttr):
    """No position."""

    name = "cuda_tile.unknown_loc"

    def __init__(self):
        super().__init__(())

    @property
    def position(self) -> None:
        return None


UNKNOWN = UnknownLocAttr()
LOCATION_ATTRS = (DILocAttr, CallSiteLocAttr, UnknownLocAttr)
DEBUG_ATTRS = (DIFileAttr, DICompileUnitAttr, DISubprogramAttr, DILexicalBlockAttr, *LOCATION_ATTRS)


def subprogram_of(loc: Attribute) -> DISubprogramAttr | None:
    """The function of a location, at the outermost call site; None where it has none."""
    if isinstance(loc, CallSiteLocAttr):
        loc = loc.data[-1]
    return loc.scope.subprogram if isinstance(loc, DILocAttr) else None


def location_attr(op: Operation | None) -> DILocAttr | CallSiteLocAttr | None:
    """The nearest known location attribute of an operation or its ancestors."""
    while op is not None:
        loc = op.attributes.get(LOC)
        if isinstance(loc, (DILocAttr, CallSiteLocAttr)) and loc.position is not None:
            return loc
        op = op.parent_op()
    return None


def source_location(op: Operation) -> Location | None:
    """The source position of an operation, or None: its own location or its nearest ancestor's."""
    loc = location_attr(op)
    if loc is None or (position := loc.position) is None:
        return None
    return Location(file=position.file, line=position.line, column=position.column)
