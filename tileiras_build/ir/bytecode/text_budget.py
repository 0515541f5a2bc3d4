"""A limit for the text of a module: a short file with many references to one long string is rejected."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.ir import Operation

from tileiras_build.core.errors import InvalidInput, Location


class Budget:
    """A limit of the printed text, so that repeated references in a short file do not print a huge text."""

    def __init__(
        self, limit: int | None = None, name: str | None = None, places: Mapping[Operation, int] = MappingProxyType({})
    ):
        self.limit, self.name, self.places, self.spent = limit, name, places, 0

    def spend(self, size: int, op: Operation) -> None:
        """Count the text of an operation; raises InvalidInput with its byte offset above the limit."""
        self.spent += size
        if self.limit is not None and self.spent > self.limit:
            raise InvalidInput(
                "text-size",
                f"the text up to this {op.name.removeprefix('cuda_tile.')} is longer than {self.limit} "
                "characters, which is disproportionate to the file's size",
                location=Location(self.name, offset=self.places.get(op)),
                remedy="use a file that does not reference the same long string, constant or location in every operation",
            )
