"""References for the kernels of ``gated_silu.cu``, by their C++ names."""

import numpy as np

from tileiras_build.cases import Reference, Values, first_tiles, place, poisoned, tolerate, wide


def _gated_silu(dtype: str, type_name: str, tile: int) -> Reference:
    length = 3 * tile + 5

    def make_inputs(rng: np.random.Generator) -> Values:
        given = {name: place(rng.uniform(-4, 4, (length,)), dtype) for name in ("gate", "x")}
        return given | {"y": poisoned((length,), dtype), "length": length}

    def reference(values: Values) -> Values:
        gate = wide(values["gate"])
        return {"y": (gate / (1 + np.exp(-gate)) * wide(values["x"])).astype(dtype)}

    name, close = f"gated_silu<{type_name}, {tile}>", tolerate(dtype, depth=8, magnitude=16.0)
    return Reference(name, grid=first_tiles("y", tile), inputs=make_inputs, reference=reference, tolerance=close)


REFERENCES = [
    _gated_silu("float32", "float", 1024),
    _gated_silu("float16", "__half", 1024),
    _gated_silu("bfloat16", "__nv_bfloat16", 512),
]
