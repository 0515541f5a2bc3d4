"""Encodings of bytecode: varints, little-endian arrays, tables of entries with their offsets."""

from __future__ import annotations

from collections.abc import Sequence

PADDING = b"\xcb"


def varint(value: int) -> bytes:
    """An unsigned integer, 7 bits per byte, lowest first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed_varint(value: int) -> bytes:
    """A signed 64-bit integer in zigzag encoding."""
    return varint((value << 1) ^ (value >> 63) if value >= 0 else ((-value) << 1) - 1)


def integers(values: Sequence[int], width: int) -> bytes:
    """A count and that many signed little-endian integers of ``width`` bytes."""
    return varint(len(values)) + b"".join(value.to_bytes(width, "little", signed=True) for value in values)


def pad(data: bytearray, alignment: int) -> None:
    """Pad to a multiple of ``alignment``."""
    data += PADDING * (-len(data) % alignment)


class Table:
    """Encoded entries, without duplicates, in the order of first use."""

    def __init__(self, entries: Sequence[bytes] = ()):
        self.entries = list(entries)
        self.index: dict[bytes, int] = {}
        for number, entry in enumerate(self.entries):
            self.index.setdefault(entry, number)

    def add(self, entry: bytes) -> int:
        """The index of an entry."""
        if entry not in self.index:
            self.index[entry] = len(self.entries)
            self.entries.append(entry)
        return self.index[entry]

    def encode(self, width: int) -> bytes:
        """A count, padding, the offset of each entry in ``width`` bytes, the entries."""
        out = bytearray(varint(len(self.entries)))
        pad(out, width)
        offset = 0
        for entry in self.entries:
            out += offset.to_bytes(width, "little")
            offset += len(entry)
        return bytes(out) + b"".join(self.entries)
