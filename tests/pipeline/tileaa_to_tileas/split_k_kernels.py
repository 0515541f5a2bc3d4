"""Kernels whose loop along k CTAs may divide, and some whose loop they cannot."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def _operands(a, b, row, column, k, M, N, K):
    left = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
    return left, ct.load(b, (k, column), (K, N), padding_mode=ZERO)


@ct.kernel
def biased(a, b, bias, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = max(a @ b + bias, 0)"""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(*_operands(a, b, row, column, k, M, N, K), acc)
    added = acc + ct.load(bias, (column,), (N,)).astype(ct.float32).reshape((1, N))
    ct.store(out, (row, column), ct.maximum(added, 0.0).astype(out.dtype))


@ct.kernel
def row_maxima(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = the maximum of each row of a @ b, whose columns no two CTAs can have."""
    row, acc = ct.bid(0), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(*_operands(a, b, row, 0, k, M, N, K), acc)
    ct.store(out, (row,), ct.max(acc, 1).astype(out.dtype))


@ct.kernel
def gated(a, b, gate, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a @ b) (a @ gate), by one loop"""
    row, column = ct.bid(0), ct.bid(1)
    left = ct.zeros((M, N), dtype=ct.float32)
    right = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, y = _operands(a, b, row, column, k, M, N, K)
        left = ct.mma(x, y, left)
        right = ct.mma(x, ct.load(gate, (k, column), (K, N), padding_mode=ZERO), right)
    ct.store(out, (row, column), (left * right).astype(out.dtype))


@ct.kernel
def integers(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b"""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.int32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(*_operands(a, b, row, column, k, M, N, K), acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def begun(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out += a @ b"""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.load(out, (row, column), (M, N)).astype(ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(*_operands(a, b, row, column, k, M, N, K), acc)
    ct.store(out, (row, column), acc.astype(out.dtype))


@ct.kernel
def writing(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, and what has been accumulated before"""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(*_operands(a, b, row, column, k, M, N, K), acc)
        ct.store(out, (row, column), acc.astype(out.dtype))


@ct.kernel
def decayed(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The accumulator is halved before each step."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(*_operands(a, b, row, column, k, M, N, K), acc * 0.5)
    ct.store(out, (row, column), acc.astype(out.dtype))


@ct.kernel
def softmax_of_all(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b over a reduction of all of it, for which no shard is enough."""
    row, acc = ct.bid(0), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(*_operands(a, b, row, 0, k, M, N, K), acc)
    total = ct.sum(ct.sum(acc, 1), 0)
    ct.store(out, (row, 0), (acc / total).astype(out.dtype))


F16 = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=16)
ANY, VECTOR, I8 = Array("float16", 2), Array("float16", 1), Array("int8", 2, stride_divisible_by=16)
TILES = (64, 64, 64)
CASES = [
    Case("biased", biased, (F16, F16, VECTOR, F16, 128, 128, 64)),
    Case("unaligned", biased, (ANY, ANY, VECTOR, ANY, *TILES)),
    Case("row_maxima", row_maxima, (F16, F16, Array("float16", 1), *TILES)),
    Case("gated", gated, (F16, F16, F16, F16, *TILES)),
    Case("integers", integers, (I8, I8, Array("int32", 2), *TILES)),
    *(
        Case(kernel._pyfunc.__name__, kernel, (F16, F16, F16, *TILES))
        for kernel in (begun, writing, decayed, softmax_of_all)
    ),
]
