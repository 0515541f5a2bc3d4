"""Loops whose dots' results are combined with tiles that threads load."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def biased(q, k, v, bias, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T + bias) ** 2 @ v."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
        scores = ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))
        scores = scores + ct.load(bias, (ct.bid(0), step), (M, N), padding_mode=ZERO).astype(ct.float32)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def of_itself(q, k, v, bias, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out[step] = (q @ k.T)[step] + out[step - 1]: each load follows the store of the iteration before."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
        scores = ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))
        before = ct.load(out, (ct.bid(0), step), (M, N), padding_mode=ZERO)
        ct.store(out, (ct.bid(0), step + 1), scores + before)


def rows(dtype: str) -> Array:
    return Array(dtype, 2, stride_divisible_by=16)


OPERANDS = (*(rows("float16"),) * 4, rows("float32"))
CASES = [
    Case("biased", biased, (*OPERANDS, 128, 64, 64)),
    Case("biased_short", biased, (*OPERANDS, 64, 64, 64)),
    Case("of_itself", of_itself, (*OPERANDS, 128, 64, 64)),
]
