"""References for the kernels of ``matmul_relu.cu``, by their C++ names."""

import numpy as np

from tileiras_build.cases import Reference, Values, ceil_div, first_tiles, place, poisoned, tolerate, wide

M, N, K = 100, 130, 72  # no multiple of a tile
LENGTH = 1000


def matmul_inputs(rng: np.random.Generator) -> Values:
    given = {"a": place(rng.uniform(-1, 1, (M, K)), "float16"), "b": place(rng.uniform(-1, 1, (K, N)), "float16")}
    return given | {"c": poisoned((M, N), "float16"), "m": M, "n": N, "k": K}


def matmul_reference(values: Values) -> Values:
    return {"c": np.maximum(wide(values["a"]) @ wide(values["b"]), 0).astype("float16")}


def relu_inputs(rng: np.random.Generator) -> Values:
    return {"values": place(rng.uniform(-1, 1, (LENGTH,)), "float32"), "length": LENGTH}


def relu_reference(values: Values) -> Values:
    return {"values": np.maximum(values["values"], 0)}


REFERENCES = [
    Reference(
        "matmul_relu<__half>",
        grid=(ceil_div(M, 64), ceil_div(N, 64)),
        inputs=matmul_inputs,
        reference=matmul_reference,
        tolerance=tolerate("float16", depth=K, magnitude=float(K)),
    ),
    Reference("relu_in_place", grid=first_tiles("values", 256), inputs=relu_inputs, reference=relu_reference),
]
