"""Random cuTile kernels of block-scaled matmuls: their types, how operands and scales lie, loops, hints and accumulators.

Factors are small integers or halves and scales powers of two near 1, so that every result is exact in any order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import ml_dtypes
import numpy as np

from tests.fuzz.matmul_kernels import HINTS, INDENT, Filled, MatmulKernel

T = TypeVar("T")
POWERS, SMALL, BYTES = (0.5, 1, 2), (-2, -1, -0.5, 0, 1, 1.5, 2), tuple(range(256))
F32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Kind:
    """Types of factors and scales, elements for each scale, factors to a byte of memory."""

    stored: np.dtype
    scale: np.dtype
    block: int
    per_byte: int = 1


def _kinds() -> dict[str, Kind]:
    e8m0, e4m3 = np.dtype(ml_dtypes.float8_e8m0fnu), np.dtype(ml_dtypes.float8_e4m3fn)
    byte = np.dtype(np.uint8)
    return {
        "mxe4m3": Kind(e4m3, e8m0, 32), "mxe5m2": Kind(np.dtype(ml_dtypes.float8_e5m2), e8m0, 32),
        "mxfp4": Kind(byte, e8m0, 32, 2), "mxfp4 by 16": Kind(byte, e8m0, 16, 2), "nvfp4": Kind(byte, e4m3, 16, 2),
    }  # fmt: skip


KINDS = _kinds()
# The loop over k: a first and a second one, of STEPS iterations.
LOOPS = (
    ("0, STEPS",), ("0, STEPS",), ("0, STEPS",), ("0, min(STEPS, i + 1)",), ("first, last",), ("0, cut", "cut, STEPS"),
    ("0, cut", "0, STEPS"), ("0, STEPS, 2",),
)  # fmt: skip


def random_scaled_kernel(seed: int) -> MatmulKernel:
    """The kernel of a seed."""
    return _Writer(seed).kernel()


@dataclass
class _Writer:
    seed: int
    lines: list[str] = field(default_factory=list)
    arrays: dict[str, tuple[tuple[int, int], np.dtype, Filled]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.name = self.pick(tuple(KINDS))
        self.kind = KINDS[self.name]
        self.m, self.n = self.pick((64, 128, 128, 128, 128, 256)), self.pick((16, 32, 64, 64, 128, 128, 256))
        self.k = self.pick((64, 128, 256, 256, 512))
        self.steps = self.pick((1, 2, 3, 5, 9)) if self.m * self.n * self.k <= 1 << 21 else self.pick((1, 2, 3))
        self.rows, self.columns = self.pick(((1, 1), (2, 1), (1, 2), (3, 1)))
        self.persistent = self.chance(0.5)
        self.has_boundary_tile = self.chance(0.3)
        self.alignment = self.pick((1, 4, 16, 16, 16))  # of lines of scales

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def emit(self, text: str, depth: int) -> None:
        self.lines.append(INDENT * depth + text)

    def array(self, shape: tuple[int, int], dtype: np.dtype, filled: Filled) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = shape, dtype, filled
        return name

    # ---- the kernel
    def kernel(self) -> MatmulKernel:
        """Accumulators of one or two matmuls, in a block of their own or several."""
        self.emit("i, j = ct.bid(0), ct.bid(1)", 1)
        depth = 2 if self.persistent else 1
        if self.persistent:
            self.emit(f"for tile in range(ct.bid(0), {self.rows * self.columns}, ct.num_blocks(0)):", 1)
            self.emit(f"i, j = tile // {self.columns}, tile % {self.columns}", 2)
        accumulators = [f"acc{number}" for number in range(self.pick((1, 1, 1, 1, 1, 2)))]
        for acc in accumulators:
            self.emit(f"{acc} = {self._start()}", depth)
        self._loops(accumulators, depth)
        for acc in accumulators:
            self._store(acc, depth)
        return self._finished()

    def _finished(self) -> MatmulKernel:
        hints = ", ".join(f"{name}={self.pick(values)}" for name, values in HINTS if self.chance(0.12))
        body = [f"def body({', '.join(self.arrays)}, first, last, cut):", *self.lines]
        source = "\n".join(["import cuda.tile as ct", "", "", *body, "", "", f"kernel = ct.kernel({hints})(body)", ""])
        tiles = self.rows * self.columns
        grid = (self.pick((1, 2, tiles)), 1, 1) if self.persistent else (self.rows, self.columns, 1)
        scalars = self.pick((0, 0, 1)), self.steps, self.pick((0, 1, self.steps))
        return MatmulKernel(self.seed, self.name, source, self.arrays, scalars, grid)

    def _whole(self, size: int, count: int) -> int:
        """An extent of so many tiles, of which the last one may stick out."""
        return size * count - (self.pick((1, 8, size // 2)) if self.has_boundary_tile else 0)

    def _start(self) -> str:
        if self.chance(0.85):
            return f"ct.full(({self.m}, {self.n}), 0, dtype=ct.float32)"
        array = self.array((self.rows * self.m, self.columns * self.n), F32, SMALL)
        return f"ct.load({array}, index=(i, j), shape=({self.m}, {self.n}))"

    def _loops(self, accumulators: list[str], depth: int) -> None:
        bounds = self.pick(LOOPS)
        operands = {acc: (self._operand("m"), self._operand("n")) for acc in accumulators}
        for number, bound in enumerate(bounds):
            again = number == 0 or self.chance(0.5)  # another loop may be over other arrays
            self.emit(f"for step in range({bound.replace('STEPS', str(self.steps))}):", depth)
            for acc in accumulators:
                left, right = operands[acc] if again else (self._operand("m"), self._operand("n"))
                x, y = self._factors(left, "x", "i", depth + 1), self._factors(right, "y", "j", depth + 1)
                self.emit(f"{acc} = ct.mma_scaled({x}, xs, {y}, ys, {acc})", depth + 1)

    def _operand(self, axis: str) -> tuple[str, str, int, bool]:
        """Arrays of factors and scales, the lines of a tile, and whether lines run along the first axis."""
        size, count = (self.m, self.rows) if axis == "m" else (self.n, self.columns)
        by_lines = axis == "m" or self.kind.per_byte > 1 or self.chance(0.85)
        lines, along = self._whole(size, count), self.steps * self.k
        scales = along // self.kind.block
        scales += -scales % self.alignment
        shapes = (lines, along // self.kind.per_byte), (lines, scales)
        if not by_lines:
            shapes = shapes[0][::-1], shapes[1][::-1]
        values = BYTES if self.kind.per_byte > 1 else SMALL
        return (
            self.array(shapes[0], self.kind.stored, values),
            self.array(shapes[1], self.kind.scale, POWERS),
            size,
            by_lines,
        )

    def _factors(self, operand: tuple[str, str, int, bool], name: str, place: str, depth: int) -> str:
        """Load a tile of factors and one of scales; what stands for the factors."""
        factors, scales, lines, by_lines = operand
        is_left, along = name == "x", (self.k // self.kind.per_byte, self.k // self.kind.block)
        for target, array, count in ((name, factors, along[0]), (f"{name}s", scales, along[1])):
            index, shape = (f"{place}, step", (lines, count)) if by_lines else (f"step, {place}", (count, lines))
            self.emit(
                f"{target} = ct.load({array}, index=({index}), shape={shape}, padding_mode=ct.PaddingMode.ZERO)", depth
            )
        if self.kind.per_byte > 1:
            elements = f"ct.unpack_from_bytes({name}.reshape((-1,)), ct.float4_e2m1fn)"
            self.emit(f"{name} = {elements}.reshape(({lines}, {self.k}))", depth)
        if by_lines and not is_left:
            self.emit(f"{name}, {name}s = ct.transpose({name}), ct.transpose({name}s)", depth)
        return name

    def _store(self, acc: str, depth: int) -> None:
        made = self.pick(
            ("{0}", "{0}", "ct.where({0} > 0, {0}, 0).astype({0}.dtype)", "{0} + ct.sum({0}, axis=1, keepdims=True)")
        )
        self.emit(f"{acc} = {made.format(acc)}", depth)
        array = self.array((self._whole(self.m, self.rows), self._whole(self.n, self.columns)), F32, ())
        self.emit(f"ct.store({array}, index=(i, j), tile={acc})", depth)
