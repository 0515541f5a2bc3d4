"""Dots of few rows whose right operand is computed from packed weights, with scales and zero points of groups."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
WORD, NIBBLE = 8, 4


@ct.kernel
def grouped(x, words, scales, zeros, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = x @ ((w - z) * s): eight weights a word along k, and a scale and a zero point for K rows of a column."""
    column = ct.bid(0)
    acc = ct.zeros((M, N), dtype=ct.float32)
    shifts = ct.arange(WORD, dtype=ct.int32) * NIBBLE
    for k in range(ct.num_tiles(x, axis=1, shape=(M, K))):
        packed = ct.load(words, (k, column), (K // WORD, N), padding_mode=ZERO).reshape((K // WORD, 1, N))
        w = ((packed >> shifts.reshape((1, WORD, 1))) & 15).reshape((K, N))
        packed = ct.load(zeros, (k, column), (1, N // WORD), padding_mode=ZERO).reshape((1, N // WORD, 1))
        z = ((packed >> shifts.reshape((1, 1, WORD))) & 15).reshape((1, N))
        y = (w - z).astype(x.dtype) * ct.load(scales, (k, column), (1, N), padding_mode=ZERO)
        acc = ct.mma(ct.load(x, (0, k), (M, K), padding_mode=ZERO), y, acc)
    ct.store(out, (0, column), acc)


@ct.kernel
def ternary(x, words, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = x @ (w - 1): sixteen weights of two bits a word along k."""
    column = ct.bid(0)
    acc = ct.zeros((M, N), dtype=ct.float32)
    shifts = (ct.arange(2 * WORD, dtype=ct.int32) * 2).reshape((1, 2 * WORD, 1))
    for k in range(ct.num_tiles(x, axis=1, shape=(M, K))):
        packed = ct.load(words, (k, column), (K // (2 * WORD), N), padding_mode=ZERO)
        w = ((packed.reshape((K // (2 * WORD), 1, N)) >> shifts) & 3).reshape((K, N)) - 1
        acc = ct.mma(ct.load(x, (0, k), (M, K), padding_mode=ZERO), w.astype(x.dtype), acc)
    ct.store(out, (0, column), acc)


def _matrix(dtype: str, bytes: int) -> Array:
    return Array(dtype, 2, stride_divisible_by=16 // bytes)


M, N, K = 16, 64, 128
HALVES, BFLOATS, WORDS, OUT = _matrix("float16", 2), _matrix("bfloat16", 2), _matrix("int32", 4), _matrix("float32", 4)
CASES = [
    Case("grouped_f16", grouped, (HALVES, WORDS, HALVES, WORDS, OUT, M, N, K)),
    Case("grouped_bf16", grouped, (BFLOATS, WORDS, BFLOATS, WORDS, OUT, M, N, K)),
    Case("ternary_f16", ternary, (HALVES, WORDS, OUT, M, N, K)),
]
