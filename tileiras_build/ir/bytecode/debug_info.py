"""The debug section: scopes and locations, and the location of each operation of a function."""

from __future__ import annotations

import struct
from collections.abc import Callable

from xdsl.ir import Attribute

from tileiras_build.ir.bytecode.byte_cursor import Cursor, read_offset_table
from tileiras_build.ir.bytecode.opcodes import SINCE, Version
from tileiras_build.ir.dialects.cuda_tile.location import (
    UNKNOWN,
    CallSiteLocAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DILocAttr,
    DISubprogramAttr,
    UnknownLocAttr,
)

MAX_DEPTH = 64  # scopes in scopes, call sites as callees of call sites; chains of callers are flat
MAX_SIZE = 4096  # attributes in one location, shared ones counted each time
MAX_TOTAL = 1 << 21  # the same for a whole short file: each is hashed and printed once
MAX_NODES_PER_BYTE = 64  # the same for a long file

DECLARATION = 1  # flag of a subprogram

SCOPES = (DILexicalBlockAttr, DISubprogramAttr)
LOCATIONS = (DILocAttr, CallSiteLocAttr, UnknownLocAttr)


class DebugInfo:
    """Debug attributes by index; 0 is "unknown". An attribute is read when it is first used."""

    def __init__(
        self, file: Cursor, bounds: tuple[int, int] | None, string: Callable[[Cursor, str], str], version: Version
    ):
        self.file, self.string, self.version = file, string, version
        self.function_starts: list[int] = []
        self.indices: list[int] = []
        self.entries: list[tuple[int, int]] = []
        self.known: dict[int, Attribute] = {0: UNKNOWN}
        self.sizes: dict[int, int] = {0: 1}
        self.depths: dict[int, int] = {0: 1}
        self.pending: list[int] = []
        self.left = MAX_TOTAL + MAX_NODES_PER_BYTE * len(file.data)
        if bounds is not None:
            self._read_tables(file.sub_cursor(*bounds))

    def _read_tables(self, cursor: Cursor) -> None:
        origin = cursor.start
        functions = cursor.count("functions with debug information", 4)
        cursor.align(4, origin)
        self.function_starts = list(struct.unpack(f"<{functions}I", cursor.take_bytes(functions * 4, "debug offsets")))
        count = cursor.count("debug indices", 8)
        cursor.align(8, origin)
        self.indices = list(struct.unpack(f"<{count}Q", cursor.take_bytes(count * 8, "debug indices")))
        self.entries = read_offset_table(cursor, 4, "debug table")

    def of_function(self, cursor: Cursor) -> DebugIterator:
        """The locations of the function whose debug index is next."""
        offset = cursor.position
        index = cursor.varint("a debug index of a function")
        if index == 0:
            return DebugIterator(self, None)
        if index > len(self.function_starts):
            cursor.fail(
                f"debug index {index} of a function is out of bounds, the file has {len(self.function_starts)}",
                offset=offset,
            )
        return DebugIterator(self, self.function_starts[index - 1])

    def attribute(self, index: int, cursor: Cursor, offset: int) -> Attribute:
        """The debug attribute ``index``."""
        if (known := self.known.get(index)) is not None:
            return known
        if index > len(self.entries):
            cursor.fail(f"debug attribute {index} is out of bounds, the file has {len(self.entries)}", offset=offset)
        if not self.pending:
            # Writers put components first: reading in order avoids recursion for long call chains.
            for earlier in range(len(self.known), index):
                self._decode(earlier)
        return self._decode(index)

    def _decode(self, index: int) -> Attribute:
        if (known := self.known.get(index)) is not None:
            return known
        entry = self.file.sub_cursor(*self.entries[index - 1])
        if index in self.pending:
            entry.fail(f"debug attribute {index} contains itself")
        if len(self.pending) >= MAX_DEPTH:
            entry.fail(f"debug attributes are nested more than {MAX_DEPTH} deep")
        self.pending.append(index)
        self.sizes[index] = self.depths[index] = 1
        parse = PARSERS.get(entry.varint("a debug tag"))
        self.known[index] = UNKNOWN if parse is None else parse(self, entry)
        self.pending.pop()
        self.left -= self.sizes[index]
        if self.left < 0:
            entry.fail(f"the debug attributes up to {index} expand to far more parts than the file has bytes")
        return self.known[index]

    def child(self, cursor: Cursor, kinds: tuple[type, ...] | type, what: str, *, flat: bool = False):
        """The debug attribute whose index is next, one of ``kinds``; ``flat``: it does not add depth."""
        offset = cursor.position
        index = cursor.varint(what)
        value = self.attribute(index, cursor, offset)
        if not isinstance(value, kinds):
            cursor.fail(f"expected {what}, got {value.name.removeprefix('cuda_tile.')}", offset=offset)
        whole = self.pending[-1]
        self.sizes[whole] += self.sizes[index]
        self.depths[whole] = max(self.depths[whole], self.depths[index] + (not flat))
        if self.sizes[whole] > MAX_SIZE or self.depths[whole] > MAX_DEPTH:
            cursor.fail(
                f"a debug attribute has more than {MAX_SIZE} parts or is nested more than {MAX_DEPTH} deep",
                offset=offset,
            )
        return value

    def compile_unit(self, cursor: Cursor) -> Attribute:
        return DICompileUnitAttr(self.child(cursor, DIFileAttr, "the file of a compile unit"))

    def source_file(self, cursor: Cursor) -> Attribute:
        return DIFileAttr(self.string(cursor, "a file name"), self.string(cursor, "a directory"))

    def lexical_block(self, cursor: Cursor) -> Attribute:
        scope = self.child(cursor, SCOPES, "the scope of a lexical block")
        file = self.child(cursor, DIFileAttr, "the file of a lexical block")
        return DILexicalBlockAttr(scope, file, cursor.varint("a line"), cursor.varint("a column"))

    def location(self, cursor: Cursor) -> Attribute:
        scope = self.child(cursor, SCOPES, "the scope of a location")
        return DILocAttr(self.string(cursor, "a file name"), cursor.varint("a line"), cursor.varint("a column"), scope)

    def subprogram(self, cursor: Cursor) -> Attribute:
        file = self.child(cursor, DIFileAttr, "the file of a subprogram")
        line = cursor.varint("a line")
        name, linkage_name = self.string(cursor, "a function name"), self.string(cursor, "a linkage name")
        unit = self.child(cursor, DICompileUnitAttr, "the compile unit of a subprogram")
        scope_line = cursor.varint("a line")
        return DISubprogramAttr(file, line, name, linkage_name, unit, scope_line, self._is_declaration(cursor))

    def _is_declaration(self, cursor: Cursor) -> bool:
        if self.version < SINCE["subprogram.flags"]:
            return False
        offset = cursor.position
        flags = cursor.varint("flags of a subprogram")
        if flags & ~DECLARATION:
            cursor.fail(f"unknown flags {flags:#x} of a subprogram", offset=offset)
        return flags == DECLARATION

    def call_site(self, cursor: Cursor) -> Attribute:
        callee = self.child(cursor, LOCATIONS, "the callee of a call site")
        return CallSiteLocAttr(callee, self.child(cursor, LOCATIONS, "the caller of a call site", flat=True))


# Debug tag -> parser; any other tag means an unknown location.
PARSERS: dict[int, Callable[[DebugInfo, Cursor], Attribute]] = {
    1: DebugInfo.compile_unit,
    2: DebugInfo.source_file,
    3: DebugInfo.lexical_block,
    4: DebugInfo.location,
    5: DebugInfo.subprogram,
    6: DebugInfo.call_site,
}


class DebugIterator:
    """The locations of a function and then of its operations, in the order of the file."""

    def __init__(self, debug: DebugInfo, position: int | None):
        self.debug, self.position = debug, position

    def next(self, cursor: Cursor) -> Attribute | None:
        """The next location; None if it is unknown."""
        if self.position is None:
            return None
        indices = self.debug.indices
        if self.position >= len(indices):
            cursor.fail("the debug section has fewer locations than the function has operations")
        value = self.debug.attribute(indices[self.position], cursor, cursor.position)
        self.position += 1
        if not isinstance(value, LOCATIONS):
            cursor.fail(f"expected a location, got {value.name.removeprefix('cuda_tile.')}")
        return None if value is UNKNOWN else value
