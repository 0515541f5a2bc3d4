"""A limit for the text of a module: a short file that names the same long string again and again is refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.ir import Operation

from tileiras_build.core.errors import InvalidInput, Location


class Budget:
    """How much text may be printed, so that what a short file names again and again does not become a long one."""

    def __init__(
        self, limit: int | None = None, name: str | None = None, places: Mapping[Operation, int] = MappingProxyType({})
    ):
        self.limit, self.name, self.places, self.spent = limit, name, places, 0

    def spend(self, size: int, op: Operation) -> None:
        """Count the text of an operation; raises InvalidInput with its byte offset where it is too much."""
        self.spent += size
        if self.limit is not None and self.spent > self.limit:
            raise InvalidInput(
                "text-size",
                f"the text up to this {op.name.removeprefix('cuda_tile.')} is longer than {self.limit} "
                "characters: far more than the file's size explains",
                location=Location(self.name, offset=self.places.get(op)),
                remedy="give a file that does not name the same long string, constant or location in every operation",
            )
