"""What the kernels of the ``.cu`` files compute: inputs, grids and NumPy references, by the names that C++ gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from _case import Example, Values, ceil_div, first_tiles, place, poisoned, tolerate, wide


@dataclass(frozen=True)
class TileCppExample(Example):
    """An example whose kernel is in ``file``: an array is passed by its address, a number as the NumPy scalar that it is."""

    file: str = ""

    def pack(self, values: Values) -> list[bytes]:
        """The kernel parameters of a launch."""
        return [
            value.ctypes.data.to_bytes(8, "little") if isinstance(value, np.ndarray) else value.tobytes()
            for value in values.values()
        ]


def _gated_silu(dtype: str, type_name: str, tile: int) -> TileCppExample:
    length = 3 * tile + 5

    def make_inputs(rng: np.random.Generator) -> Values:
        given = {name: place(rng.uniform(-4, 4, (length,)), dtype) for name in ("gate", "x")}
        return given | {"y": poisoned((length,), dtype), "length": np.int32(length)}

    def reference(values: Values) -> Values:
        gate = wide(values["gate"])
        return {"y": (gate / (1 + np.exp(-gate)) * wide(values["x"])).astype(dtype)}

    return TileCppExample(
        f"gated_silu<{type_name}, {tile}>", None, (), first_tiles("y", tile), make_inputs, reference,
        tolerate(dtype, depth=8, magnitude=16.0), "gated_silu.cu",
    )  # fmt: skip


M, N, K = 100, 130, 72  # no multiple of a tile


def _matmul_inputs(rng: np.random.Generator) -> Values:
    given = {"a": place(rng.uniform(-1, 1, (M, K)), "float16"), "b": place(rng.uniform(-1, 1, (K, N)), "float16")}
    return given | {"c": poisoned((M, N), "float16"), "m": np.int32(M), "n": np.int32(N), "k": np.int32(K)}


def _matmul_reference(values: Values) -> Values:
    return {"c": np.maximum(wide(values["a"]) @ wide(values["b"]), 0).astype("float16")}


LENGTH = 1000


def _relu_inputs(rng: np.random.Generator) -> Values:
    return {"values": place(rng.uniform(-1, 1, (LENGTH,)), "float32"), "length": np.int32(LENGTH)}


EXAMPLES = [
    _gated_silu("float32", "float", 1024),
    _gated_silu("float16", "__half", 1024),
    _gated_silu("bfloat16", "__nv_bfloat16", 512),
    TileCppExample(
        "matmul_relu<__half>", None, (), lambda values: (ceil_div(M, 64), ceil_div(N, 64), 1), _matmul_inputs, _matmul_reference,
        tolerate("float16", depth=K, magnitude=float(K)), "matmul_relu.cu",
    ),
    TileCppExample(
        "relu_in_place", None, (), first_tiles("values", 256), _relu_inputs,
        lambda values: {"values": np.maximum(values["values"], 0)}, file="matmul_relu.cu",
    ),
]  # fmt: skip
