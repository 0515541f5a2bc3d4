"""Random cuTile kernels whose matmuls stand in loops of every kind: what a seed makes of control flow and of what loops carry.

Loops end early or have no count, stand in each other, and carry tiles, rows and scalars beside their accumulators; matmuls share
operands, take what other matmuls gave, what was stored just before, or tiles whose place an array says; between them are
reductions, scans, atomic operations, stores and prints. Values are exact, as those of ``matmul_kernels.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .matmul_kernels import HINTS, NOTHING, MatmulKernel, Writer, range_of

# What an iteration may do, and how often.
PIECES = {
    "matmul": 8, "apart": 2, "scores_piece": 3, "row": 2, "scan": 1, "atomic": 1, "print": 1, "leave": 2, "skip": 1, "inner": 3,
    "stored": 2, "kept": 2, "changed": 1, "counted": 2, "written": 1,
}  # fmt: skip
LOOPS = ("for", "for", "for", "while", "stride")
CONDITIONS = ("{0} % 2 == 0", "{0} != 1", "{0} < cut", "cut > 0", "{0} + cut < {1}", "{0} >= first")
OUTER, INNER = 3, 2  # the most pieces of an outermost loop's body beside a matmul, and of one in it
LINES = 90  # no more pieces behind so many


def random_loops(seed: int, large: bool = False) -> MatmulKernel:
    """The kernel of a seed. ``large``: with tiles that are more than registers or shared memory hold."""
    return _LoopWriter(seed, large).kernel()


@dataclass
class _Held:
    """What a kernel's loops have at hand: accumulators, a row of maxima, a number, a factor of the next iteration, and loaded factors."""

    accumulators: list[str] = field(default_factory=list)
    row: str = ""
    count: str = ""
    factor: tuple[str, str] = "", ""  # the axes of a tile that is loaded an iteration ahead, and its name
    fresh: dict[str, str] = field(default_factory=dict)  # the tile of some axes that was loaded last in this body
    out: list[str] = field(default_factory=list)  # arrays of places


@dataclass
class _LoopWriter(Writer):
    held: _Held = field(default_factory=_Held)

    def kernel(self) -> MatmulKernel:
        self.emit("i, j = ct.bid(0), ct.bid(1)", 1)
        self.atomics = self.chance(0.5)
        depth = self._tiles()
        self._begin(depth)
        for _ in range(self.pick((1, 1, 2))):
            self._loop("", depth)
        for name in self.held.accumulators:
            self._store(name, depth)
        self._store_row(depth)
        scalars = self.pick((0, 0, 1)), self.steps, self.pick((0, 1, self.steps // 2, self.steps))
        hints = ", ".join(f"{name}={self.pick(values)}" for name, values in HINTS if self.chance(0.2))
        body = [f"def body({', '.join(self.arrays)}, first, last, cut):", *self.lines]
        source = "\n".join(["import cuda.tile as ct", "", "", *body, "", "", f"kernel = ct.kernel({hints})(body)", ""])
        grid = (self.pick((1, self.rows * self.columns)), 1, 1) if self.persistent else (self.rows, self.columns, 1)
        return MatmulKernel(self.seed, self.kind, source, self.arrays, scalars, grid)

    def _begin(self, depth: int) -> None:
        m = self.sizes.tile["m"]
        self.held.accumulators = [self._new_accumulator(depth) for _ in range(self.pick((1, 1, 2)))]
        self.held.row, self.held.count = self.name("row"), self.name("count")
        self.emit(f"{self.held.row} = ct.full(({m}, 1), -8, dtype=ct.float32)", depth)
        self.emit(f"{self.held.count} = {self.pick(('0', 'first', 'cut'))}", depth)
        if self.chance(0.3):
            axes = self.pick(("mk", "kn"))
            self.held.factor = axes, self.load(axes, self._place(axes, "0"), depth)

    def _place(self, axes: str, step: str) -> tuple[str, str]:
        at = {"m": "i", "n": "j", "k": step, "d": "0"}
        return at[axes[0]], at[axes[1]]

    # ---- loops
    def _loop(self, around: str, depth: int) -> None:
        """A loop and its body; ``around`` is the counter of the loop that it stands in."""
        kind, step = self.pick(LOOPS), self.name("step")
        last = self.pick(
            (str(self.steps), "last", "cut" if not around else "last", f"min({around or 'last'} + 1, last)")
        )
        first = self.pick(("0", "0", "first", "cut"))
        outside = dict(self.held.fresh)
        self.held.fresh = {axes: name for axes, name in outside.items() if "k" not in axes}
        if kind == "while":
            self.emit(f"{step} = {first}", depth)
            self.emit(f"while {step} < {last}:", depth)
            self._body(step, bool(around), depth + 1, counts=True)
            self.emit(f"{step} = {step} + {self.pick((1, 1, 2))}", depth + 1)
        else:
            stride = ", 2" if kind == "stride" else ""
            self.emit(f"for {step} in range({first}, {last}{stride}):", depth)
            self._body(step, bool(around), depth + 1, counts=False)
        self.held.fresh = outside

    def _body(self, step: str, inside: bool, depth: int, counts: bool) -> None:
        barred = {"inner"} if inside else set()
        barred |= {"skip"} if counts else set()
        barred |= set() if self.atomics else {"atomic"}
        options = [name for name, often in PIECES.items() for _ in range(often) if name not in barred]
        pieces = [self.pick(options) for _ in range(self.random.randrange(INNER + 1 if inside else OUTER + 1))]
        pieces.insert(self.random.randrange(len(pieces) + 1), "matmul")
        for piece in pieces:
            if len(self.lines) < LINES or piece == "matmul":
                getattr(self, f"_{piece}")(step, depth)
        if self.held.factor[1] and not inside and self.chance(0.7):
            axes, name = self.held.factor
            self.emit(f"{name} = {self.load(axes, self._place(axes, step), depth)}", depth)

    # ---- what stands in them
    def _factor(self, axes: str, step: str, depth: int) -> str:
        """A factor with these axes: of this step, of the iteration before, loaded for another matmul or from where an array says."""
        if self.held.factor[0] == axes and self.chance(0.4):
            return self.held.factor[1]
        if axes in self.held.fresh and self.chance(0.35):
            return self.held.fresh[axes]
        place = self._looked_up(step, depth) if self.chance(0.15) else step
        if place == step and self.chance(0.1):
            place = f"({step} + {self.held.count}) % {self.steps}"
        self.held.fresh[axes] = self.load(axes, self._place(axes, place), depth)
        return self.held.fresh[axes]

    def _looked_up(self, step: str, depth: int) -> str:
        array, name = self.array((self.steps,), np.dtype(np.int32), range(self.steps)), self.name("at")
        index = f"{step} % {self.steps}"
        self.emit(f"{name} = ct.load({array}, index=({index},), shape=(1,)).item()", depth)
        return name

    def _matmul(self, step: str, depth: int) -> None:
        acc = self.pick(self.held.accumulators)
        left, right = self._factor("mk", step, depth), self._factor("kn", step, depth)
        self.emit(f"{acc} = ct.mma({left}, {right}, {acc})", depth)

    def _apart(self, step: str, depth: int) -> None:
        condition = self.pick(CONDITIONS).format(step, self.steps)
        self.emit(f"if {condition}:", depth)
        before = dict(self.held.fresh)
        self._matmul(step, depth + 1)
        self.held.fresh = before
        if self.chance(0.3):
            self.emit("else:", depth)
            acc = self.pick(self.held.accumulators)
            self.emit(f"{acc} = -{acc}", depth + 1)

    def _scored(self, step: str, depth: int) -> str:
        query = self.load("md", ("i", "0"), depth)
        return self._scores(query, self.chance(0.3), depth, step)

    def _scores(self, query: str, masked: bool, depth: int, step: str = "step") -> str:
        start = len(self.lines)
        name = super()._scores(query, masked, depth)
        self.lines[start:] = [line.replace("step", step) for line in self.lines[start:]]
        return name

    def _scores_piece(self, step: str, depth: int) -> str:
        scores = self._scored(step, depth)
        acc, left = self.pick(self.held.accumulators), self._weights(scores, depth)
        right = self._factor("kn", step, depth)
        self.emit(f"{acc} = ct.mma({left}, {right}, {acc})", depth)
        return scores

    def _row(self, step: str, depth: int) -> None:
        source = self.pick((*self.held.accumulators, self._tile_of_values(step, depth)))
        how, axis = self.pick(("max", "sum", "min")), 1
        self.emit(
            f"{self.held.row} = ct.maximum({self.held.row}, ct.minimum(ct.{how}({source}, axis={axis}, keepdims=True), 9).astype(ct.float32))",
            depth,
        )
        if self.chance(0.4):
            acc = self.pick(self.held.accumulators)
            self.emit(
                f"{acc} = ct.where({self.held.row} > {self.pick((-3, 0, 3))}, {acc}, -{acc}).astype({acc}.dtype)",
                depth,
            )

    def _tile_of_values(self, step: str, depth: int) -> str:
        tile, name = self.load("mk", ("i", step), depth), self.name("x")
        self.emit(f"{name} = ct.astype({tile}, {self.element.accumulator})", depth)
        return name

    def _scan(self, step: str, depth: int) -> None:
        values, name = self._tile_of_values(step, depth), self.name("c")
        self.emit(f"{name} = ct.cumsum({values}, axis={self.pick((0, 1, 1))})", depth)
        acc, left = self.pick(self.held.accumulators), self._weights(name, depth)
        self.emit(f"{acc} = ct.mma({left}, {self._factor('kn', step, depth)}, {acc})", depth)

    def _atomic(self, step: str, depth: int) -> None:
        """Added by all blocks of a row, to an array that nothing else has."""
        m, array = self.sizes.tile["m"], self.array((self.extent("m"),), np.dtype(np.int32), NOTHING)
        value = self.pick(
            (
                f"ct.full(({m},), {step} + 1, dtype=ct.int32)",
                f"ct.max({self.pick(self.held.accumulators)}, axis=1).astype(ct.int32)",
            )
        )
        self.emit(f"ct.atomic_{self.pick(('add', 'max', 'add'))}({array}, ({range_of('i', m)},), {value})", depth)

    def _print(self, step: str, depth: int) -> None:
        self.emit(f"if {step} == {self.pick((0, 1))}:", depth)
        self.emit(f'ct.print("step", {step}, {self.held.count})', depth + 1)

    def _leave(self, step: str, depth: int) -> None:
        where = self.pick((f"{step} >= cut", f"{step} + 1 >= {self.steps}", f"{self.held.count} > 2", "row"))
        if where == "row":
            found = self.name("all")
            self.emit(f"{found} = ct.sum({self.held.row}).item()", depth)
            where = f"{found} > {self.pick((-99, 0, 99))}"
        self.emit(f"if {where}:", depth)
        self.emit("break", depth + 1)

    def _skip(self, step: str, depth: int) -> None:
        self.emit(f"if {self.pick(CONDITIONS).format(step, self.steps)}:", depth)
        self.emit("continue", depth + 1)

    def _inner(self, step: str, depth: int) -> None:
        if self.chance(0.4):
            acc = self.pick(self.held.accumulators)
            self.emit(f"{acc} = {self.zeros(self.sizes.tile['m'], self.sizes.tile['n'])}", depth)
        self._loop(step, depth)

    def _stored(self, step: str, depth: int) -> None:
        """Weights that are stored, and loaded as the factor of a matmul."""
        weights = self._weights(self._scored(step, depth), depth)
        m, k = self.sizes.tile["m"], self.sizes.tile["k"]
        array, again = self.array((self.rows * m, self.columns * k), self.element.stored, NOTHING), self.name("t")
        self.emit(f"ct.store({array}, index=(i, j), tile={weights}.astype({array}.dtype))", depth)
        self.emit(f"{again} = ct.load({array}, index=(i, j), shape=({m}, {k}))", depth)
        acc = self.pick(self.held.accumulators)
        left = self.factor(again, depth)
        self.emit(f"{acc} = ct.mma({left}, {self._factor('kn', step, depth)}, {acc})", depth)

    def _kept(self, step: str, depth: int) -> None:
        """The result of one matmul is a factor of the next."""
        name, (m, d) = self.name("p"), (self.sizes.tile["m"], self.sizes.tile["d"])
        left = self._factor("mk", step, depth)
        self.emit(f"{name} = ct.mma({left}, {self.load('kd', (step, '0'), depth)}, {self.zeros(m, d)})", depth)
        weights = self._weights(name, depth)
        acc = self.pick(self.held.accumulators)
        self.emit(f"{acc} = ct.mma({weights}, {self.load('dn', ('0', 'j'), depth)}, {acc})", depth)

    def _changed(self, step: str, depth: int) -> None:
        acc = self.pick(self.held.accumulators)
        change = self.pick(("ct.where({0} > 40, 1, {0})", "-{0}", "{0} + 1", "ct.minimum(ct.maximum({0}, -50), 50)"))
        self.emit(f"{acc} = ({change.format(acc)}).astype({acc}.dtype)", depth)

    def _counted(self, step: str, depth: int) -> None:
        count = self.held.count
        change = self.pick((f"{count} + 1", f"({count} * 3 + {step}) % {self.steps}", f"min({count}, {step})"))
        self.emit(f"{count} = {change}", depth)

    def _written(self, step: str, depth: int) -> None:
        m, n, acc = self.sizes.tile["m"], self.sizes.tile["n"], self.pick(self.held.accumulators)
        dtype = np.dtype(np.int32 if self.kind == "i8" else np.float32)
        array = self.array((self.rows * self.steps * m, self.columns * n), dtype, NOTHING)
        self.emit(f"ct.store({array}, index=(i * {self.steps} + {step} % {self.steps}, j), tile={acc})", depth)

    def _store_row(self, depth: int) -> None:
        array = self.array((self.rows * self.sizes.tile["m"], self.columns), np.dtype(np.float32), NOTHING)
        self.emit(f"ct.store({array}, index=(i, j), tile={self.held.row} + {self.held.count})", depth)
