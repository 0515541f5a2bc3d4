"""A matmul whose weights are eight integers of four bits in a word, with a scale for each column of a block of rows."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

PER_WORD, BITS = 8, 4


@ct.kernel
def expanded(x, packed, scales, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """out = x @ (integers of packed * scales)"""
    places = (ct.arange(PER_WORD, dtype=ct.int32) * BITS).reshape((1, 1, PER_WORD))
    total = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(x, 1, (M, K))):
        words = ct.load(packed, (k, ct.bid(1)), (K, N // PER_WORD), padding_mode=ct.PaddingMode.ZERO)
        integers = ((words.reshape((K, N // PER_WORD, 1)) >> places) & 15).reshape((K, N)).astype(ct.float16)
        scale = ct.load(scales, (k, ct.bid(1)), (1, N), padding_mode=ct.PaddingMode.ZERO)
        left = ct.load(x, (ct.bid(0), k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, integers * scale, total)
    ct.store(out, (ct.bid(0), ct.bid(1)), total)


def _array(dtype: str) -> Array:
    return Array(dtype, 2, stride_divisible_by=4 if dtype == "int32" else 8)


CASES = [
    Case("expanded", expanded, (_array("float16"), _array("int32"), _array("float16"), _array("float32"), 64, 64, 64))
]
