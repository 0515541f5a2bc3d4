"""Gradients of the keys and values of attention with wide heads: tensor memory holds the accumulators of three of four dots, and shared memory
keys and values beside a stage of queries and gradients.
"""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


def _zeros(M: ConstInt, N: ConstInt):
    return ct.zeros((M, N), dtype=ct.float32)


@ct.kernel
def gradients(q, k, v, do, of_rows, dk, dv, M: ConstInt, N: ConstInt, D: ConstInt):
    b = ct.bid(0)
    keys, values = ct.load(k, (b, 0), (N, D)), ct.load(v, (b, 0), (N, D))
    of_keys, of_values = _zeros(N, D), _zeros(N, D)
    for i in range(ct.num_tiles(q, axis=0, shape=(M, D))):
        queries, grads = ct.load(q, (i, 0), (M, D)), ct.load(do, (i, 0), (M, D))
        lse, delta = ct.load(of_rows, (0, i), (1, M)), ct.load(of_rows, (1, i), (1, M))
        weights = ct.exp2(ct.mma(keys, queries.transpose(), _zeros(N, M)) - lse)
        of_values = ct.mma(weights.astype(grads.dtype), grads, of_values)
        scores = weights * (ct.mma(values, grads.transpose(), _zeros(N, M)) - delta)
        of_keys = ct.mma(scores.astype(queries.dtype), queries, of_keys)
    ct.store(dk, (b, 0), of_keys.astype(dk.dtype))
    ct.store(dv, (b, 0), of_values.astype(dv.dtype))


@ct.kernel
def transposed(q, k, v, do, of_rows, dk, dv, M: ConstInt, N: ConstInt, D: ConstInt):
    b = ct.bid(0)
    keys, values = ct.load(k, (b, 0), (N, D)), ct.load(v, (b, 0), (N, D))
    of_keys, of_values = _zeros(N, D), _zeros(N, D)
    for i in range(ct.num_tiles(q, axis=0, shape=(M, D))):
        queries, grads = ct.load(q, (i, 0), (M, D)), ct.load(do, (i, 0), (M, D))
        lse = ct.load(of_rows, (0, i), (1, M)).reshape((M, 1))
        delta = ct.load(of_rows, (1, i), (1, M)).reshape((M, 1))
        weights = ct.exp2(ct.mma(queries, keys.transpose(), _zeros(M, N)) - lse)
        of_values = ct.mma(weights.astype(grads.dtype).transpose(), grads, of_values)
        scores = weights * (ct.mma(grads, values.transpose(), _zeros(M, N)) - delta)
        of_keys = ct.mma(scores.astype(queries.dtype).transpose(), queries, of_keys)
    ct.store(dk, (b, 0), of_keys.astype(dk.dtype))
    ct.store(dv, (b, 0), of_values.astype(dv.dtype))


_ROWS = Array("bfloat16", 2, stride_divisible_by=8, shape_divisible_by=16)
_OF_ROWS = Array("float32", 2, stride_divisible_by=4, shape_divisible_by=(1, 16))
_ARGUMENTS = (*[_ROWS] * 4, _OF_ROWS, *[_ROWS] * 2, 64, 128, 256)
CASES = [Case(kernel, globals()[kernel], _ARGUMENTS) for kernel in ("gradients", "transposed")]
