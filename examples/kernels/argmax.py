"""Argmax along rows: the library's reduction over one tile, and a custom reduction over a pair of tiles."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Values, first_tiles, place, poisoned

ROWS, COLUMNS = 10, 200
TILE_M, TILE_N = 4, 256


@ct.kernel
def argmax(x, out, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int]):
    """out (m,) = index of the first largest element in each row of x (m, n), n <= TILE_N."""
    tile = ct.load(x, (ct.bid(0), 0), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(out, (ct.bid(0),), ct.argmax(tile, 1).astype(out.dtype))


def keep_larger(value, index, other_value, other_index):
    """The larger of two (value, index) pairs; if equal, the one with the smaller index."""
    other_wins = (other_value > value) | ((other_value == value) & (other_index < index))
    return ct.where(other_wins, other_value, value), ct.where(other_wins, other_index, index)


@ct.kernel
def max_and_argmax(x, best, out, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int]):
    """best (m,) = largest element in each row of x (m, n), n <= TILE_N; out (m,) = its first index."""
    tile = ct.load(x, (ct.bid(0), 0), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.NEG_INF)
    index = ct.broadcast_to(ct.arange(TILE_N, dtype=ct.int32)[None, :], (TILE_M, TILE_N))
    value, index = ct.reduce((tile, index), 1, keep_larger, (-np.inf, 2147483647))
    ct.store(best, (ct.bid(0),), value)
    ct.store(out, (ct.bid(0),), index)


def make_inputs(rng: np.random.Generator) -> Values:
    numbers = rng.integers(-50, 50, (ROWS, COLUMNS))  # few enough values that the largest occurs twice
    return {"x": place(numbers, "float32"), "out": poisoned((ROWS,), "int32")}


def make_pair_inputs(rng: np.random.Generator) -> Values:
    values = make_inputs(rng)
    return {"x": values["x"], "best": poisoned((ROWS,), "float32"), "out": values["out"]}


def reference(values: Values) -> Values:
    return {"out": values["x"].argmax(axis=1).astype(np.int32)}


def reference_pair(values: Values) -> Values:
    return {"best": values["x"].max(axis=1)} | reference(values)


MATRIX, NUMBERS, INDICES, GRID = Array("float32", 2), Array("float32", 1), Array("int32", 1), first_tiles("x", TILE_M)

CASES = [
    Case("argmax_f32", argmax, (MATRIX, INDICES, TILE_M, TILE_N), grid=GRID, inputs=make_inputs, reference=reference),
    Case(
        "max_and_argmax_f32",
        max_and_argmax,
        (MATRIX, NUMBERS, INDICES, TILE_M, TILE_N),
        grid=GRID,
        inputs=make_pair_inputs,
        reference=reference_pair,
    ),
]
