"""Transpose of a matrix: a tile is read along rows and written along columns, with tails on both axes."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Values, first_tiles, place, poisoned

ROWS, COLUMNS = 70, 90
TILE_M, TILE_N = 32, 64
GRID_AXES = (f"tiles of {TILE_M} rows of x", f"tiles of {TILE_N} columns of x")  # shown in manifests and headers


@ct.kernel
def transpose(x, out, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int]):
    """out (n, m) = x (m, n) transposed."""
    row, column = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (row, column), (TILE_M, TILE_N))
    ct.store(out, (column, row), ct.transpose(tile))


@ct.kernel
def transpose_on_load(x, out, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int]):
    """The same, with the permutation in the load."""
    row, column = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (column, row), (TILE_N, TILE_M), order=(1, 0))
    ct.store(out, (column, row), tile)


def reference(values: Values) -> Values:
    return {"out": values["x"].T.copy()}


def _matrix(name: str, kernel, dtype: str) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        numbers = rng.integers(-100, 100, (ROWS, COLUMNS))  # exact in every type used here
        return {"x": place(numbers, dtype), "out": poisoned((COLUMNS, ROWS), dtype)}

    arguments = (Array(dtype, 2), Array(dtype, 2), TILE_M, TILE_N)
    grid = first_tiles("x", TILE_M, TILE_N)
    return Case(name, kernel, arguments, grid=grid, inputs=make_inputs, reference=reference, grid_axes=GRID_AXES)


CASES = [
    _matrix("transpose_f32", transpose, "float32"),
    _matrix("transpose_f16", transpose, "float16"),
    _matrix("transpose_i8", transpose, "int8"),
    _matrix("transpose_on_load_f32", transpose_on_load, "float32"),
]
