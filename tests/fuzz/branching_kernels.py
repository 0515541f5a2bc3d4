"""Random cuTile kernels whose matmuls, scans and stores stand in uniform control flow: what a seed makes of returns, choices and loops.

A kernel returns early, or from within a choice or a loop; matmuls stand in front of, inside and behind choices, ``while`` and
``for`` loops that break and continue, or in no loop at all, with quotients for places. Conditions are of a block's place, arguments, counters, values that
an array holds and, sometimes, of tiles. Loops have fewer trips than stages, as many, or none. Tiles are small and values exact, as those of
``matmul_kernels.py``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .matmul_kernels import NOTHING, MatmulKernel, Sizes, Writer

# What may stand in a sequence, and how often.
PIECES = {
    "matmuls": 8, "return": 4, "choice": 4, "loop": 3, "written": 3, "one_matmul": 2, "scan": 2, "new": 2, "leave": 2, "changed": 1,
}  # fmt: skip
BOUNDS = (
    "0, STEPS",
    "0, STEPS",
    "0, min(STEPS, i + 1)",
    "first, last",
    "0, cut",
    "cut, STEPS",
    "0, COUNT",
    "0, STEPS, 2",
)
COUNTED = {"0, cut": "cut", "0, COUNT": "COUNT"}  # trips, or at least one of so many
CONDITIONS = (
    "i >= COUNT", "i < cut", "i == 0", "i + j > 0", "cut > 1", "last < cut", "COUNT == 0", "COUNT > 1", "first == 0", "i >= last - 1",
)  # fmt: skip
IN_LOOPS = ("{0} == cut", "{0} > COUNT", "{0} % 2 == i", "{0} + i > 1")
DEEPEST = 3  # choices and loops in each other
LINES = 45  # no more pieces behind so many


def random_branches(seed: int, large: bool = False) -> MatmulKernel:
    """The kernel of a seed. ``large``: more rows than one warpgroup has."""
    return _BranchWriter(seed, large).kernel()


@dataclass
class _BranchWriter(Writer):
    accumulators: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)  # of the loops around, innermost last
    count: str = "cut"  # a number that an array says, once it is loaded

    def _sizes(self) -> Sizes:
        m, n = self.pick((128, 128, 256) if self.large else (16, 64, 64, 128)), self.pick((16, 32, 32, 64))
        k = max(self.pick((16, 32, 32, 64)), self.element.least)
        tile = {"m": m, "n": n, "d": 32, "k": k}
        self.steps = self.pick((1, 2, 3, 3, 4, 6))
        has_boundary_tile = self.chance(0.2)
        whole = {axis: size - self.pick((1, 8)) * has_boundary_tile for axis, size in tile.items()}
        return Sizes(tile, whole | {"d": 32, "k": whole["k"] + (self.steps - 1) * k})

    # ---- the kernel
    def kernel(self) -> MatmulKernel:
        self.emit("i, j = ct.bid(0), ct.bid(1)", 1)
        if self.chance(0.4):
            self._look_up()
        if self.chance(0.4):
            self._return(1)
        depth = self._tiles()
        self.accumulators = [self._new_accumulator(depth) for _ in range(self.pick((1, 1, 2)))]
        self._sequence(depth, "matmuls")
        for name in self.accumulators:
            self._store(name, depth)
        scalars = self.pick((0, 0, 1)), self.steps, self.pick((0, 1, 2, self.steps))
        body = [f"def body({', '.join(self.arrays)}, first, last, cut):", *self.lines]
        source = "\n".join(
            ["import cuda.tile as ct", "", "", *body, "", "", f"kernel = ct.kernel({self._hints()})(body)", ""]
        )
        grid = (self.pick((1, 2)), 1, 1) if self.persistent else (self.rows, self.columns, 1)
        return MatmulKernel(self.seed, self.kind, source, self.arrays, scalars, grid)

    def _hints(self) -> str:
        return self.pick(("", "", "", "", "num_ctas=2", "occupancy=2"))

    def _look_up(self) -> None:
        array, self.count = self.array((self.rows,), np.dtype(np.int32), (0, 1, 2, 3)), "count"
        self.emit(f"count = ct.load({array}, index=(i % {self.rows},), shape=(1,)).item()", 1)

    def _condition(self, depth: int) -> str:
        if self.accumulators and self.chance(0.08):
            found = self.name("all")
            self.emit(f"{found} = ct.max({self.pick(self.accumulators)}).item()", depth)
            return f"{found} > {self.pick((-1, 3, 20))}"
        if self.counters and self.chance(0.5):
            condition = self.pick(IN_LOOPS).format(self.counters[-1])
        else:
            condition = self.pick(CONDITIONS)
        return condition.replace("COUNT", self.count)

    # ---- sequences
    def _sequence(self, depth: int, *musts: str) -> None:
        """Some pieces, and among them those that must be there."""
        barred = {"leave"} if not self.counters else set()
        barred |= {"loop", "choice"} if depth > DEEPEST + self.persistent else set()
        options = [name for name, often in PIECES.items() for _ in range(often) if name not in barred]
        pieces = [self.pick(options) for _ in range(self.random.randrange(4))]
        for must in musts:
            pieces.insert(self.random.randrange(len(pieces) + 1), must)
        start = len(self.lines)
        for piece in pieces:
            if len(self.lines) < LINES or piece in musts:
                getattr(self, f"_{piece}")(depth)
        if len(self.lines) == start:
            self._changed(depth)

    def _inside(self, depth: int, write: Callable[[int], None]) -> None:
        """What ``write`` writes stands in a block of its own: accumulators that begin there end there."""
        before = list(self.accumulators)
        write(depth)
        self.accumulators = before

    # ---- pieces
    def _return(self, depth: int) -> None:
        self.emit(f"if {self._condition(depth)}:", depth)
        if self.accumulators and self.chance(0.3):
            self._store(self.pick(self.accumulators), depth + 1)
        elif self.accumulators and self.chance(0.15):
            self._matmuls(depth + 1)
        self.emit("return", depth + 1)

    def _leave(self, depth: int) -> None:
        self.emit(f"if {self._condition(depth)}:", depth)
        may_skip = not self.counters[-1].startswith("at")
        self.emit(self.pick(("break", "continue")) if may_skip else "break", depth + 1)

    def _choice(self, depth: int) -> None:
        self.emit(f"if {self._condition(depth)}:", depth)
        self._inside(depth + 1, lambda at: self._sequence(at, *self.pick(((), ("matmuls",)))))
        if self.chance(0.5):
            self.emit("else:", depth)
            self._inside(depth + 1, lambda at: self._sequence(at, *self.pick(((), ("matmuls",)))))

    def _loop(self, depth: int) -> None:
        """A loop around others."""
        if self.chance(0.4):
            counter = self.name("at")
            self.emit(f"{counter} = {self.pick(('0', 'first', 'i'))}", depth)
            self.emit(f"while {counter} < {self.pick(('2', 'cut', self.count))}:", depth)
            self._body(counter, depth + 1)
            self.emit(f"{counter} = {counter} + 1", depth + 1)
        else:
            counter = self.name("turn")
            self.emit(f"for {counter} in range({self.pick(('2', 'cut', 'i + 1', '1, last'))}):", depth)
            self._body(counter, depth + 1)

    def _body(self, counter: str, depth: int) -> None:
        self.counters.append(counter)
        if self.chance(0.4):
            acc = self.pick(self.accumulators)
            self.emit(f"{acc} = {self.zeros(self.sizes.tile['m'], self.sizes.tile['n'])}", depth)
        self._inside(depth, lambda at: self._sequence(at, "matmuls"))
        self.counters.pop()

    def _matmuls(self, depth: int) -> None:
        """A loop over k."""
        step, bounds = self.name("step"), self.pick(BOUNDS)
        place = self._place(step, bounds)
        bounds = bounds.replace("STEPS", str(self.steps)).replace("COUNT", f"min({self.count}, {self.steps})")
        self.emit(f"for {step} in range({bounds}):", depth)
        for acc in self.random.sample(self.accumulators, self.pick((1, 1, min(2, len(self.accumulators))))):
            self._multiply(acc, place, depth + 1)
        what = self.random.random()
        self.counters.append(step)
        if what < 0.08:
            self._leave(depth + 1)
        elif what < 0.14:
            self._return(depth + 1)
        elif what < 0.2:
            self._store(self.pick(self.accumulators), depth + 1)
        self.counters.pop()

    def _place(self, step: str, bounds: str) -> str:
        """Along k: a step, or a quotient by the number of trips, of which there are none where it is 0."""
        choose = random.Random(f"{self.seed} {step}")  # of its own: other seeds' kernels stay as they are
        if bounds not in COUNTED or choose.random() < 0.5:
            return step
        return f"{step} {choose.choice(('//', '%'))} {COUNTED[bounds].replace('COUNT', self.count)}"

    def _multiply(self, acc: str, step: str, depth: int) -> None:
        left, right = self.load("mk", ("i", step), depth), self.load("kn", (step, "j"), depth)
        if self.chance(0.1):
            self.emit(f"if {self._condition(depth)}:", depth)
            depth += 1
        self.emit(f"{acc} = ct.mma({left}, {right}, {acc})", depth)

    def load(self, axes: str, places: tuple[str, str], depth: int) -> str:
        """Mostly what TMA brings."""
        if self.chance(0.3):
            return super().load(axes, places, depth)
        found, (row, column) = self.name("t"), places
        array = self.array((self.extent(axes[0]), self.extent(axes[1])), self.element.stored)
        shape = self.sizes.tile[axes[0]], self.sizes.tile[axes[1]]
        padding = "padding_mode=ct.PaddingMode.ZERO"
        self.emit(f"{found} = ct.load({array}, index=({row}, {column}), shape={shape}, {padding})", depth)
        return self.factor(found, depth)

    def _one_matmul(self, depth: int) -> None:
        self._multiply(self.pick(self.accumulators), self.pick(("0", "first", f"i % {self.steps}")), depth)

    def _scan(self, depth: int) -> None:
        """Of a loaded tile, stored."""
        tile, name, axis = self.load("mk", ("i", "0"), depth), self.name("c"), self.pick((0, 1, 1))
        m, k, dtype = (
            self.sizes.tile["m"],
            self.sizes.tile["k"],
            np.dtype(np.int32 if self.kind == "i8" else np.float32),
        )
        self.emit(f"{name} = ct.cumsum(ct.astype({tile}, {self.element.accumulator}), axis={axis})", depth)
        array = self.array((self.rows * m, self.columns * k), dtype, NOTHING)
        self.emit(f"ct.store({array}, index=(i, j), tile={name})", depth)

    def _written(self, depth: int) -> None:
        self._store(self.pick(self.accumulators), depth)

    def _changed(self, depth: int) -> None:
        acc = self.pick(self.accumulators)
        change = self.pick(("ct.where({0} > 40, 1, {0})", "-{0}", "{0} + 1", "ct.minimum(ct.maximum({0}, -50), 50)"))
        self.emit(f"{acc} = ({change.format(acc)}).astype({acc}.dtype)", depth)

    def _new(self, depth: int) -> None:
        acc = self.pick(self.accumulators)
        self.emit(f"{acc} = {self.zeros(self.sizes.tile['m'], self.sizes.tile['n'])}", depth)

    def _store(self, acc: str, depth: int) -> None:
        """As it is, in whole or in a narrower type: by TMA where there is a way."""
        out = np.dtype(np.int32 if self.kind == "i8" else np.float32)
        array = self.array((self.extent("m"), self.extent("n")), out, NOTHING)
        self.emit(f"ct.store({array}, index=(i, j), tile={acc}.astype({array}.dtype))", depth)
