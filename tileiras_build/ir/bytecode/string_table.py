"""The string section: strings by index, with one shared attribute each."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from tileiras_build.ir.bytecode.byte_cursor import Cursor


class StringTable:
    """``places``: the range of each string in the file."""

    def __init__(self, file: Cursor, places: list[tuple[int, int]]):
        self.file, self.places = file, places
        self.known: dict[int, StringAttr] = {}

    def text(self, cursor: Cursor, what: str) -> str:
        return self.attribute(cursor, what).data

    def attribute(self, cursor: Cursor, what: str) -> StringAttr:
        """Read the index of a string."""
        offset = cursor.position
        index = cursor.varint(what)
        if (known := self.known.get(index)) is not None:
            return known
        if index >= len(self.places):
            cursor.fail(
                f"{what}: string index {index} is out of bounds, the file has {len(self.places)} strings", offset=offset
            )
        start, end = self.places[index]
        try:
            made = StringAttr(self.file.data[start:end].decode())
        except UnicodeDecodeError:
            cursor.fail(f"string {index} is not UTF-8", offset=start)
        self.known[index] = made
        return made
