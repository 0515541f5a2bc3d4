"""Bounded reading of bytes: every read is checked, and every error names its byte offset."""

from __future__ import annotations

import struct
from typing import NoReturn

from tileiras_build.core.errors import InvalidInput, Location

_UNSIGNED = {4: "I", 8: "Q"}  # format letters of struct, by bytes
MAX_VARINT_BYTES = 10  # 64 bits, 7 per byte


class Cursor:
    """A position in ``data`` that cannot leave [start, end); offsets are those of the whole file."""

    __slots__ = ("data", "end", "name", "position", "start")

    def __init__(self, data: bytes, name: str | None = None, start: int = 0, end: int | None = None):
        self.data, self.name = data, name
        self.position = self.start = start
        self.end = len(data) if end is None else end

    def sub_cursor(self, start: int, end: int) -> Cursor:
        """A cursor over a range of the same file."""
        return Cursor(self.data, self.name, start, end)

    def fail(
        self, reason: str, *, id: str = "bytecode-damaged", offset: int | None = None, remedy: str | None = None
    ) -> NoReturn:
        """Raise InvalidInput, by default at the current position."""
        where = Location(file=self.name, offset=self.position if offset is None else offset)
        raise InvalidInput(id, reason, location=where, remedy=remedy)

    def truncated(self, what: str) -> NoReturn:
        if self.end == len(self.data):
            self.fail(f"the file ends in the middle of {what}", id="bytecode-truncated")
        self.fail(f"{what} goes past the end of its section or entry")

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def byte(self, what: str = "a byte") -> int:
        if self.position >= self.end:
            self.truncated(what)
        self.position += 1
        return self.data[self.position - 1]

    def varint(self, what: str = "a number", bits: int = 64) -> int:
        """An unsigned integer of up to ``bits`` bits, 7 bits per byte, lowest first."""
        position, data = self.position, self.data
        if position >= self.end:
            self.truncated(what)
        value = data[position]
        position += 1
        if value >= 0x80:
            value &= 0x7F
            limit, shift = min(self.end, self.position + MAX_VARINT_BYTES), 7
            while True:
                if position >= limit:
                    if limit == self.end:
                        self.truncated(what)
                    self.fail(f"{what} is longer than {bits} bits")
                byte = data[position]
                position += 1
                value |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
            if value >> bits:
                self.fail(f"{what} is longer than {bits} bits")
        self.position = position
        return value

    def signed_varint(self, what: str = "a number") -> int:
        """A signed 64-bit integer in zigzag encoding."""
        return self._signed(self.varint(what))

    def float_pattern(self, what: str = "a number") -> int:
        """The bits of a float of more than 8 and at most 64 bits, in zigzag encoding.

        MLIR's writer encodes them as a signed 64-bit integer, cuTile's as an unsigned one, so its negative doubles have
        65 bits.
        """
        return self._signed(self.varint(what, bits=65)) & (1 << 64) - 1

    @staticmethod
    def _signed(value: int) -> int:
        return (value >> 1) ^ -(value & 1)

    def count(self, what: str, each: int = 1) -> int:
        """A count of items of at least ``each`` bytes; fails if they cannot fit in the remaining bytes."""
        offset = self.position
        value = self.varint(f"the number of {what}")
        if value * each > self.remaining:
            self.fail(f"{value} {what} cannot fit in the remaining {self.remaining} bytes", offset=offset)
        return value

    def take_bytes(self, size: int, what: str) -> bytes:
        if size > self.remaining:
            self.truncated(what)
        self.position += size
        return self.data[self.position - size : self.position]

    def integers(self, width: int, what: str) -> tuple[int, ...]:
        """A count and that many signed little-endian integers of ``width`` bytes."""
        count = self.count(what, width)
        raw = self.take_bytes(count * width, what)
        return tuple(
            int.from_bytes(raw[start : start + width], "little", signed=True) for start in range(0, len(raw), width)
        )

    def align(self, alignment: int, origin: int = 0) -> None:
        """Skip padding up to a multiple of ``alignment`` from ``origin``."""
        padding = -(self.position - origin) % alignment
        if padding > self.remaining:
            self.truncated("padding")
        self.position += padding


def read_offset_table(cursor: Cursor, width: int, what: str) -> list[tuple[int, int]]:
    """A count, padding, that many offsets of ``width`` bytes, and the data at these offsets."""
    origin = cursor.start
    count = cursor.count(f"entries of the {what}", width)
    if not count:
        return []
    cursor.align(width, origin)
    table = cursor.position
    starts = struct.unpack(f"<{count}{_UNSIGNED[width]}", cursor.take_bytes(count * width, f"the {what}"))
    first, size = cursor.position, cursor.remaining
    ends = [*starts[1:], size]
    bounds = []
    for index, (start, end) in enumerate(zip(starts, ends)):
        if not start <= end <= size:
            cursor.fail(
                f"entry {index} of the {what} spans [{start}, {end}) of {size} bytes", offset=table + index * width
            )
        bounds.append((first + start, first + end))
    return bounds
