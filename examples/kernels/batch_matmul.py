"""Batched matmul: the batch on the grid, and the batch inside the tile (a three-dimensional mma)."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Values, ceil_div, place, poisoned, tolerate, wide

BATCH, M, N, K = 3, 50, 40, 72
TILE_M, TILE_N, TILE_K = 32, 32, 32
ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def batch_matmul(a, b, c, BATCHES: ConstInt, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c[i] = a[i] @ b[i] for a (batch, m, k), b (batch, k, n), c (batch, m, n); BATCHES of them per block."""
    batch, row, column = ct.bid(2), ct.bid(0), ct.bid(1)
    total = ct.zeros((BATCHES, TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.cdiv(a.shape[2], TILE_K)):
        left = ct.load(a, (batch, row, step), (BATCHES, TILE_M, TILE_K), padding_mode=ZERO)
        right = ct.load(b, (batch, step, column), (BATCHES, TILE_K, TILE_N), padding_mode=ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (batch, row, column), total.astype(c.dtype))


def reference(values: Values) -> Values:
    return {"c": (wide(values["a"]) @ wide(values["b"])).astype(np.float32)}


def _batches(name: str, dtype: str, per_block: int) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        return {
            "a": place(rng.uniform(-1, 1, (BATCH, M, K)), dtype),
            "b": place(rng.uniform(-1, 1, (BATCH, K, N)), dtype),
            "c": poisoned((BATCH, M, N), "float32"),
        }

    def grid(values: Values) -> tuple[int, int, int]:
        return ceil_div(M, TILE_M), ceil_div(N, TILE_N), ceil_div(BATCH, per_block)

    operand, result = Array(dtype, 3, stride_divisible_by=8), Array("float32", 3, stride_divisible_by=4)
    arguments = (operand, operand, result, per_block, TILE_M, TILE_N, TILE_K)
    return Case(
        name,
        batch_matmul,
        arguments,
        grid=grid,
        inputs=make_inputs,
        reference=reference,
        tolerance=tolerate("float32", depth=K),
    )


CASES = [
    _batches("batch_matmul_f16", "float16", 1),
    _batches("batch_matmul_bf16_pairs", "bfloat16", 2),
]
