"""Loops of one dot: one that runs again and again, whose ring of buffers several loops use in turn, and one that scales each result."""

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


@ct.kernel
def scaled_steps(a, b, a_scale, b_scale, out, T: ct.Constant[int]):
    """out = the sum of (a b^T) * a_scale * b_scale over steps of T along k; the scales are (rows, steps) and (1, steps)."""
    total, padding = ct.zeros((128, 128), ct.float32), ct.PaddingMode.ZERO
    for k in range(ct.num_tiles(a, axis=1, shape=(128, T))):
        left, right = ct.load(a, (0, k), (128, T)), ct.load(b, (0, k), (128, T))
        scale = ct.load(a_scale, (0, k), (128, 1), padding_mode=padding)
        scale = scale * ct.load(b_scale, (0, k), (1, 1), padding_mode=padding)
        total = total + ct.mma(left, ct.transpose(right), ct.zeros((128, 128), ct.float32)) * scale
    ct.store(out, (0, 0), total)


OPERAND = Array("float16", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)
RESULT = Array("float32", 2, stride_divisible_by=(16, 1), shape_divisible_by=16)

CASES = [
    Case("nested_matmul", nested_matmul, (OPERAND, OPERAND, RESULT, 64, 64, 32)),
    Case("scaled_steps", scaled_steps, (OPERAND, OPERAND, Array("float32", 2), Array("float32", 2), RESULT, 64)),
]
