"""Few rows of queries, of which the author asks for two CTAs per SM, two dots whose stages fill shared memory, and one before a loop."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel(occupancy=2)
def decoded(q, k, v, out, M: ConstInt, N: ConstInt, W: ConstInt, D: ConstInt):
    """out = max(q @ k.T, 0) @ v"""
    queries, total = ct.load(q, (ct.bid(0), 0), (M, W), padding_mode=ZERO), ct.zeros((M, D), dtype=ct.float32)
    for keys in range(ct.num_tiles(k, axis=0, shape=(N, W))):
        tile = ct.load(k, (keys, 0), (N, W), padding_mode=ZERO).transpose()
        scores = ct.maximum(ct.mma(queries, tile, ct.zeros((M, N), dtype=ct.float32)), 0.0).astype(ct.float16)
        total = ct.mma(scores, ct.load(v, (keys, 0), (N, D), padding_mode=ZERO), total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel(occupancy=2)
def absorbed(q, more, k, other, out, M: ConstInt, N: ConstInt, W: ConstInt, R: ConstInt):
    """out = k.T @ max(k @ q + other @ more, 0), with the queries in columns"""
    queries = ct.load(q, (0, ct.bid(0)), (W, M), padding_mode=ZERO)
    rest = ct.load(more, (0, ct.bid(0)), (R, M), padding_mode=ZERO)
    total = ct.zeros((W, M), dtype=ct.float32)
    for keys in range(ct.num_tiles(k, axis=0, shape=(N, W))):
        tile = ct.load(k, (keys, 0), (N, W), padding_mode=ZERO)
        scores = ct.mma(tile, queries, ct.zeros((N, M), dtype=ct.float32))
        scores = ct.mma(ct.load(other, (keys, 0), (N, R), padding_mode=ZERO), rest, scores)
        values = ct.load(k, (keys, 0), (N, W), padding_mode=ZERO).transpose()
        total = ct.mma(values, ct.maximum(scores, 0.0).astype(ct.float16), total)
    ct.store(out, (0, ct.bid(0)), total)


@ct.kernel
def scaled(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """Two dots of tiles of rows, with a scale for 32 elements: shared memory holds a second stage of one of them."""
    first, second = ct.zeros((M, N), dtype=ct.float32), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, x_scale = ct.load(a, (0, k), (M, K)), ct.load(a_scale, (0, k), (M, K // 32))
        y, y_scale = ct.load(b, (0, k), (N, K)).transpose(), ct.load(b_scale, (0, k), (N, K // 32)).transpose()
        first = ct.mma_scaled(x, x_scale, y, y_scale, first)
        x, x_scale = ct.load(a, (1, k), (M, K)), ct.load(a_scale, (1, k), (M, K // 32))
        y, y_scale = ct.load(b, (1, k), (N, K)).transpose(), ct.load(b_scale, (1, k), (N, K // 32)).transpose()
        second = ct.mma_scaled(x, x_scale, y, y_scale, second)
    ct.store(out, (0, 0), first)
    ct.store(out, (1, 0), second)


@ct.kernel
def scaled_by_both(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """a @ b.T, with two tiles of rows of b in an iteration, which multiply the same tile of a"""
    first, second = ct.zeros((M, N), dtype=ct.float32), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x, x_scale = ct.load(a, (0, k), (M, K)), ct.load(a_scale, (0, k), (M, K // 32))
        y, y_scale = ct.load(b, (0, k), (N, K)).transpose(), ct.load(b_scale, (0, k), (N, K // 32)).transpose()
        first = ct.mma_scaled(x, x_scale, y, y_scale, first)
        z, z_scale = ct.load(b, (1, k), (N, K)).transpose(), ct.load(b_scale, (1, k), (N, K // 32)).transpose()
        second = ct.mma_scaled(x, x_scale, z, z_scale, second)
    ct.store(out, (0, 0), first)
    ct.store(out, (0, 1), second)


@ct.kernel
def scanned(c, state, scores, x, out, M: ConstInt, N: ConstInt, W: ConstInt, D: ConstInt):
    """out = c @ state + max(scores, 0) @ x"""
    row = ct.bid(0)
    total = ct.mma(
        ct.load(c, (row, 0), (M, W), padding_mode=ZERO),
        ct.load(state, (0, 0), (W, D)).astype(ct.float16),
        ct.zeros((M, D), dtype=ct.float32),
    )
    for k in range(ct.num_tiles(scores, axis=1, shape=(M, N))):
        tile = ct.maximum(ct.load(scores, (row, k), (M, N), padding_mode=ZERO), 0.0)
        total = ct.mma(tile, ct.load(x, (k, 0), (N, D), padding_mode=ZERO), total)
    ct.store(out, (row, 0), total)


HALF, FLOAT = (Array(dtype, 2, stride_divisible_by=16) for dtype in ("float16", "float32"))
BYTES, SCALES = Array("float8_e4m3fn", 2, stride_divisible_by=16), Array("float8_e8m0fnu", 2)
WORDS = Array("float8_e8m0fnu", 2, stride_divisible_by=4)  # four scales of a row, which cp.async copies at once
CASES = [
    Case("decoded", decoded, (*(HALF,) * 3, FLOAT, 16, 128, 128, 128)),
    Case("decoded_to_wide_rows", decoded, (*(HALF,) * 3, FLOAT, 16, 128, 64, 256)),
    Case("absorbed", absorbed, (*(HALF,) * 4, FLOAT, 16, 128, 512, 64)),
    Case("scanned", scanned, (HALF, FLOAT, HALF, HALF, FLOAT, 64, 64, 128, 64)),
    Case("scaled", scaled, (BYTES, SCALES, BYTES, SCALES, FLOAT, 128, 128, 256)),
    Case("scaled_by_both", scaled_by_both, (BYTES, WORDS, BYTES, WORDS, FLOAT, 128, 128, 128)),
]
