"""Masked saxpy over a matrix, in place: y = a * x + y where the mask is set, y elsewhere.

Shows a scalar kernel parameter, ``where``, an array that is read and written, and tails along both axes.
"""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Scalar, Values, first_tiles, place, tolerate, wide

ROWS, COLUMNS = 50, 100
TILE_M, TILE_N = 32, 64


@ct.kernel
def masked_saxpy(a, x, mask, y, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int]):
    """y = where(mask, a * x + y, y); x, mask (int8, 0 or 1) and y of shape (m, n), a a scalar."""
    where_to, shape = (ct.bid(0), ct.bid(1)), (TILE_M, TILE_N)
    old = ct.load(y, where_to, shape)
    new = a * ct.load(x, where_to, shape) + old
    keep = ct.load(mask, where_to, shape) != 0
    ct.store(y, where_to, ct.where(keep, new, old))


def make_inputs(rng: np.random.Generator) -> Values:
    shape = (ROWS, COLUMNS)
    return {
        "a": 1.75,
        "x": place(rng.uniform(-1, 1, shape), "float32"),
        "mask": place(rng.integers(0, 2, shape), "int8"),
        "y": place(rng.uniform(-1, 1, shape), "float32"),
    }


def reference(values: Values) -> Values:
    new = values["a"] * wide(values["x"]) + wide(values["y"])
    return {"y": np.where(values["mask"] != 0, new, wide(values["y"])).astype(np.float32)}


MATRIX = Array("float32", 2)

CASES = [
    Case(
        "masked_saxpy_f32",
        masked_saxpy,
        (Scalar("float32"), MATRIX, Array("int8", 2), MATRIX, TILE_M, TILE_N),
        grid=first_tiles("y", TILE_M, TILE_N),
        inputs=make_inputs,
        reference=reference,
        tolerance=tolerate("float32", depth=2, magnitude=2),  # with or without fused multiply-add
    ),
]
