"""Matmuls whose threads compute with whole results: before and after the loop they need more registers than in it."""

import cuda.tile as ct

from tileiras_build.cases import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def adds_and_squares(a, b, added, c, squares, M: ConstInt, N: ConstInt, K: ConstInt):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.load(added, (row, column), (M, N)).astype(ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (row, step), (M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (step, column), (K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (row, column), total.astype(c.dtype))
    ct.store(squares, (row, column), ct.sum(total * total, axis=1, keepdims=True))


MATRIX = Array("float16", 2, stride_divisible_by=8)
CASES = [
    Case("adds_and_squares", adds_and_squares, (MATRIX, MATRIX, MATRIX, MATRIX, Array("float32", 2), 128, 128, 64)),
]
