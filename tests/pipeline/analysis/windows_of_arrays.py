"""Kernels that multiply slices of arrays, between rows that they load, and store to slices."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def of_sequences(q, k, v, ends, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T) @ v for the rows of each sequence, of one head; before and after its keys there are zeros."""
    i, head = ct.bid(1), ct.bid(2)
    start, end = ct.load(ends, (i,), (1,)).item(), ct.load(ends, (i + 1,), (1,)).item()
    if ct.bid(0) * M >= end - start:
        return
    queries, keys = q.slice(0, start, end), k.slice(0, start, end)
    values, results = v.slice(0, start, end), out.slice(0, start, end)
    x = ct.load(queries, (ct.bid(0), head, 0), (M, 1, D), padding_mode=ZERO).reshape((M, D))
    acc = ct.zeros((M, D), dtype=ct.float32)
    for j in range(-1, ct.cdiv(end - start, N) + 1):
        y = ct.load(keys, (j, head, 0), (N, 1, D), padding_mode=ZERO).reshape((N, D))
        scores = ct.mma(x, ct.transpose(y), ct.zeros((M, N), dtype=ct.float32)).astype(v.dtype)
        acc = ct.mma(scores, ct.load(values, (j, head, 0), (N, 1, D), padding_mode=ZERO).reshape((N, D)), acc)
    ct.store(results, (ct.bid(0), head, 0), acc.astype(out.dtype).reshape((M, 1, D)))


@ct.kernel
def of_experts(a, b, ends, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b[i] for the rows of each expert, by as many blocks as the launch has."""
    rows, columns = ct.cdiv(a.shape[0], M), ct.cdiv(b.shape[2], N)
    for tile in range(ct.bid(0), (ends.shape[0] - 1) * rows * columns, ct.num_blocks(0)):
        i, row, column = tile // (rows * columns), tile // columns % rows, tile % columns
        start, end = ct.load(ends, (i,), (1,)).item(), ct.load(ends, (i + 1,), (1,)).item()
        if row * M < end - start:
            left, results = a.slice(0, start, end), out.slice(0, start, end)
            total = ct.zeros((M, N), dtype=ct.float32)
            for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
                x = ct.load(left, (row, k), (M, K), padding_mode=ZERO)
                total = ct.mma(x, ct.load(b, (i, k, column), (1, K, N), padding_mode=ZERO).reshape((K, N)), total)
            ct.store(results, (row, column), total.astype(out.dtype))


@ct.kernel
def of_first_rows(a, b, rows, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a[:rows].T @ b[:rows], rows of which an array has the number."""
    count, total = ct.load(rows, (0,), (1,)).item(), ct.zeros((M, N), dtype=ct.float32)
    left, right = a.slice(0, 0, count), b.slice(0, 0, count)
    for k in range(ct.cdiv(count, K)):
        x = ct.load(left, (k, ct.bid(0)), (K, M), padding_mode=ZERO)
        total = ct.mma(ct.transpose(x), ct.load(right, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(out, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def of_columns(a, b, ends, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a[:, start:end] @ b, columns that start anywhere: no map has such windows."""
    start, end = ct.load(ends, (0,), (1,)).item(), ct.load(ends, (1,), (1,)).item()
    left, total = a.slice(1, start, end), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.cdiv(end - start, K)):
        x = ct.load(left, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        total = ct.mma(x, ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(out, (ct.bid(0), ct.bid(1)), total)


def _array(dtype: str, rank: int) -> Array:
    return Array(dtype, rank, stride_divisible_by=16)


HALF, FLOAT, INDICES = _array("float16", 2), _array("float32", 2), Array("int32", 1)
CASES = [
    Case("of_sequences", of_sequences, (*[_array("float16", 3)] * 3, INDICES, _array("float16", 3), 128, 64, 64)),
    Case("of_experts", of_experts, (HALF, _array("float16", 3), INDICES, HALF, 128, 64, 64)),
    Case("of_experts_tall", of_experts, (HALF, _array("float16", 3), INDICES, HALF, 256, 256, 64)),
    Case("of_first_rows", of_first_rows, (HALF, HALF, INDICES, FLOAT, 128, 64, 64)),
    Case("of_columns", of_columns, (HALF, HALF, INDICES, FLOAT, 128, 64, 64)),
]
