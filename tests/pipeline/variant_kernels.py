"""Kernels whose arrays promise little: a matmul and an addition with an aligned variant, and a kernel whose variant is equal."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, ceil_div, first_tiles, place, poisoned, tolerate, wide

M, N, K, TILE = 72, 80, 104, 64
DEEP = 1040  # enough for parts of the loop in several CTAs


@ct.kernel
def matmul(a, b, out, TILE: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((TILE, TILE), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE)):
        total = ct.mma(ct.load(a, (row, k), (TILE, TILE)), ct.load(b, (k, column), (TILE, TILE)), total)
    ct.store(out, (row, column), total)


@ct.kernel
def add(x, y, out, TILE: ct.Constant[int]):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)) + ct.load(y, (ct.bid(0),), (TILE,)))


@ct.kernel
def number(out):
    ct.scatter(out, ct.bid(0), ct.bid(0))


def _matmul(name, k, rows=M):
    def inputs(rng):
        a, b = (place(rng.uniform(-1, 1, shape), "float16") for shape in ((rows, k), (k, N)))
        return {"a": a, "b": b, "out": poisoned((rows, N), "float32")}

    half, grid = Array("float16", 2), (ceil_div(rows, TILE), ceil_div(N, TILE))
    arguments = (half, half, Array("float32", 2), TILE)
    close = tolerate("float32", depth=k, magnitude=k)
    return Case(name, matmul, arguments, inputs=inputs, reference=_reference, grid=grid, tolerance=close)


def _reference(values):
    return {"out": (wide(values["a"]) @ wide(values["b"])).astype(np.float32)}


def _add(name, length):
    def inputs(rng):
        x, y = (place(rng.uniform(-1, 1, length), "float16") for _ in range(2))
        return {"x": x, "y": y, "out": poisoned((length,), "float16")}

    vector, reference = Array("float16", 1), lambda values: {"out": values["x"] + values["y"]}
    return Case(
        name, add, (vector, vector, vector, 256), inputs=inputs, reference=reference, grid=first_tiles("out", 256)
    )


CASES = [
    _matmul("matmul", K),
    _matmul("matmul_odd", K - 1),
    _matmul("matmul_three_rows", K, 2 * TILE + 8),
    _matmul("matmul_deep", DEEP),
    _add("add", 1000),
    _add("add_odd", 1001),
    Case("number", number, (Array("int32", 1),)),
]
