"""Scans: a running sum along rows longer than a tile, a reversed one, and a custom scan for a linear recurrence."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import EXACT, Array, Case, Tolerance, Values, place, poisoned, tolerate, wide

ROWS, COLUMNS, TILE = 5, 300, 128
ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def prefix_sum(x, out, TILE: ConstInt):
    """out[i, j] = x[i, 0] + … + x[i, j]; a row is scanned tile by tile, the total carried along."""
    row = ct.bid(0)
    carry = ct.zeros((1, 1), dtype=x.dtype)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        tile = ct.load(x, (row, j), (1, TILE), padding_mode=ZERO)
        ct.store(out, (row, j), ct.cumsum(tile, axis=1) + carry)
        carry += ct.sum(tile, axis=1, keepdims=True)


@ct.kernel
def suffix_sum(x, out, TILE: ConstInt):
    """out[i, j] = x[i, j] + … + x[i, n - 1] for rows of n <= TILE elements."""
    tile = ct.load(x, (ct.bid(0), 0), (1, TILE), padding_mode=ZERO)
    ct.store(out, (ct.bid(0), 0), ct.cumsum(tile, axis=1, reverse=True))


def chain(decay, value, next_decay, next_value):
    """Two steps h -> decay * h + value as one step."""
    return decay * next_decay, value * next_decay + next_value


@ct.kernel
def linear_recurrence(decay, x, out, TILE: ConstInt):
    """out[i, j] = decay[i, j] * out[i, j - 1] + x[i, j] with out[i, -1] = 0, for rows of n <= TILE elements."""
    row = ct.bid(0)
    factors = ct.load(decay, (row, 0), (1, TILE), padding_mode=ZERO)
    values = ct.load(x, (row, 0), (1, TILE), padding_mode=ZERO)
    _, states = ct.scan((factors, values), 1, chain, (1.0, 0.0))
    ct.store(out, (row, 0), states)


def reference_prefix(values: Values) -> Values:
    x = values["x"]
    exact = x.astype(np.int64) if x.dtype.kind == "i" else wide(x)
    return {"out": np.cumsum(exact, axis=1).astype(x.dtype)}


def reference_suffix(values: Values) -> Values:
    return {"out": np.cumsum(wide(values["x"])[:, ::-1], axis=1)[:, ::-1].astype(np.float32)}


def reference_recurrence(values: Values) -> Values:
    decay, x = wide(values["decay"]), wide(values["x"])
    states, state = np.empty_like(x), np.zeros(len(x))
    for j in range(x.shape[1]):
        states[:, j] = state = decay[:, j] * state + x[:, j]
    return {"out": states.astype(np.float32)}


def _one_block_per_row(values: Values) -> tuple[int, int, int]:
    return len(values["x"]), 1, 1


def _sums(name: str, kernel, check, dtype: str, tile: int, close: Tolerance) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        shape = (ROWS, COLUMNS)
        numbers = rng.integers(-1000, 1000, shape) if dtype == "int32" else rng.uniform(-1, 1, shape)
        return {"x": place(numbers, dtype), "out": poisoned(shape, dtype)}

    arguments = (Array(dtype, 2), Array(dtype, 2), tile)
    return Case(name, kernel, arguments, grid=_one_block_per_row, inputs=make_inputs, reference=check, tolerance=close)


def _recurrence(name: str) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        shape = (ROWS, COLUMNS)
        return {
            "decay": place(rng.uniform(0.5, 0.99, shape), "float32"),
            "x": place(rng.uniform(-1, 1, shape), "float32"),
            "out": poisoned(shape, "float32"),
        }

    matrix, close = Array("float32", 2), tolerate("float32", depth=32, magnitude=4)
    arguments = (matrix, matrix, matrix, 512)
    return Case(
        name,
        linear_recurrence,
        arguments,
        grid=_one_block_per_row,
        inputs=make_inputs,
        reference=reference_recurrence,
        tolerance=close,
    )


# Partial sums of 300 values in (-1, 1) stay below 64; a tree of 9 levels and a carry round 16 times at most.
F32_SUMS = tolerate("float32", depth=16, magnitude=64)

CASES = [
    _sums("prefix_sum_f32", prefix_sum, reference_prefix, "float32", TILE, F32_SUMS),
    _sums("prefix_sum_i32", prefix_sum, reference_prefix, "int32", TILE, EXACT),
    _sums("suffix_sum_f32", suffix_sum, reference_suffix, "float32", 512, F32_SUMS),
    _recurrence("linear_recurrence_f32"),
]
