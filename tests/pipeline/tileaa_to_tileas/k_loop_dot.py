"""A kernel whose dot loop runs again and again: its ring of buffers is used by several loops in turn."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def nested_matmul(a, b, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """out = a @ b, all tiles of rows by one block."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ct.PaddingMode.ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, 0), acc)


OPERAND = Array("float16", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)
RESULT = Array("float32", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)

CASES = [Case("nested_matmul", nested_matmul, (OPERAND, OPERAND, RESULT, 64, 64, 32))]
