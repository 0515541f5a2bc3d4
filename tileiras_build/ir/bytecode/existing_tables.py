"""The tables of an existing file, so that a writer keeps their order."""

from __future__ import annotations

from collections.abc import Sequence

from tileiras_build.ir.bytecode.reader import Reader


class Tables:
    """The tables of an existing file: the argument ``like`` of ``write_module``."""

    def __init__(self, data: bytes):
        reader = Reader(bytes(data), None)
        self.version = reader.version
        self.order = tuple(reader.sections)
        self.has_debug = bool(reader.debug.function_starts)
        self.strings = self._entries(data, reader.strings.places)
        self.types = self._entries(data, reader.types.entries)
        self.constants = self._entries(data, reader.constants)
        self.debug = self._entries(data, reader.debug.entries)

    @staticmethod
    def _entries(data: bytes, bounds: Sequence[tuple[int, int]]) -> list[bytes]:
        return [data[start:end] for start, end in bounds]
