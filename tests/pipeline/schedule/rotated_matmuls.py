"""Two matmuls of which each result has both, rotated by angles of tiles of their own."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def rotated(x, w, cos, sin, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """out = (a cos - b sin, b cos + a sin) where (a, b) = x @ w"""
    m, n = ct.bid(0), ct.bid(1)
    first, second = ct.zeros((M, N), ct.float32), ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(x, 1, (M, K))):
        left = ct.load(x, (m, k), (M, K))
        first = ct.mma(left, ct.load(w, (k, 2 * n), (K, N)), first)
        second = ct.mma(left, ct.load(w, (k, 2 * n + 1), (K, N)), second)
    c, s = ct.load(cos, (m, 0), (M, N)), ct.load(sin, (m, 0), (M, N))
    ct.store(out, (m, 2 * n), (first * c - second * s).astype(out.dtype))
    ct.store(out, (m, 2 * n + 1), (second * c + first * s).astype(out.dtype))


def _arrays(*types: str) -> tuple[Array, ...]:
    return tuple(Array(dtype, 2, stride_divisible_by=8, shape_divisible_by=16) for dtype in types)


ARRAYS = _arrays("float16", "float16", "float32", "float32", "float16")
CASES = [Case("wide", rotated, (*ARRAYS, 128, 64, 64)), Case("narrow", rotated, (*ARRAYS, 128, 32, 64))]
