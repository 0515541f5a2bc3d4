"""Links x86-64 object files of LLVM into position-independent images.

It supports read-only loaded sections and PC-relative relocations between them (System V gABI, chapter 4; AMD64 psABI 1.0,
section 4.4). Exception frames are dropped, because the code throws no exceptions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_ELF_MAGIC, _KIND = b"\x7fELF\x02\x01\x01", (1, 62)  # 64 bits, little-endian; a relocatable file (ET_REL) for EM_X86_64
_PROGBITS, _SYMTAB, _RELA, _UNWIND = 1, 2, 4, 0x7000_0001
_WRITE, _ALLOC = 1, 2
_PC_RELATIVE = 2, 4  # R_X86_64_PC32, R_X86_64_PLT32: S + A - P in 32 bits
_INT3 = b"\xcc"  # int3
_ENTRY = struct.Struct("<Q")


@dataclass(frozen=True)
class LinkedCode:
    """Code and constants, to be placed at a page boundary; the function starts at ``entry``."""

    code: bytes
    entry: int

    def packed(self) -> bytes:
        """Serialize the code."""
        return _ENTRY.pack(self.entry) + self.code

    @classmethod
    def unpacked(cls, data: bytes) -> LinkedCode:
        """Deserialize the result of ``packed``."""
        return cls(data[_ENTRY.size :], *_ENTRY.unpack_from(data))


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    start: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    name: int
    kind: int
    visibility: int
    section: int
    value: int
    size: int


class _UnknownObjectError(Exception):
    """An object file has an unsupported feature."""


def link_function(data: bytes, name: str) -> LinkedCode | None:
    """Link function ``name`` of an object file; None if the file has an unsupported feature."""
    try:
        return _ObjectFile(data).image(name)
    except (_UnknownObjectError, struct.error, ValueError, IndexError):
        return None


class _ObjectFile:
    def __init__(self, data: bytes):
        self.data = data
        if not data.startswith(_ELF_MAGIC) or struct.unpack_from("<HH", data, 16) != _KIND:
            raise _UnknownObjectError("not an object file of this CPU")
        (start,), (count,) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<H", data, 60)
        self.sections = [_Section(*struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * n)) for n in range(count)]
        (self.table,) = [one for one in self.sections if one.kind == _SYMTAB]
        self.symbols = [_Symbol(*one) for one in struct.iter_unpack("<IBBHQQ", self.bytes_of(self.table))]

    def bytes_of(self, section: _Section) -> bytes:
        return self.data[section.start : section.start + section.size]

    def image(self, name: str) -> LinkedCode:
        out, places = bytearray(), {}
        for number, section in enumerate(self.sections):
            if section.flags & _ALLOC and section.kind != _UNWIND:
                if section.kind != _PROGBITS or section.flags & _WRITE:
                    raise _UnknownObjectError("writable memory")
                out += _INT3 * (-len(out) % max(section.alignment, 1))
                places[number] = len(out)
                out += self.bytes_of(section)
        for place, distance in self._distances(places):
            struct.pack_into("<i", out, place, distance)
        return LinkedCode(bytes(out), self._address_of(self._find(name), places))

    def _distances(self, places: dict[int, int]) -> Iterator[tuple[int, int]]:
        """(address, value) of the relocations between sections at ``places``."""
        for section in self.sections:
            if section.kind != _RELA or section.info not in places:
                continue
            for offset, what, more in struct.iter_unpack("<QQq", self.bytes_of(section)):
                if what & 0xFFFF_FFFF not in _PC_RELATIVE:
                    raise _UnknownObjectError("unsupported relocation")
                place = places[section.info] + offset
                yield place, self._address_of(self.symbols[what >> 32], places) + more - place

    def _find(self, name: str) -> _Symbol:
        names = self.bytes_of(self.sections[self.table.link])
        wanted = name.encode() + b"\0"
        for symbol in self.symbols:
            if symbol.section and names.startswith(wanted, symbol.name):
                return symbol
        raise _UnknownObjectError("it has no such function")

    @staticmethod
    def _address_of(symbol: _Symbol, places: dict[int, int]) -> int:
        if symbol.section not in places:
            raise _UnknownObjectError("an external function")
        return places[symbol.section] + symbol.value
