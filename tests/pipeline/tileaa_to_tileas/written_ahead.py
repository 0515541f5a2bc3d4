"""Dots whose operands threads compute from what TMA loads, with accumulators that are read behind the loop."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def tile(array, row, column, M, N):
    return ct.load(array, (row, column), (M, N), padding_mode=ZERO)


@ct.kernel
def weighted(x, w, scales, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = x @ (w * scales): one dot, whose right operand is computed."""
    column = ct.bid(0)
    acc = ct.zeros((M, N), dtype=ct.float32)
    scale = tile(scales, 0, column, 1, N)
    for k in range(ct.num_tiles(x, axis=1, shape=(M, K))):
        right = (tile(w, k, column, K, N).astype(ct.float32) * scale).astype(x.dtype)
        acc = ct.mma(tile(x, 0, k, M, K), right, acc)
    ct.store(out, (0, column), acc)


@ct.kernel
def planes(a, b, c, d, real, imaginary, M: ConstInt, N: ConstInt, K: ConstInt):
    """(a + ib) @ (c + id): a left operand is negated, and two dots add to each accumulator."""
    row, column = ct.bid(0), ct.bid(1)
    re, im = ct.zeros((M, N), dtype=ct.float32), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, y, z, w = tile(a, row, k, M, K), tile(b, row, k, M, K), tile(c, k, column, K, N), tile(d, k, column, K, N)
        re = ct.mma(-y, w, ct.mma(x, z, re))
        im = ct.mma(y, z, ct.mma(x, w, im))
    ct.store(real, (row, column), re)
    ct.store(imaginary, (row, column), im)


def below(whole, high):
    return (whole - high.astype(ct.float32)).astype(ct.tfloat32)


@ct.kernel
def halves(x, y, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = x @ y in three dots: each operand is the sum of two of fewer bits."""
    row = ct.bid(0)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(M, K))):
        a, b = tile(x, row, k, M, K), tile(y, k, 0, K, N)
        high, upper = a.astype(ct.tfloat32), b.astype(ct.tfloat32)
        low, lower = below(a, high), below(b, upper)
        acc = ct.mma(high, upper, ct.mma(high, lower, ct.mma(low, upper, acc)))
    ct.store(out, (row, 0), acc)


@ct.kernel
def groups(x, w, scales, out, G: ConstInt, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same as ``weighted`` for each of G groups of columns, one after the other."""
    for column in range(G):
        acc = ct.zeros((M, N), dtype=ct.float32)
        scale = tile(scales, 0, column, 1, N)
        for k in range(ct.num_tiles(x, axis=1, shape=(M, K))):
            right = (tile(w, k, column, K, N).astype(ct.float32) * scale).astype(x.dtype)
            acc = ct.mma(tile(x, 0, k, M, K), right, acc)
        ct.store(out, (0, column), acc)


def array(dtype):
    return Array(dtype, 2, stride_divisible_by=16)


HALF, SINGLE = array("float16"), array("float32")
CASES = [
    Case("weighted", weighted, (HALF, HALF, SINGLE, SINGLE, 128, 64, 64)),
    Case("planes", planes, (HALF, HALF, HALF, HALF, SINGLE, SINGLE, 128, 64, 32)),
    Case("halves", halves, (SINGLE, SINGLE, SINGLE, 128, 64, 32)),
    Case("groups", groups, (HALF, HALF, SINGLE, SINGLE, 3, 128, 64, 64)),
]
