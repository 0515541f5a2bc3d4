"""The kernels of ``estimates.py --set norms``: limited by DRAM bandwidth, with rows of 1 K to 32 K elements.

A row is a tile of its own: one block reads it once.
"""

import cuda.tile as ct
from key_kernels import layer_norm, matrix, row_case, softmax, transpose, vector_add

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

LENGTHS = (1024, 4096, 8192, 16384, 32768)
ConstInt = ct.Constant[int]


@ct.kernel
def rms_norm(x, weight, out, epsilon, TILE_N: ConstInt):
    """out = x / sqrt(mean of x^2 + epsilon) * weight, one row of TILE_N elements per block."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N)).astype(ct.float32)
    scale = ct.rsqrt(ct.sum(row * row, axis=1, keepdims=True) / TILE_N + epsilon)
    factors = ct.load(weight, (0,), (TILE_N,)).astype(ct.float32).reshape((1, TILE_N))
    ct.store(out, (ct.bid(0), 0), (row * scale * factors).astype(out.dtype))


def _transpose(name: str, dtype: str, side: int) -> Case:
    return Case(name, transpose, (matrix(dtype, 2), matrix(dtype, 2), side, side))


def _vector_add(name: str, dtype: str, tile: int) -> Case:
    return Case(name, vector_add, (Array(dtype, 1, shape_divisible_by=tile),) * 3 + (tile,))


CASES = [
    *(row_case(f"softmax_f16_{n}", softmax, "float16", 0, n) for n in LENGTHS),
    *(row_case(f"layer_norm_f16_{n}", layer_norm, "float16", 2, Scalar("float32"), n) for n in LENGTHS),
    *(row_case(f"rms_norm_f16_{n}", rms_norm, "float16", 1, Scalar("float32"), n) for n in LENGTHS),
    _transpose("transpose_f16_64x64", "float16", 64),
    _transpose("transpose_f16_128x128", "float16", 128),
    _transpose("transpose_f32_64x64", "float32", 64),
    _vector_add("vector_add_f32_1024", "float32", 1024),
    _vector_add("vector_add_f16_4096", "float16", 4096),
]
