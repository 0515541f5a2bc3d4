"""The facts that a kernel assumes of a parameter's value: one table for the messages and the generated checks of launches.

A value is invalid if ``value <symbol> bound`` is true (nonzero): ``!= value``, ``% divisible_by``, ``< minimum`` and ``> maximum``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .launch_manifest import Parameter


WORDS = {"!=": "expected", "%": "not a multiple of", "<": "less than", ">": "more than"}
"""What a message says of an invalid value, before the bound; the C launcher's too."""


class Bound(NamedTuple):
    """A value is invalid if ``value <symbol> number`` is true."""

    symbol: str
    number: int

    @property
    def problem(self) -> str:
        """The end of a message about an invalid value."""
        return f", {WORDS[self.symbol]} {self.number}"

    def excludes(self, value: int) -> bool:
        """Whether the value is invalid."""
        return bool(_OPERATORS[self.symbol](value, self.number))

    def code(self, value: str) -> str:
        """The Python expression that is true for an invalid value, which has the name ``value``."""
        if self.symbol == "%" and self.number & (self.number - 1) == 0:
            return f"{value} & {self.number - 1:d}"
        return f"{value} {self.symbol} {self.number:d}"


_OPERATORS: dict[str, Callable[[int, int], object]] = {
    "!=": operator.ne, "%": operator.mod, "<": operator.lt, ">": operator.gt,
}  # fmt: skip


def bounds(param: Parameter) -> Iterator[Bound]:
    """What the kernel assumes of a parameter's value."""
    return bounds_of(param.value, param.divisible_by, param.minimum, param.maximum)


def bounds_of(value: int | None, divisible_by: int, minimum: int | None, maximum: int | None = None) -> Iterator[Bound]:
    """The same by its fields; an exact value includes all else."""
    if value is not None:
        yield Bound("!=", value)
        return
    if divisible_by > 1:
        yield Bound("%", divisible_by)
    if minimum is not None:
        yield Bound("<", minimum)
    if maximum is not None:
        yield Bound(">", maximum)


def satisfies(param: Parameter, number: int) -> bool:
    """Whether the value of a parameter is one that the kernel assumes."""
    return not any(bound.excludes(number) for bound in bounds(param))
