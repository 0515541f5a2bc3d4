"""Softmax over rows that fit into one tile; padding with -inf does not change the maximum and the sum.

Several rows per block, and a last block whose tile has fewer rows than its extent.
"""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Values, first_tiles, place, poisoned, tolerate, wide

ROWS, COLUMNS = 10, 200
TILE_M, TILE_N = 4, 256


@ct.kernel
def softmax(x, out, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int]):
    """out = exp(x - max x) / sum exp(x - max x) along axis 1 of (m, n), n <= TILE_N."""
    tile = ct.load(x, (ct.bid(0), 0), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    powers = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    rows = powers / ct.sum(powers, axis=1, keepdims=True)
    ct.store(out, (ct.bid(0), 0), rows.astype(out.dtype))


def reference(values: Values) -> Values:
    x = wide(values["x"])
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": (powers / powers.sum(axis=1, keepdims=True)).astype(values["out"].dtype)}


def _rows(name: str, dtype: str) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        shape = (ROWS, COLUMNS)
        return {"x": place(rng.uniform(-6, 6, shape), dtype), "out": poisoned(shape, dtype)}

    arguments = (Array(dtype, 2), Array(dtype, 2), TILE_M, TILE_N)
    # The exponent's argument is up to 12 after the subtraction: exp multiplies its rounding by as much.
    close = tolerate(dtype, depth=32)
    return Case(
        name,
        softmax,
        arguments,
        grid=first_tiles("x", TILE_M),
        inputs=make_inputs,
        reference=reference,
        tolerance=close,
    )


CASES = [
    _rows("softmax_f32", "float32"),
    _rows("softmax_f16", "float16"),
]
