"""Tuning parameters: integers that select among schedules of the same program, one frozen row each.

Each is an option of the build, of ``lower`` and of ``compile``, and a field of ``Job`` with the same name. The defaults
are what libraries choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from ..core.errors import InvalidInput, renamed


@dataclass(frozen=True)
class Tuning:
    """``values`` are the valid ones, ``help`` describes them in half a sentence; ``affects_launch``: the launch of a
    kernel depends on its manifest.
    """

    name: str
    help: str
    default: int
    values: tuple[int, ...]
    affects_launch: bool = False

    def read(self, text: object) -> int:
        """Parse a value; raises InvalidInput[option-value]."""
        word = str(text)
        if word.isascii() and word.isdecimal() and int(word) in self.values:
            return int(word)
        self._refuse(word)

    def check(self, _: str, text: str) -> None:
        """Check a build option; raises InvalidInput[option-value]."""
        self.read(text)

    def _refuse(self, word: str) -> NoReturn:
        message = f"{self.name}={word} is not a valid value"
        raise InvalidInput("option-value", message, remedy=f"use one of {self.values_text}")

    @property
    def flag(self) -> str:
        """The command-line option."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def values_text(self) -> str:
        """The valid values, as shown to users."""
        return ", ".join(map(str, self.values))


FP8_PROMOTION_INTERVAL = Tuning(
    "fp8_promotion_interval",
    "sm_90 FP8: K elements accumulated in the tensor core before promotion to an FP32 accumulator (larger: faster, less accurate)",
    128,
    (32, 64, 128),
)
GRID_SWIZZLE = Tuning(
    "grid_swizzle",
    "grouped (swizzled) block order for L2 reuse, N rows per group, like Triton's GROUP_SIZE_M; 1 = row-major; 0 = by the "
    "compiler: matmuls grouped, the longest tile blocks first if loops get longer along an axis (causal attention), others row-major",
    0,
    (0, 1, 2, 4, 8, 16, 32),
)
PERSISTENT = Tuning(
    "persistent",
    "1 = persistent grid (one wave of CTAs that loop over tile blocks); 0 = one CTA per tile block",
    0,
    (0, 1),
    affects_launch=True,
)
EXP2_POLYNOMIAL = Tuning(
    "exp2_polynomial",
    "sm_100 attention: evaluate N of every 16 softmax exp2 by polynomial on the FMA pipe instead of the MUFU unit (faster, "
    "less accurate)",
    0,
    (0, 2, 4, 6),
)
VARIANTS = Tuning(
    "variants",
    "1 = also compile the aligned variant of a kernel whose arrays promise no alignment, for launches that keep the usual promises, and variants for grids that clusters divide; 2 = also split-K variants, for grids that leave SMs without work; 0 = the general kernel alone",
    1,
    (0, 1, 2),
    affects_launch=True,
)
TUNING: tuple[Tuning, ...] = (FP8_PROMOTION_INTERVAL, GRID_SWIZZLE, PERSISTENT, EXP2_POLYNOMIAL, VARIANTS)
BY_NAME = {row.name: row for row in TUNING}
FORMER_NAMES = {"fp8_sum_k": "fp8_promotion_interval", "tile_group": "grid_swizzle"}


def reject_former_names(names: Iterable[str]) -> None:
    """Raise InvalidInput[option-unknown], with the new name, for a former name of a row of TUNING."""
    for name in names:
        if name in FORMER_NAMES:
            raise InvalidInput("option-unknown", f"unknown option {name}", remedy=renamed(name, FORMER_NAMES[name]))


def parse_tuning(given: Mapping[str, object]) -> dict[str, int]:
    """The tuning parameters among ``given``, by name; raises InvalidInput[option-value]."""
    return {name: row.read(given[name]) for name, row in BY_NAME.items() if name in given}
