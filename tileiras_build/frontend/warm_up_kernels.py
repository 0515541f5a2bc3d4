"""Kernels that are exported for what their export leaves in the process: ``warm_up.py``."""

import cuda.tile as ct

from tileiras_build.frontend.cases_api import Array, Case, Scalar


@ct.kernel
def elementwise(scale, x, y, out, ROWS: ct.Constant[int], COLUMNS: ct.Constant[int]):
    """A select, a reduction and functions of elements."""
    where, shape = (ct.bid(0), ct.bid(1)), (ROWS, COLUMNS)
    left = ct.load(x, where, shape, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    right = ct.load(y, where, shape)
    exponential = ct.exp(left - ct.max(left, axis=1, keepdims=True)) * scale
    total = ct.sum(exponential, axis=1, keepdims=True)
    ct.store(out, where, ct.where(right > 0, exponential / total, -right).astype(ct.float16))


@ct.kernel
def matmul(a, b, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """A loop of matrix multiplications."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((M, N), 0, dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (row, step), (M, K), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, ct.load(b, (step, column), (K, N)), total)
    ct.store(out, (row, column), total.astype(ct.float16))


_SINGLE, _HALF = Array("float32", 2), Array("float16", 2)

CASES = [
    Case("elementwise", elementwise, (Scalar("float32"), _HALF, _SINGLE, _HALF, 32, 64)),
    Case("matmul", matmul, (_HALF, _HALF, _HALF, 32, 64, 16)),
]
