"""Source locations in Tile IR text: ``loc("k.py":3:4)``, call sites, debug scopes, and their aliases.

Bytecode encodes a position in a scope, a call site of such positions, or nothing. A kernel whose text names files and
lines but no scopes, as ``dis --locations`` prints it, gets one scope: a subprogram with its name and first line, as by
NVIDIA's pass ``synthesize-debug-info-scopes``. Bytecode cannot encode MLIR's other locations: fused and named ones.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation

from tileiras_build.ir.bytecode.debug_info import MAX_DEPTH, MAX_SIZE, SCOPES
from tileiras_build.ir.bytecode.text_scanner import ALIAS, Scanner, shortened
from tileiras_build.ir.dialects.cuda_tile.location import (
    LOC,
    UNKNOWN,
    CallSiteLocAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DILocAttr,
    DISubprogramAttr,
    UnknownLocAttr,
)
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp

MAX_LINE_OR_COLUMN = (1 << 32) - 1


@dataclass(frozen=True)
class FileLocation:
    """A line of a file, without a scope."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class OtherLocation:
    """A location that bytecode cannot encode: its kind, and the locations that it contains."""

    kind: str
    parts: tuple[ParsedLocation, ...]


@dataclass(frozen=True)
class CallLocation:
    """A callee and its callers, from the inside out."""

    parts: tuple[ParsedLocation, ...]


ParsedLocation = FileLocation | OtherLocation | CallLocation | DILocAttr | UnknownLocAttr

# Debug attribute -> its class and its fields, in the order of the constructor: the class and the default of each.
Field = tuple[str, tuple[type, ...] | type, object]
NODES: dict[str, tuple[type[Attribute], tuple[Field, ...]]] = {
    "di_compile_unit": (DICompileUnitAttr, (("file", DIFileAttr, None),)),
    "di_lexical_block": (
        DILexicalBlockAttr,
        (("scope", SCOPES, None), ("file", DIFileAttr, None), ("line", int, None), ("column", int, 0)),
    ),
    "di_subprogram": (
        DISubprogramAttr,
        (
            ("file", DIFileAttr, None),
            ("line", int, None),
            ("name", str, None),
            ("linkageName", str, None),
            ("compileUnit", DICompileUnitAttr, None),
            ("scopeLine", int, 0),
        ),
    ),
}


def _node_count(place: ParsedLocation) -> int:
    return sum(map(_node_count, place.parts)) if isinstance(place, (OtherLocation, CallLocation)) else 1


def _leaf_locations(place: ParsedLocation) -> list[ParsedLocation]:
    if isinstance(place, (OtherLocation, CallLocation)):
        return [leaf for part in place.parts for leaf in _leaf_locations(part)]
    return [place]


@dataclass
class Locations:
    """The locations of a text: parsed in place, attached to the operations of an entry at its end."""

    scan: Scanner
    known: dict[str, ParsedLocation | Attribute] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    parsed: list[tuple[Operation, ParsedLocation, int]] = field(default_factory=list)

    # Reading

    def optional(self) -> tuple[ParsedLocation, int] | None:
        """``loc(...)``, if it is next, and its position."""
        self.scan.skip()
        start = self.scan.position
        if not self.scan.accept("loc"):
            return None
        return self._in_parentheses(), start

    def note(self, op: Operation) -> None:
        """The location of an operation, if it is next."""
        if (found := self.optional()) is not None:
            self.parsed.append((op, *found))

    def without_scope(self, what: str) -> None:
        """Parse the location of an operation that has none in bytecode, if it is next."""
        if (found := self.optional()) is not None and any(
            isinstance(leaf, DILocAttr) for leaf in _leaf_locations(found[0])
        ):
            self.scan.fail(f"{what} must not have a debug scope", found[1])

    def _in_parentheses(self) -> ParsedLocation:
        self.scan.expect("(")
        place = self.location()
        self.scan.expect(")")
        return place

    def location(self) -> ParsedLocation:
        self.scan.skip()
        start = self.scan.position
        callees: list[ParsedLocation] = []
        while self.scan.accept("callsite"):  # call chains can be long: no recursion
            self.scan.expect("(")
            callees.append(self._simple())
            self.scan.expect("at")
        place = self._simple()
        for callee in reversed(callees):
            self.scan.expect(")")
            callers = place.parts if isinstance(place, CallLocation) else (place,)
            place = CallLocation((callee, *callers))
        if _node_count(place) > MAX_SIZE:
            self.scan.fail(f"a location has more than {MAX_SIZE} parts", start)
        return place

    def _simple(self) -> ParsedLocation:
        scan = self.scan
        scan.skip()
        start = scan.position
        if len(self.pending) > MAX_DEPTH:
            scan.fail(f"locations are nested more than {MAX_DEPTH} deep", start)
        self.pending.append("")
        place = self._one_of_all(start)
        self.pending.pop()
        return place

    def _one_of_all(self, start: int) -> ParsedLocation:
        scan = self.scan
        if scan.accept("unknown"):
            return UNKNOWN
        if scan.at("callsite"):
            return self.location()
        if scan.accept("loc"):
            return self._in_parentheses()
        if scan.accept("fused"):
            return self._fused()
        if scan.at('"'):
            return self._file_or_name()
        found = self._node()
        if not isinstance(found, ParsedLocation):
            scan.fail("expected a location", start)
        return found

    def _file_or_name(self) -> ParsedLocation:
        scan = self.scan
        text = scan.string()
        if not scan.accept(":"):
            parts = (self._in_parentheses(),) if scan.at("(") else ()
            return OtherLocation("a named location", parts)
        line = self._number()
        column = self._number() if scan.accept(":") else 0
        if scan.accept("to"):  # the end of a range
            if not scan.at(":"):
                self._number()
            scan.expect(":")
            self._number()
        return FileLocation(text, line, column)

    def _fused(self) -> ParsedLocation:
        if self.scan.at("<"):
            self.scan.balanced()
        self.scan.expect("[")
        parts = [self.location()]
        while self.scan.accept(","):
            parts.append(self.location())
        self.scan.expect("]")
        return OtherLocation("a fused location", tuple(parts))

    def _number(self) -> int:
        self.scan.skip()
        start = self.scan.position
        number = self.scan.integer()
        if not 0 <= number <= MAX_LINE_OR_COLUMN:
            self.scan.fail(
                f"a line or column is a number up to {MAX_LINE_OR_COLUMN}, not {shortened(str(number))}", start
            )
        return number

    # Debug attributes

    def _node(self) -> ParsedLocation | Attribute:
        """A debug attribute, written out or by its alias."""
        scan = self.scan
        scan.skip()
        if (alias := ALIAS.match(scan.text, scan.position)) is None:
            return self._verbose_form()
        name = alias[0]
        if name not in self.known:
            if name not in scan.aliases:
                scan.fail(f"{name} is not defined")
            if name in self.pending:
                scan.fail(f"{name} refers to itself")
            self.pending.append(name)
            scan.position = scan.alias_places[name]
            self.known[name] = self._in_parentheses() if scan.accept("loc") else self._node()
            self.pending.pop()
        scan.position = alias.end()
        return self.known[name]

    def _verbose_form(self) -> ParsedLocation | Attribute:
        scan = self.scan
        start = scan.position
        scan.expect("#")
        kind = scan.keyword("a location or a debug attribute").removeprefix("cuda_tile.")
        if kind == "di_file":
            scan.expect("<")
            name = scan.string()
            scan.expect("in")
            value: ParsedLocation | Attribute = DIFileAttr(name, scan.string())
        elif kind == "di_loc":
            scan.expect("<")
            value = self._place_in_scope()
        elif kind in NODES:
            scan.expect("<")
            value = self._with_fields(kind, start)
        else:
            scan.fail(f"'{kind}' is neither a location nor a debug attribute", start)
        scan.expect(">")
        return value

    def _place_in_scope(self) -> DILocAttr:
        self.scan.skip()
        start = self.scan.position
        place = self.location()
        if not isinstance(place, FileLocation):
            self.scan.fail("expected a file, a line and a column", start)
        self.scan.expect("in")
        scope = self._attribute_of(SCOPES, "the scope of a location")
        return DILocAttr(place.file, place.line, place.column, scope)

    def _with_fields(self, kind: str, start: int) -> Attribute:
        cls, fields = NODES[kind]
        kinds = {name: type for name, type, _ in fields}
        values = {name: default for name, _, default in fields if default is not None}
        while not self.scan.at(">"):
            name = self.scan.keyword(f"a field of {kind}")
            if name not in kinds:
                self.scan.fail(f"{kind} has no field '{name}'; its fields are {', '.join(kinds)}")
            self.scan.expect("=")
            values[name] = self._value(kinds[name], f"'{name}' of {kind}")
            if not self.scan.accept(","):
                break
        if missing := [name for name in kinds if name not in values]:
            self.scan.fail(f"{kind} lacks '{missing[0]}'", start)
        return cls(*(values[name] for name in kinds))

    def _value(self, kinds: tuple[type, ...] | type, what: str) -> object:
        if kinds is int:
            return self._number()
        if kinds is str:
            return self.scan.string()
        return self._attribute_of(kinds, what)

    def _attribute_of(self, kinds: tuple[type, ...] | type, what: str) -> Attribute:
        self.scan.skip()
        start = self.scan.position
        found = self._node()
        if not isinstance(found, Attribute) or not isinstance(found, kinds):
            self.scan.fail(f"{what} cannot be {getattr(found, 'name', 'a location').removeprefix('cuda_tile.')}", start)
        return found

    # Attaching

    def resolve(self, entry: EntryOp, found: tuple[ParsedLocation, int] | None) -> None:
        """Attach the locations of the entry and its operations; ``found`` is the entry's own."""
        parsed, self.parsed = self.parsed, []
        place, start = self._entry_scope(found)
        leaves = [leaf for _, place, _ in parsed for leaf in _leaf_locations(place)]
        scoped = any(isinstance(leaf, DILocAttr) for leaf in leaves)
        if not isinstance(place, DILocAttr) and not scoped:
            first = next((one for one in (place, *leaves) if isinstance(one, FileLocation)), None)
            place = place if first is None else _in_subprogram(first, entry.sym_name.data)
        scope = place.scope.subprogram if isinstance(place, DILocAttr) else None
        for op, one, where in [(entry, place, start), *parsed]:
            if (attribute := self._attribute(one, scope, where)) is not UNKNOWN:
                op.attributes[LOC] = attribute

    def _entry_scope(self, found: tuple[ParsedLocation, int] | None) -> tuple[ParsedLocation, int]:
        if found is None:
            return UNKNOWN, 0
        place, start = found
        if isinstance(place, CallLocation):
            self.scan.fail("the location of an entry cannot be a call site", start)
        leaves = _leaf_locations(place)
        if isinstance(place, OtherLocation) and not any(isinstance(leaf, DILocAttr) for leaf in leaves):
            place = next((leaf for leaf in leaves if isinstance(leaf, FileLocation)), UNKNOWN)
        return place, start

    def _attribute(self, place: ParsedLocation, scope: DISubprogramAttr | None, start: int) -> Attribute:
        if isinstance(place, OtherLocation):
            self.scan.fail(
                f"bytecode cannot encode {place.kind}; use a file and a line, or a call site of those", start
            )
        if isinstance(place, FileLocation):
            return UNKNOWN if scope is None else DILocAttr(place.file, place.line, place.column, scope)
        if not isinstance(place, CallLocation):
            return place
        *callees, outer = (self._attribute(part, scope, start) for part in place.parts)
        for callee in reversed(callees):
            outer = CallSiteLocAttr(callee, outer)
        return outer


def _in_subprogram(place: FileLocation, name: str) -> DILocAttr:
    directory, file_name = posixpath.split(place.file)
    file = DIFileAttr(file_name, directory)
    scope = DISubprogramAttr(file, place.line, name, name, DICompileUnitAttr(file), place.line)
    return DILocAttr(place.file, place.line, place.column, scope)
