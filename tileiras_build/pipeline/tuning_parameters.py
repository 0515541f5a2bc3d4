"""Tuning parameters: integers that select among schedules of the same program, one frozen row each.

Each is an option of the build, of ``lower`` and of ``compile``, and a field of ``Job`` with the same name. With the
defaults, accuracy and the order of tile programs are those of the source program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from ..core.errors import InvalidInput


@dataclass(frozen=True)
class Tuning:
    """``values`` are those that it may have, ``help`` is half a sentence about them; ``affects_launch``: whoever launches a kernel
    has to follow what its manifest says of it."""

    name: str
    help: str
    default: int
    values: tuple[int, ...]
    affects_launch: bool = False

    def read(self, text: object) -> int:
        """What a text means; raises InvalidInput[option-value]."""
        word = str(text)
        if word.isascii() and word.isdecimal() and int(word) in self.values:
            return int(word)
        self._refuse(word)

    def check(self, _: str, text: str) -> None:
        """As an option of the build; raises InvalidInput[option-value]."""
        self.read(text)

    def _refuse(self, word: str) -> NoReturn:
        message = f"{self.name}={word} is not a valid value"
        raise InvalidInput("option-value", message, remedy=f"use one of {self.values_text}")

    @property
    def flag(self) -> str:
        """It as an option of a command."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def values_text(self) -> str:
        """Its values, as people read them."""
        return ", ".join(map(str, self.values))


FP8_PROMOTION_INTERVAL = Tuning(
    "fp8_promotion_interval",
    "elements along k of fp8 that the tensor cores of sm_90 accumulate before promotion to f32; more are faster and less accurate",
    32,
    (32, 64, 128),
)
GRID_SWIZZLE = Tuning(
    "grid_swizzle",
    "rows of the grid (along axis 1) whose tile programs start together, for locality in L2; 1 keeps the order of the grid",
    1,
    (1, 2, 4, 8, 16, 32),
)
PERSISTENT = Tuning(
    "persistent",
    "1 to launch only as many CTAs as are resident at once, each of which loops over tile programs; 0 for a CTA for each",
    0,
    (0, 1),
    affects_launch=True,
)
EXP2_POLYNOMIAL = Tuning(
    "exp2_polynomial",
    "how many of 16 exp2 (in f32, flushing subnormals) between the MMAs of attention on sm_100 are polynomials, which is faster "
    "and less accurate",
    0,
    (0, 2, 4, 6),
)
TUNING: tuple[Tuning, ...] = (FP8_PROMOTION_INTERVAL, GRID_SWIZZLE, PERSISTENT, EXP2_POLYNOMIAL)
BY_NAME = {row.name: row for row in TUNING}
FORMER_NAMES = {"fp8_sum_k": "fp8_promotion_interval", "tile_group": "grid_swizzle"}


def reject_former_names(names: Iterable[str]) -> None:
    """Raise InvalidInput[option-unknown], with the new name, for a name that a row of TUNING had before."""
    for name in names:
        if name in FORMER_NAMES:
            raise InvalidInput(
                "option-unknown", f"unknown option {name}", remedy=f"{name} was renamed to {FORMER_NAMES[name]}"
            )


def parse_tuning(given: Mapping[str, object]) -> dict[str, int]:
    """The tuning parameters among ``given``, by name; raises InvalidInput[option-value]."""
    return {name: row.read(given[name]) for name, row in BY_NAME.items() if name in given}
