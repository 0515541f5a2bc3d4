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


@ct.kernel
def crumbs(x, packed, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = x @ (w - 1).T in integers: four weights of two bits a byte along k."""
    column = ct.bid(0)
    acc = ct.zeros((M, N), dtype=ct.int32)
    shifts = (ct.arange(4, dtype=ct.uint8) * ct.uint8(2)).reshape((1, 1, 4))
    for k in range(ct.num_tiles(x, axis=1, shape=(M, K))):
        q = ct.load(packed, (column, k), (N, K // 4), padding_mode=ZERO).reshape((N, K // 4, 1))
        w = ((q >> shifts) & ct.uint8(3)).astype(ct.int8) - ct.int8(1)
        acc = ct.mma(ct.load(x, (0, k), (M, K), padding_mode=ZERO), ct.transpose(w.reshape((N, K))), acc)
    ct.store(out, (0, column), acc)


@ct.kernel
def bytes_in_place(x, y, added, subtracted, signs, mixed, TILE: ct.Constant[int]):
    """x + y, x - y, the lower four bits of x with their sign, and other bits of both."""
    at = (ct.bid(0),)
    a, b = ct.load(x, at, (TILE,)), ct.load(y, at, (TILE,))
    ct.store(added, at, a + b)
    ct.store(subtracted, at, a - b)
    ct.store(signs, at, (a << ct.int8(4)) >> ct.int8(4))
    ct.store(mixed, at, ((a ^ b) | ct.int8(64)) & ct.int8(-4))


def _matrix(dtype: str, bytes: int) -> Array:
    return Array(dtype, 2, stride_divisible_by=16 // bytes)


M, N, K = 16, 64, 128
HALVES, BFLOATS, WORDS, OUT = _matrix("float16", 2), _matrix("bfloat16", 2), _matrix("int32", 4), _matrix("float32", 4)
CASES = [
    Case("grouped_f16", grouped, (HALVES, WORDS, HALVES, WORDS, OUT, M, N, K)),
    Case("grouped_bf16", grouped, (BFLOATS, WORDS, BFLOATS, WORDS, OUT, M, N, K)),
    Case("crumbs", crumbs, (_matrix("int8", 1), _matrix("uint8", 1), _matrix("int32", 4), M, N, K)),
    Case("bytes_in_place", bytes_in_place, (*[Array("int8", 1, shape_divisible_by=16)] * 6, 2048)),
    Case("ternary_f16", ternary, (HALVES, WORDS, OUT, M, N, K)),
]
