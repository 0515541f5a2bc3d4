"""Products of small floats with a scale for each block along k: in loops and alone, in batches, of every type."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def scaled_function(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """out = (a * a_scale) @ (b * b_scale), a scale for BLOCK elements along k."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (k, column), (K // BLOCK, N), padding_mode=ZERO)
        acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
    ct.store(out, (row, column), acc)


scaled, scaled_across = ct.kernel(scaled_function), ct.kernel(scaled_function)
scaled_by_two_ctas = ct.kernel(num_ctas=2)(scaled_function)


@ct.kernel
def scaled_rows(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The same, all tiles of rows by one block."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
            y_scale = ct.load(b_scale, (k, 0), (K // BLOCK, N), padding_mode=ZERO)
            acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
        ct.store(out, (row, 0), acc)


@ct.kernel
def scaled_twice(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """Twice the dot: what each step adds is doubled in registers."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (k, column), (K // BLOCK, N), padding_mode=ZERO)
        acc += 2 * ct.mma_scaled(x, x_scale, y, y_scale, ct.zeros((M, N), dtype=ct.float32))
    ct.store(out, (row, column), acc)


@ct.kernel
def scaled_turned(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The same for a right operand that is stored by its columns and turned in the kernel."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (column, k), (N, K), padding_mode=ZERO).transpose()
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO).transpose()
        acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
    ct.store(out, (row, column), acc)


def _unpacked(bytes, rows, k):
    """The fp4 elements of bytes that hold two each."""
    return ct.unpack_from_bytes(bytes.reshape((-1,)), ct.float4_e2m1fn).reshape((rows, k))


def scaled_bytes_function(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The product of fp4 that frameworks keep two to a byte; the right operand and its scales are stored by columns."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K // 2))):
        x = _unpacked(ct.load(a, (row, k), (M, K // 2), padding_mode=ZERO), M, K)
        y = _unpacked(ct.load(b, (column, k), (N, K // 2), padding_mode=ZERO), N, K).transpose()
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO).transpose()
        acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
    ct.store(out, (row, column), acc)


scaled_bytes = ct.kernel(scaled_bytes_function)
scaled_bytes_by_two_ctas = ct.kernel(num_ctas=2)(scaled_bytes_function)


@ct.kernel
def scaled_bytes_persistent(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The product of bytes, each block taking every so many-th tile."""
    columns = ct.cdiv(out.shape[1], N)
    for tile in range(ct.bid(0), ct.cdiv(out.shape[0], M) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K // 2))):
            x = _unpacked(ct.load(a, (row, k), (M, K // 2), padding_mode=ZERO), M, K)
            y = _unpacked(ct.load(b, (column, k), (N, K // 2), padding_mode=ZERO), N, K).transpose()
            x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
            y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO).transpose()
            acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
        ct.store(out, (row, column), acc)


@ct.kernel
def scaled_triangular(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The rows of tile i are the sums of i dots: none for the first."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(row):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (0, k), (N, K), padding_mode=ZERO).transpose()
            x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
            y_scale = ct.load(b_scale, (0, k), (N, K // BLOCK), padding_mode=ZERO).transpose()
            acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
        ct.store(out, (row, 0), acc)


@ct.kernel
def scaled_onto(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The product of bytes is added to what is there."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.load(out, (row, column), (M, N), padding_mode=ZERO)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K // 2))):
        x = _unpacked(ct.load(a, (row, k), (M, K // 2), padding_mode=ZERO), M, K)
        y = _unpacked(ct.load(b, (column, k), (N, K // 2), padding_mode=ZERO), N, K).transpose()
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO).transpose()
        acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def scaled_split(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The product of bytes in two loops, of which the first starts somewhere: only the second has groups of iterations."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K // 2)) // 2, ct.num_tiles(a, axis=1, shape=(M, K // 2))):
        x = _unpacked(ct.load(a, (row, k), (M, K // 2), padding_mode=ZERO), M, K)
        y = _unpacked(ct.load(b, (column, k), (N, K // 2), padding_mode=ZERO), N, K).transpose()
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO).transpose()
        acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K // 2)) // 2):
        x = _unpacked(ct.load(a, (row, k), (M, K // 2), padding_mode=ZERO), M, K)
        y = _unpacked(ct.load(b, (column, k), (N, K // 2), padding_mode=ZERO), N, K).transpose()
        x_scale = ct.load(a_scale, (row, k), (M, K // BLOCK), padding_mode=ZERO)
        y_scale = ct.load(b_scale, (column, k), (N, K // BLOCK), padding_mode=ZERO).transpose()
        acc = ct.mma_scaled(x, x_scale, y, y_scale, acc)
    ct.store(out, (row, column), acc)


def _in_order(tile):
    """The scales (lines, along k) of a tile (lines / 128, k / 4, 32, 16) that is stored as tensor memory holds it."""
    blocks, steps = tile.shape[:2]
    return tile.reshape((blocks, steps, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((blocks * 128, steps * 4))


@ct.kernel
def scaled_reordered(a, a_scale, b, b_scale, out, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The product of bytes for scales in the order of tensor memory, four dimensions of them."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K // 2))):
        x = _unpacked(ct.load(a, (row, k), (M, K // 2), padding_mode=ZERO), M, K)
        y = _unpacked(ct.load(b, (column, k), (N, K // 2), padding_mode=ZERO), N, K).transpose()
        steps = K // BLOCK // 4
        x_scale = _in_order(ct.load(a_scale, (row, k, 0, 0), (M // 128, steps, 32, 16), padding_mode=ZERO))
        y_scale = _in_order(ct.load(b_scale, (column, k, 0, 0), (N // 128, steps, 32, 16), padding_mode=ZERO))
        acc = ct.mma_scaled(x, x_scale, y, y_scale.transpose(), acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def scaled_batch(a, a_scale, b, b_scale, out, B: ConstInt, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt):
    """The same for each of B matrices, without a loop."""
    x, y = ct.load(a, (0, 0, 0), (B, M, K)), ct.load(b, (0, 0, 0), (B, K, N))
    x_scale = ct.load(a_scale, (0, 0, 0), (B, M, K // BLOCK))
    y_scale = ct.load(b_scale, (0, 0, 0), (B, K // BLOCK, N))
    ct.store(out, (0, 0, 0), ct.mma_scaled(x, x_scale, y, y_scale, ct.zeros((B, M, N), dtype=ct.float32)))


@ct.kernel
def scaled_bytes_batch(
    a, a_scale, b, b_scale, out, B: ConstInt, M: ConstInt, N: ConstInt, K: ConstInt, BLOCK: ConstInt
):
    """The product of bytes for each of B matrices, without a loop."""
    x = ct.unpack_from_bytes(ct.load(a, (0, 0, 0), (B, M, K // 2)).reshape((-1,)), ct.float4_e2m1fn).reshape((B, M, K))
    y = ct.unpack_from_bytes(ct.load(b, (0, 0, 0), (B, N, K // 2)).reshape((-1,)), ct.float4_e2m1fn).reshape((B, N, K))
    x_scale = ct.load(a_scale, (0, 0, 0), (B, M, K // BLOCK))
    y_scale = ct.load(b_scale, (0, 0, 0), (B, N, K // BLOCK)).permute((0, 2, 1))
    acc = ct.zeros((B, M, N), dtype=ct.float32)
    ct.store(out, (0, 0, 0), ct.mma_scaled(x, x_scale, y.permute((0, 2, 1)), y_scale, acc))


def _array(dtype: str, ndim: int = 2, unit: int = -1, even: bool = False, stride: int = 16) -> Array:
    return Array(dtype, ndim, unit_stride=unit, stride_divisible_by=stride, shape_divisible_by=2 if even else 1)


def _bytes(name, tiles, scale="float8_e8m0fnu", kernel=scaled_bytes, aligned=1, ndim=None, even_scales=1) -> Case:
    """``aligned``: what strides of the scales are multiples of; ``even_scales``: what their extents along k are."""
    rank = len(tiles) - 2
    extents = (1,) * ((ndim or rank) - 1) + (even_scales,)
    scales = Array(scale, ndim or rank, stride_divisible_by=aligned, shape_divisible_by=extents)
    arrays = [_array("uint8", rank), scales] * 2
    return Case(name, kernel, (*arrays, _array("float32", rank), *tiles))


def _case(
    name, dtype, tiles, scale="float8_e8m0fnu", kernel=scaled, ndim=2, even=False, stride=16, aligned=1, even_scales=1
) -> Case:
    unit = (
        0 if kernel not in (scaled_across, scaled_batch, scaled_turned, scaled_triangular, turned_by_pair) else -1
    )  # of the right operand
    left, right = (_array(dtype, ndim, axis, even, stride) for axis in (-1, unit))
    extents = (1,) * (ndim - 1) + (even_scales,)
    scales = (Array(scale, ndim, axis, aligned, shape_divisible_by=extents) for axis in (-1, unit))
    return Case(name, kernel, (left, next(scales), right, next(scales), _array("float32", ndim), *tiles))


turned_by_pair = scaled_turned.replace_hints(num_ctas=2)
bytes_by_two_pairs = scaled_bytes.replace_hints(num_ctas=4)
persistent_by_pair = scaled_bytes_persistent.replace_hints(num_ctas=2)

GROUPED = {"aligned": 16, "even_scales": 16}
E4M3, E5M2, FP4 = "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"
CASES = [
    _case("e4m3", E4M3, (128, 128, 128, 32)),
    _case("e5m2", E5M2, (128, 64, 64, 32)),
    _case("e4m3_tall", E4M3, (256, 32, 64, 32)),
    _case("e4m3_wide", E4M3, (128, 256, 128, 32)),
    _case("e5m2_long", E5M2, (128, 16, 256, 32)),
    _case("e4m3_rows", E4M3, (128, 32, 64, 32), kernel=scaled_rows),
    _case("e4m3_two_ctas", E4M3, (256, 64, 128, 32), kernel=scaled_by_two_ctas),
    _case("e4m3_across", E4M3, (128, 64, 128, 32), kernel=scaled_across),
    _case("e4m3_twice", E4M3, (128, 32, 64, 32), kernel=scaled_twice),
    _case("e4m3_ahead", E4M3, (128, 64, 128, 32), aligned=4),
    _case("e4m3_ahead_rows", E4M3, (128, 32, 128, 32), kernel=scaled_rows, aligned=4),
    _case("e4m3_grouped", E4M3, (128, 64, 128, 32), kernel=scaled_turned, **GROUPED),
    _case("e4m3_one_scale", E4M3, (64, 64, 32, 32)),
    _case("e4m3_deep", E4M3, (32, 32, 256, 32)),
    _case("e4m3_divided", E4M3, (32, 64, 1024, 32)),
    _case("e4m3_narrow", E4M3, (16, 8, 64, 32)),
    _case("e4m3_batch", E4M3, (2, 32, 16, 64, 32), kernel=scaled_batch, ndim=3),
    _case("fp4", FP4, (64, 64, 128, 32)),
    _case("fp4_pairs", FP4, (64, 64, 128, 32), even=True),
    _case("fp4_pairs_large", FP4, (128, 128, 256, 32), even=True),
    _case("fp4_pairs_turned", FP4, (32, 64, 128, 32), kernel=scaled_turned, even=True),
    _case("fp4_one_scale", FP4, (32, 32, 32, 32)),
    _case("fp4_blocks_of_16", FP4, (64, 64, 64, 16)),
    _case("fp4_signed_scales", FP4, (64, 64, 64, 16), "float8_e4m3fn"),
    _case("nvfp4_pairs", FP4, (64, 64, 128, 16), "float8_e4m3fn", even=True),
    _case("nvfp4_pairs_turned", FP4, (32, 64, 64, 16), "float8_e4m3fn", kernel=scaled_turned, even=True),
    _case("mxfp4_fetched", FP4, (128, 64, 128, 32), even=True, stride=32),
    _case("nvfp4_fetched", FP4, (128, 128, 64, 16), "float8_e4m3fn", even=True, stride=32),
    _case("nvfp4_fetched_turned", FP4, (256, 64, 128, 16), "float8_e4m3fn", kernel=scaled_turned, even=True, stride=32),
    _bytes("nvfp4_bytes_divided", (16, 64, 2048, 16), "float8_e4m3fn"),
    _bytes("mxfp4_bytes", (128, 128, 256, 32)),
    _bytes("mxfp4_bytes_tall", (256, 64, 128, 32)),
    _bytes("mxfp4_bytes_short", (128, 64, 64, 32)),
    _bytes("mxfp4_bytes_small", (64, 64, 128, 32)),
    _bytes("mxfp4_bytes_of_16", (128, 64, 128, 16)),
    _bytes("nvfp4_bytes", (128, 128, 256, 16), "float8_e4m3fn"),
    _bytes("nvfp4_bytes_wide", (128, 256, 128, 16), "float8_e4m3fn"),
    _bytes("nvfp4_bytes_tall", (256, 128, 64, 16), "float8_e4m3fn"),
    _bytes("mxfp4_bytes_ahead", (128, 64, 128, 32), aligned=4),
    _bytes("mxfp4_bytes_grouped", (128, 64, 256, 32), **GROUPED),
    _bytes("nvfp4_bytes_grouped", (128, 128, 256, 16), "float8_e4m3fn", **GROUPED),
    _bytes("mxfp4_bytes_persistent", (128, 64, 256, 32), kernel=scaled_bytes_persistent, **GROUPED),
    _bytes("nvfp4_bytes_persistent", (128, 128, 256, 16), "float8_e4m3fn", scaled_bytes_persistent, **GROUPED),
    _bytes("nvfp4_bytes_persistent_tall", (256, 64, 128, 16), "float8_e4m3fn", scaled_bytes_persistent, **GROUPED),
    _bytes("nvfp4_bytes_deep", (128, 64, 512, 16), "float8_e4m3fn", scaled_bytes_persistent, **GROUPED),
    _bytes("nvfp4_bytes_of_32", (128, 256, 512, 16), "float8_e4m3fn", scaled_bytes_persistent, **GROUPED),
    _bytes("nvfp4_bytes_onto", (128, 128, 256, 16), "float8_e4m3fn", scaled_onto, **GROUPED),
    _bytes("mxfp4_bytes_split", (128, 64, 256, 32), kernel=scaled_split, **GROUPED),
    _case("e4m3_triangular", E4M3, (128, 64, 128, 32), kernel=scaled_triangular, **GROUPED),
    _bytes("nvfp4_bytes_ahead", (128, 128, 256, 16), "float8_e4m3fn", aligned=16),
    _bytes("nvfp4_bytes_reordered", (128, 128, 256, 16), "float8_e4m3fn", scaled_reordered, aligned=16, ndim=4),
    _bytes("nvfp4_bytes_batch", (2, 32, 16, 128, 16), "float8_e4m3fn", scaled_bytes_batch),
    _bytes("nvfp4_bytes_two_ctas", (256, 64, 128, 16), "float8_e4m3fn", scaled_bytes_by_two_ctas),
    _case("e4m3_pair", E4M3, (256, 128, 128, 32), kernel=turned_by_pair, **GROUPED),
    _case("e4m3_pair_tall", E4M3, (512, 64, 128, 32), kernel=turned_by_pair, **GROUPED),
    _bytes("mxfp4_bytes_pairs", (512, 128, 256, 32), kernel=bytes_by_two_pairs, **GROUPED),
    _bytes("nvfp4_bytes_large", (256, 256, 256, 16), "float8_e4m3fn", **GROUPED),
    _bytes("nvfp4_bytes_pair_persistent", (256, 128, 256, 16), "float8_e4m3fn", persistent_by_pair, **GROUPED),
]
