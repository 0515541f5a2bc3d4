"""A reader of DWARF 2 as ptxas writes it: the entries of ``.debug_info``, and the names in them."""

import struct
from dataclasses import dataclass, field

TAGS = {0x05: "formal_parameter", 0x0B: "lexical_block", 0x11: "compile_unit", 0x1D: "inlined_subroutine"}
TAGS |= {0x0F: "pointer_type", 0x24: "base_type", 0x2E: "subprogram", 0x34: "variable"}
ATTRIBUTES = {0x02: "location", 0x03: "name", 0x1B: "comp_dir", 0x25: "producer", 0x3B: "decl_line", 0x49: "type"}
ATTRIBUTES |= {0x31: "abstract_origin", 0x59: "call_line"}


@dataclass
class Entry:
    """One entry: its tag, its attributes by name, and how deep it is nested."""

    tag: str
    depth: int
    offset: int
    values: dict = field(default_factory=dict)


def sections(elf: bytes) -> dict[str, bytes]:
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    rows = [struct.unpack_from("<IIQQQQ", elf, table + index * size) for index in range(count)]
    strings = rows[names][4]
    title = lambda at: elf[strings + at : elf.index(b"\0", strings + at)].decode()
    return {title(row[0]): elf[row[4] : row[4] + row[5]] for row in rows}


class _Cursor:
    def __init__(self, data: bytes, at: int = 0):
        self.data, self.at = data, at

    def number(self, size: int) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def leb(self) -> int:
        result = shift = 0
        while True:
            byte = self.number(1)
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    def string(self) -> str:
        end = self.data.index(b"\0", self.at)
        text, self.at = self.data[self.at : end].decode(), end + 1
        return text

    def block(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]


FORMS = {
    0x01: lambda c: c.number(8), 0x05: lambda c: c.number(2), 0x06: lambda c: c.number(4), 0x07: lambda c: c.number(8),
    0x08: _Cursor.string, 0x0A: lambda c: c.block(c.number(1)), 0x0B: lambda c: c.number(1),
    0x0C: lambda c: c.number(1), 0x0D: _Cursor.leb, 0x0F: _Cursor.leb, 0x13: lambda c: c.number(4),
}  # fmt: skip


def _abbreviations(data: bytes) -> dict[int, tuple[int, bool, list[tuple[int, int]]]]:
    cursor, table = _Cursor(data), {}
    while (code := cursor.leb()) != 0:
        tag, children, pairs = cursor.leb(), bool(cursor.number(1)), []
        while (pair := (cursor.leb(), cursor.leb())) != (0, 0):
            pairs.append(pair)
        table[code] = (tag, children, pairs)
    return table


def entries(cubin: bytes) -> list[Entry]:
    """Every entry of the first compile unit, in order."""
    parts = sections(cubin)
    table = _abbreviations(parts[".debug_abbrev"])
    cursor, found, depth = _Cursor(parts[".debug_info"], 11), [], 0
    end = 4 + int.from_bytes(parts[".debug_info"][:4], "little")
    while cursor.at < end:
        offset = cursor.at
        if (code := cursor.leb()) == 0:
            depth -= 1
            continue
        tag, children, pairs = table[code]
        entry = Entry(TAGS.get(tag, hex(tag)), depth, offset)
        for attribute, form in pairs:
            entry.values[ATTRIBUTES.get(attribute, hex(attribute))] = FORMS[form](cursor)
        found.append(entry)
        depth += children
    return found
