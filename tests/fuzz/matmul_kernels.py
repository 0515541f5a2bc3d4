"""Random cuTile kernels whose work is matmuls: what a seed makes of loops, operands, hints and epilogues.

Values are small integers, so that every result is exact in any order, and a wrong element is a fault. Each loop
over k may hold matmuls of arrays, and matmuls of scores that the iteration has computed itself, as attention has.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import ml_dtypes
import numpy as np

from tileiras_build.pipeline.tuning_parameters import TUNING

T = TypeVar("T")
Filled = bool | range | tuple[float, ...]  # with integers of -2 to 2, with some of these values, or with zeros
INDENT = "    "
# What arrays hold: of factors, and of results.
SMALL, NOTHING = True, False


@dataclass(frozen=True)
class Element:
    """A type of factors: in memory, as the tensor core takes it, and of the accumulators; ``least`` elements along k."""

    stored: np.dtype
    factor: str
    accumulator: str
    least: int = 16


ELEMENTS = {
    "f16": Element(np.dtype(np.float16), "ct.float16", "ct.float32"),
    "bf16": Element(np.dtype(ml_dtypes.bfloat16), "ct.bfloat16", "ct.float32"),
    "tf32": Element(np.dtype(np.float32), "ct.tfloat32", "ct.float32"),
    "e4m3": Element(np.dtype(ml_dtypes.float8_e4m3fn), "ct.float8_e4m3fn", "ct.float32", least=32),
    "i8": Element(np.dtype(np.int8), "ct.int8", "ct.int32", least=32),
}
OFTEN_F16 = ("f16", "f16", "f16", "bf16", "tf32", "e4m3", "i8")
# Scores (matmuls that a later one takes), how many take them, and matmuls of arrays alone, of one loop over k.
FORMS = {
    "one matmul": (0, 0, 1), "two matmuls": (0, 0, 2), "attention": (1, 1, 0), "two values": (1, 2, 0), "two scores": (2, 1, 0),
    "backward": (2, 2, 0), "mixed": (1, 1, 1),
}  # fmt: skip
# Powers of two near 0, of a tile of any values: what matmuls of matmuls take.
REDUCED = (
    "ct.minimum({0}, 2)",
    "ct.where({0} > 1, 1, -1)",
    "ct.where({0} > 0, 1, 0)",
    "ct.maximum(ct.minimum({0}, 1), -1)",
)
# What is done with an accumulator before it is stored; ROW, TILE are loaded from an array of that shape.
EPILOGUES = (
    "", "", "ct.where({0} > 0, {0}, 0).astype({0}.dtype)", "{0} + ct.sum({0}, axis=0, keepdims=True)",
    "{0} + ct.max({0}, axis=0, keepdims=True)", "{0} + ct.sum({0}, axis=1, keepdims=True)", "{0} + ROW", "{0} + TILE",
)  # fmt: skip
HINTS = (("num_ctas", (2, 4)), ("occupancy", (1, 2, 3)), ("opt_level", (0, 1, 2)))


@dataclass(frozen=True)
class Sizes:
    """Extents of tiles, and of the arrays that they are tiles of, by axis: rows, columns, steps and depth of scores."""

    tile: dict[str, int]
    whole: dict[str, int]


@dataclass
class MatmulKernel:
    """A kernel's source, the arrays that it is launched with (shape, type, how it is filled), scalars and grid."""

    seed: int
    element: str
    source: str
    arrays: dict[str, tuple[tuple[int, ...], np.dtype, Filled]]
    scalars: tuple[int, ...]
    grid: tuple[int, int, int]
    tuning: dict[str, int] = field(default_factory=dict)

    def inputs(self) -> list[np.ndarray]:
        """New arrays."""
        rng = np.random.default_rng(self.seed)
        return [_values(rng, shape, filled).astype(dtype) for shape, dtype, filled in self.arrays.values()]

    def at_level(self, level: int) -> MatmulKernel:
        """The same kernel at an optimization level."""
        before, hints, behind = re.split(r"(?<== ct\.kernel\()(.*)(?=\)\(body\))", self.source)
        told = [hint for hint in hints.split(", ") if hint and not hint.startswith("opt_level=")]
        return replace(self, source=before + ", ".join([*told, f"opt_level={level}"]) + behind)

    def tuned(self) -> MatmulKernel:
        """The same kernel, compiled by options that its seed says."""
        choose = random.Random(f"{self.seed} tuned")
        tuning = {row.name: choose.choice(row.values) for row in TUNING if choose.random() < 0.6}
        return replace(self, tuning=tuning)


def _values(rng: np.random.Generator, shape: tuple[int, ...], filled: Filled) -> np.ndarray:
    if not filled:
        return np.zeros(shape)
    return rng.integers(-2, 3, shape) if filled is True else rng.choice(np.array(filled), shape)


def random_kernel(seed: int, large: bool = False) -> MatmulKernel:
    """The kernel of a seed. ``large``: with tiles that are more than registers or shared memory hold."""
    return Writer(seed, large).kernel()


@dataclass
class _Accumulator:
    name: str
    of_scores: bool


@dataclass
class Writer:
    seed: int
    large: bool
    lines: list[str] = field(default_factory=list)
    arrays: dict[str, tuple[tuple[int, ...], np.dtype, Filled]] = field(default_factory=dict)
    names: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.kind = self.pick(OFTEN_F16)
        self.element = ELEMENTS[self.kind]
        self.sizes = self._sizes()
        self.rows, self.columns = self.pick(((1, 1), (1, 1), (2, 1), (1, 2)))
        self.persistent = self.chance(0.2)

    # ---- decisions
    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _sizes(self) -> Sizes:
        if self.large:
            m, n = self.pick(((256, 256), (128, 512), (256, 128), (512, 128), (64, 512), (512, 64)))
            d, k = self.pick((32, 64, 128, 256)), self.pick((16, 32, 32, 64))
        else:
            m, n = self.pick((16, 32, 64, 64, 128, 128)), self.pick((16, 32, 64, 64, 128, 128))
            d, k = self.pick((32, 64, 64, 128)), self.pick((16, 32, 32, 64))
        tile = {"m": m, "n": n, "d": d, "k": max(k, self.element.least)}
        self.steps = self.pick((1, 2, 3, 3, 4, 5)) if m * max(n, d) <= 8192 else self.pick((2, 3))
        has_boundary_tile = self.chance(0.35)
        whole = {axis: size - self.pick((1, 8, size // 2)) * has_boundary_tile for axis, size in tile.items()}
        return Sizes(tile, whole | {"d": d, "k": whole["k"] + (self.steps - 1) * tile["k"]})

    # ---- lines and arrays
    def emit(self, text: str, depth: int) -> None:
        self.lines.append(INDENT * depth + text)

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def array(self, shape: tuple[int, ...], dtype: np.dtype, filled: Filled = SMALL) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = shape, dtype, filled
        return name

    def extent(self, axis: str) -> int:
        """Of an array along the rows or columns of all tiles."""
        places = {"m": self.rows, "n": self.columns}.get(axis, 1)
        return self.sizes.whole[axis] + (places - 1) * self.sizes.tile[axis]

    def load(self, axes: str, places: tuple[str, str], depth: int) -> str:
        """A tile of factors along two axes, straight or turned."""
        found, (row, column) = self.name("t"), places
        shape = self.sizes.tile[axes[0]], self.sizes.tile[axes[1]]
        whole = self.extent(axes[0]), self.extent(axes[1])
        way = self.pick(("straight",) * 5 + ("order", "transpose", "gather"))
        more = ", padding_mode=ct.PaddingMode.ZERO"
        more += f", latency={self.pick((1, 2, 4, 10))}" if self.chance(0.3) else ""
        more += ", allow_tma=False" if self.chance(0.12) else ""
        array = self.array(whole[::-1] if way in ("order", "transpose") else whole, self.element.stored)
        text = {
            "straight": f"ct.load({array}, index=({row}, {column}), shape={shape}{more})",
            "order": f"ct.load({array}, index=({row}, {column}), shape={shape}, order=(1, 0){more})",
            "transpose": f"ct.transpose(ct.load({array}, index=({column}, {row}), shape={shape[::-1]}{more}))",
            "gather": f"ct.gather({array}, ({range_of(row, shape[0])}[:, None], {range_of(column, shape[1])}[None, :]), padding_value=0)",
        }[way]
        self.emit(f"{found} = {text}", depth)
        if self.kind in ("f16", "bf16", "tf32") and self.chance(0.15):
            self.emit(f"{found} = {self.pick((f'-{found}', f'{found} + {found}'))}", depth)
        return self.factor(found, depth)

    def factor(self, name: str, depth: int) -> str:
        """The tile as the matmul takes it."""
        if self.kind == "tf32":
            self.emit(f"{name} = ct.astype({name}, ct.tfloat32)", depth)
        return name

    def zeros(self, rows: int, columns: int) -> str:
        return f"ct.full(({rows}, {columns}), 0, dtype={self.element.accumulator})"

    # ---- the kernel
    def kernel(self) -> MatmulKernel:
        self.emit("i, j = ct.bid(0), ct.bid(1)", 1)
        depth = self._tiles()
        scores, of_scores, of_arrays = FORMS[self.pick(tuple(FORMS))]
        self.soft = bool(scores) and self.kind != "i8" and self.chance(0.6)
        queries = [self.load("md", ("i", "0"), depth) for _ in range(scores)]
        accumulators = [
            _Accumulator(self._new_accumulator(depth), count < of_scores) for count in range(of_scores + of_arrays)
        ]
        if self.soft:
            self.emit(f"top = ct.full(({self.sizes.tile['m']}, 1), -8, dtype=ct.float32)", depth)
        self._loops(queries, accumulators, depth)
        for one in accumulators:
            self._store(one.name, depth)
        scalars = self.pick((0, 0, 1)), self.steps, self.pick((0, 1, self.steps // 2, self.steps))
        hints = ", ".join(f"{name}={self.pick(values)}" for name, values in HINTS if self.chance(0.15))
        body = [f"def body({', '.join(self.arrays)}, first, last, cut):", *self.lines]
        source = "\n".join(["import cuda.tile as ct", "", "", *body, "", "", f"kernel = ct.kernel({hints})(body)", ""])
        tiles = self.rows * self.columns
        grid = (self.pick((1, tiles)), 1, 1) if self.persistent else (self.rows, self.columns, 1)
        return MatmulKernel(self.seed, self.kind, source, self.arrays, scalars, grid)

    def _tiles(self) -> int:
        """A block has one tile of the result, or takes every so many-th; returns how deep what follows stands."""
        if not self.persistent:
            return 1
        self.emit(f"for tile in range(ct.bid(0), {self.rows * self.columns}, ct.num_blocks(0)):", 1)
        self.emit(f"i, j = tile // {self.columns}, tile % {self.columns}", 2)
        return 2

    def _new_accumulator(self, depth: int) -> str:
        name = self.name("acc")
        self.emit(f"{name} = {self.zeros(self.sizes.tile['m'], self.sizes.tile['n'])}", depth)
        return name

    def _loops(self, queries: list[str], accumulators: list[_Accumulator], depth: int) -> None:
        bounds = self.pick(("0, STEPS", "0, ct.cdiv(K, TILE)", "0, min(STEPS, i + 1)", "first, last", "0, cut"))
        sizes = {"STEPS": self.steps, "K": self.extent("k"), "TILE": self.sizes.tile["k"]}
        for word, number in sizes.items():
            bounds = bounds.replace(word, str(number))
        masked, start = bool(queries) and self.chance(0.4), len(self.lines)
        self.emit(f"for step in range({bounds}):", depth)
        self._iteration(queries, accumulators, masked, depth + 1)
        if bounds != "0, cut":
            return
        rest = f"for step in range(cut, {self.steps}):"
        if self.chance(0.5):  # the same loop again, of the same arrays
            again = self.lines[start + 1 :]
            self.lines += [INDENT * depth + rest, *again]
        else:
            self.emit(rest, depth)
            self._iteration(queries, accumulators, masked, depth + 1)

    def _iteration(self, queries: list[str], accumulators: list[_Accumulator], masked: bool, depth: int) -> None:
        scores = [self._scores(query, masked, depth) for query in queries]
        if len(scores) == 2 and self.chance(0.6):
            self.emit(f"{scores[1]} = ct.where({scores[0]} > {scores[1]}, {scores[0]}, {scores[1]})", depth)
        if self.soft:
            self._rescale(scores[0], [one.name for one in accumulators if one.of_scores], depth)
        seen = 0
        for one in accumulators:
            if one.of_scores:
                left, seen = self._weights(scores[seen % len(scores)], depth), seen + 1
            else:
                left = self.load("mk", ("i", "step"), depth)
            right = self.load("kn", ("step", "j"), depth)
            apart = one.of_scores and self.chance(0.12)
            if apart:
                self.emit("if step != 1:", depth)
            self.emit(f"{one.name} = ct.mma({left}, {right}, {one.name})", depth + apart)

    def _scores(self, query: str, masked: bool, depth: int) -> str:
        """query @ keys of this step, or the other way round and turned."""
        name, (m, k) = self.name("s"), (self.sizes.tile["m"], self.sizes.tile["k"])
        if self.chance(0.75):
            keys = self.load("dk", ("0", "step"), depth)
            self.emit(f"{name} = ct.mma({query}, {keys}, {self.zeros(m, k)})", depth)
        else:
            keys = self.load("kd", ("step", "0"), depth)
            self.emit(f"{name} = ct.transpose(ct.mma({keys}, ct.transpose({query}), {self.zeros(k, m)}))", depth)
        if masked:
            mask = f"{range_of('step', k)}[None, :] <= {range_of('i', m)}[:, None]"
            self.emit(f"{name} = ct.where({mask}, {name}, -4).astype({name}.dtype)", depth)
        return name

    def _rescale(self, scores: str, accumulators: list[str], depth: int) -> None:
        """A softmax whose factors are 0.5 and 1, so that it is exact."""
        self.emit(
            f"now = ct.maximum(top, ct.minimum(ct.max({scores}, axis=1, keepdims=True), 4).astype(ct.float32))", depth
        )
        self.emit("shrink = ct.where(now > top, 0.5, 1.0).astype(top.dtype)", depth)
        self.emit(f"{scores} = ct.where({scores} > now - 3, 1, 0).astype(ct.float32)", depth)
        for name in accumulators:
            self.emit(f"{name} = {name} * shrink", depth)
        self.emit("top = now", depth)

    def _weights(self, scores: str, depth: int) -> str:
        name = self.name("w")
        self.emit(f"{name} = ct.astype({self.pick(REDUCED).format(scores)}, {self.element.factor})", depth)
        return name

    def _store(self, acc: str, depth: int) -> None:
        whole, shape = (self.extent("m"), self.extent("n")), (self.sizes.tile["m"], self.sizes.tile["n"])
        made = self.pick(EPILOGUES)
        for word, at, size, tile in (
            ("ROW", "0", (1, whole[1]), (1, shape[1])),
            ("TILE", "i", whole, shape),
        ):
            if word in made:
                array = self.array(size, np.dtype(np.float32))
                loaded = f"ct.load({array}, index=({at}, j), shape={tile}, padding_mode=ct.PaddingMode.ZERO)"
                made = made.replace(word, f"{loaded}.astype({acc}.dtype)")
        if made:
            self.emit(f"{acc} = {made.format(acc)}", depth)
        out = np.dtype(np.int32 if self.kind == "i8" else np.float32)
        if self.chance(0.25):
            array = self.array(whole[::-1], out, NOTHING)
            self.emit(f"ct.store({array}, index=(j, i), tile=ct.transpose({acc}).astype({array}.dtype))", depth)
        array = self.array(whole, out, NOTHING)
        self.emit(f"ct.store({array}, index=(i, j), tile={acc}.astype({array}.dtype))", depth)


def range_of(place: str, size: int) -> str:
    """The numbers of the elements of tile ``place`` along an axis."""
    return f"({place} * {size} + ct.arange({size}, dtype=ct.int32))"
