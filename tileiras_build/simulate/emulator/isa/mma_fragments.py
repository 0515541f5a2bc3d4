"""Matrices A and columns of B of ``mma`` in registers: 8 rows of 16 bytes in one of 32 bits, lane 4 r + t has word t of row r.

Their numbers stay there until NumPy needs them in order; machine code takes them as they are (``packing.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..matmul.operands import NUMBERS, Factor
from ..matmul.pack_operands import kind_of

ROWS, WORDS = 8, 4  # of a block
FOUR = np.complex128  # any 16 bytes: four words, of lanes that are neighbors


@dataclass(frozen=True)
class Code:
    """What a word of 32 bits holds: ``decode`` makes the numbers of words (…, w, 1), (…, w, ``per_word``) or in one axis."""

    per_word: int
    decode: Callable[[np.ndarray], np.ndarray]


class Fragment(Factor):
    """Matrices (stack, rows, k) in ``blocks``, (rows / 8, columns of blocks) arrays (warps, 32 words), of which ``fold`` warps
    are the rows of one matrix. ``code`` says what the words hold."""

    def __init__(self, blocks: Sequence[Sequence[np.ndarray]], kind: str, code: Code, fold: int = 1):
        self.blocks, self.kind, self.numbers = blocks, kind, NUMBERS[kind]
        self.code, self.fold = code, fold

    @property
    def shape(self) -> tuple[int, int, int]:
        line = self.blocks[0]
        rows, k = len(self.blocks) * ROWS * self.fold, len(line) * WORDS * self.code.per_word
        return len(line[0]) // self.fold, rows, k

    @cached_property
    def values(self) -> np.ndarray:  # type: ignore[override]
        return self.in_order(is_apart=False)

    def in_order(self, *, is_apart: bool) -> np.ndarray:
        """The numbers (stack, rows, k). ``is_apart``: of eight rows the even ones come first."""
        lines, warps = self.blocks, len(self.blocks[0][0])
        words = np.empty((warps, len(lines), ROWS, len(lines[0])), FOUR)
        for row, line in enumerate(lines):
            for column, block in enumerate(line):
                words[:, row, :, column] = block.view(FOUR)
        if is_apart:
            words = words.reshape(warps, len(lines), ROWS // 2, 2, -1).swapaxes(2, 3)
        return self.code.decode(np.ascontiguousarray(words)[..., None].view(np.uint32)).reshape(self.shape)

    def pieces(self) -> Sequence[np.ndarray] | None:
        if kind_of(self) is None or "magnitudes" in self.__dict__:
            return None
        return [block for line in self.blocks for block in line]

    @property
    def apart(self) -> Factor:
        # No fragment: machine code would take the registers, whose rows are in their own order.
        return self.with_what_is_known(Factor(self.in_order(is_apart=True), self.kind))

    def in_stacks(self, count: int) -> Fragment:
        return self.folded(self.shape[0] // count)

    def folded(self, count: int) -> Fragment:
        """With the rows of ``count`` matrices under each other."""
        return Fragment(self.blocks, self.kind, self.code, self.fold * count)


def join_rows(factors: list[Factor]) -> Factor:
    """Matrices A under each other, or columns of matrices B beside each other."""
    if len(factors) == 1:
        return factors[0]
    first = factors[0]
    if isinstance(first, Fragment) and all(factor.blocks for factor in factors):
        return Fragment([line for factor in factors for line in factor.blocks], first.kind, first.code)
    return Factor(np.concatenate([factor.values for factor in factors], axis=1), first.kind)
