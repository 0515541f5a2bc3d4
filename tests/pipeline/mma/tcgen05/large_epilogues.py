"""Matmuls whose results need more registers than a thread has."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def accumulated(a, b, M: ConstInt, N: ConstInt, K: ConstInt, row=None):
    total = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (ct.bid(0) if row is None else row, step), (M, K), padding_mode=ZERO)
        total = ct.mma(left, ct.load(b, (step, 0), (K, N), padding_mode=ZERO), total)
    return total


@ct.kernel
def gated(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = silu(a @ b) * (a @ c), a loop for each: the first result is in registers beside the second loop."""
    gate = accumulated(a, b, M, N, K)
    value = accumulated(a, c, M, N, K)
    ct.store(out, (ct.bid(0), 0), (gate / (1 + ct.exp(-gate)) * value).astype(out.dtype))


@ct.kernel
def with_rest(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = 0.5 (a @ b) + c, of tiles with more elements than registers."""
    total = accumulated(a, b, M, N, K) * 0.5
    rest = ct.load(c, (ct.bid(0), 0), (M, N), padding_mode=ZERO)
    ct.store(out, (ct.bid(0), 0), (total + rest).astype(out.dtype))


@ct.kernel(occupancy=3)
def in_turn(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same, of tiles one after the other."""
    for row in range(ct.bid(0), ct.num_tiles(a, axis=0, shape=(M, K)), ct.num_blocks(0)):
        total = accumulated(a, b, M, N, K, row) * 0.5
        rest = ct.load(c, (row, 0), (M, N), padding_mode=ZERO)
        ct.store(out, (row, 0), (total + rest).astype(out.dtype))


HALF, FLOAT = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float16", "float32"))
CASES = [
    Case("gated", gated, (*(HALF,) * 4, 128, 256, 64)),
    Case("gated_narrow", gated, (*(HALF,) * 4, 128, 64, 64)),
    Case("with_rest", with_rest, (*(HALF,) * 4, 256, 256, 64)),
    Case("with_rest_f32", with_rest, (HALF, HALF, FLOAT, FLOAT, 128, 256, 64)),
    Case("in_turn", in_turn, (*(HALF,) * 4, 256, 64, 64)),
]
