"""Fragments of ``mma`` in 32-bit registers: a register has 8 rows of 16 bytes, and lane 4 r + t has word t of row r.

The elements stay in register order until NumPy needs a matrix; native code reads the registers (``pack_operands.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..matmul.operand_value_ranges import FLOAT_RANGES, MatmulOperand
from ..matmul.pack_operands import kind_of

ROWS, REGISTERS_PER_ROW = 8, 4  # per block
LANE_QUAD = np.complex128  # any 16-byte type: the words of four adjacent lanes


@dataclass(frozen=True)
class RegisterEncoding:
    """The encoding of a 32-bit word: ``decode`` converts words (…, w, 1) to elements (…, w, ``per_word``), or flat."""

    elements_per_register: int
    decode: Callable[[np.ndarray], np.ndarray]


class Fragment(MatmulOperand):
    """Matrices (stack, rows, k) in ``blocks``, (rows / 8, columns of blocks) arrays (warps, 32 words) with encoding ``code``.

    The rows of ``fold`` warps form one matrix.
    """

    def __init__(self, blocks: Sequence[Sequence[np.ndarray]], kind: str, code: RegisterEncoding, fold: int = 1):
        self.blocks, self.kind, self.float_range = blocks, kind, FLOAT_RANGES[kind]
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
        """The elements (stack, rows, k). ``is_apart``: the even rows of eight come first."""
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
        # Not a Fragment: native code would read the registers, whose rows are in another order.
        return self.with_known_statistics(MatmulOperand(self.in_order(is_apart=True), self.kind))

    def stacked_rows(self, count: int) -> Fragment:
        return self.folded(self.shape[0] // count)

    def folded(self, count: int) -> Fragment:
        """Stack the rows of ``count`` matrices."""
        return Fragment(self.blocks, self.kind, self.code, self.fold * count)


def join_rows(factors: list[MatmulOperand]) -> MatmulOperand:
    """Concatenate rows of A, or columns of B."""
    if len(factors) == 1:
        return factors[0]
    first = factors[0]
    if isinstance(first, Fragment) and all(factor.blocks for factor in factors):
        return Fragment([line for factor in factors for line in factor.blocks], first.kind, first.code)
    return MatmulOperand(np.concatenate([factor.values for factor in factors], axis=1), first.kind)
