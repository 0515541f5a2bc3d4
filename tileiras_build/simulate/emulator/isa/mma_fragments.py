"""Matrices A and columns of B of ``mma`` in registers: 8 rows of 16 bytes in one of 32 bits, lane 4 r + t has word t of row r.

Their numbers stay there until NumPy needs them in order; machine code takes them as they are (``pack_operands.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..matmul.operands import FLOAT_RANGES, MatmulOperand
from ..matmul.pack_operands import kind_of

ROWS, REGISTERS_PER_ROW = 8, 4  # of a block
LANE_QUAD = np.complex128  # any 16 bytes: four words, of lanes that are neighbors


@dataclass(frozen=True)
class RegisterEncoding:
    """What a word of 32 bits holds: ``decode`` makes the numbers of words (…, w, 1), (…, w, ``per_word``) or in one axis."""

    elements_per_register: int
    decode: Callable[[np.ndarray], np.ndarray]


class Fragment(MatmulOperand):
    """Matrices (stack, rows, k) in ``blocks``, (rows / 8, columns of blocks) arrays (warps, 32 words), of which ``fold`` warps
    are the rows of one matrix. ``code`` says what the words hold."""

    def __init__(self, blocks: Sequence[Sequence[np.ndarray]], kind: str, code: RegisterEncoding, fold: int = 1):
        self.blocks, self.kind, self.numbers = blocks, kind, FLOAT_RANGES[kind]
        self.code, self.fold = code, fold

    @property
    def shape(self) -> tuple[int, int, int]:
        line = self.blocks[0]
        rows, k = len(self.blocks) * ROWS * self.fold, len(line) * REGISTERS_PER_ROW * self.code.elements_per_register
        return len(line[0]) // self.fold, rows, k

    @cached_property
    def values(self) -> np.ndarray:  # type: ignore[override]
        return self.in_order(is_apart=False)

    def in_order(self, *, is_apart: bool) -> np.ndarray:
        """The numbers (stack, rows, k). ``is_apart``: of eight rows the even ones come first."""
        lines, warps = self.blocks, len(self.blocks[0][0])
        words = np.empty((warps, len(lines), ROWS, len(lines[0])), LANE_QUAD)
        for row, line in enumerate(lines):
            for column, block in enumerate(line):
                words[:, row, :, column] = block.view(LANE_QUAD)
        if is_apart:
            words = words.reshape(warps, len(lines), ROWS // 2, 2, -1).swapaxes(2, 3)
        return self.code.decode(np.ascontiguousarray(words)[..., None].view(np.uint32)).reshape(self.shape)

    def memory_pieces(self) -> Sequence[np.ndarray] | None:
        if kind_of(self) is None or "magnitudes" in self.__dict__:
            return None
        return [block for line in self.blocks for block in line]

    @property
    def even_columns_first(self) -> MatmulOperand:
        # No fragment: machine code would take the registers, whose rows are in their own order.
        return self.with_known_statistics(MatmulOperand(self.in_order(is_apart=True), self.kind))

    def stacked_rows(self, count: int) -> Fragment:
        return self.folded(self.shape[0] // count)

    def folded(self, count: int) -> Fragment:
        """With the rows of ``count`` matrices under each other."""
        return Fragment(self.blocks, self.kind, self.code, self.fold * count)


def join_rows(factors: list[MatmulOperand]) -> MatmulOperand:
    """Matrices A under each other, or columns of matrices B beside each other."""
    if len(factors) == 1:
        return factors[0]
    first = factors[0]
    if isinstance(first, Fragment) and all(factor.blocks for factor in factors):
        return Fragment([line for factor in factors for line in factor.blocks], first.kind, first.code)
    return MatmulOperand(np.concatenate([factor.values for factor in factors], axis=1), first.kind)
