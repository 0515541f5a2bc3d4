"""Vector addition: one tile per block, and a last tile that extends past the end.

Loads beyond the end return padding, stores beyond it are dropped, without code in the kernel.
"""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Tolerance, Values, epsilon, first_tiles, place, poisoned, wide

LENGTH, TILE = 1000, 256


@ct.kernel
def vector_add(x, y, out, TILE: ct.Constant[int]):
    """out = x + y, all of shape (n,)."""
    block = ct.bid(0)
    left = ct.load(x, (block,), (TILE,))
    right = ct.load(y, (block,), (TILE,))
    ct.store(out, (block,), left + right)


def reference(values: Values) -> Values:
    return {"out": (wide(values["x"]) + wide(values["y"])).astype(values["out"].dtype)}


def _vectors(name: str, dtype: str) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        vectors = {key: place(rng.uniform(-8, 8, LENGTH), dtype) for key in ("x", "y")}
        return vectors | {"out": poisoned((LENGTH,), dtype)}

    vector, grid = Array(dtype, 1), first_tiles("out", TILE)
    # One addition, rounded once. Two 16-bit numbers add exactly in f32, so a detour through f32 changes nothing.
    close = Tolerance(relative=epsilon(dtype) / 2)
    return Case(
        name,
        vector_add,
        (vector, vector, vector, TILE),
        grid=grid,
        inputs=make_inputs,
        reference=reference,
        tolerance=close,
    )


CASES = [
    _vectors("vector_add_f32", "float32"),
    _vectors("vector_add_f16", "float16"),
    _vectors("vector_add_bf16", "bfloat16"),
]
