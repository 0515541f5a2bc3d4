"""The kernels of ``compare_sass.py``: matmuls, attention and memory-bound kernels at tile sizes that libraries ship.

Arrays are described as a framework's allocator makes them: bases on 16 bytes, rows and extents multiples of 16.
"""

import math

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
ConstBool = ct.Constant[bool]
ZERO = ct.PaddingMode.ZERO
HEAD_DIM = 128
LOG2_E = math.log2(math.e)


def matmul_tile(a, b, row, column, TILE_M, TILE_N, TILE_K, padding):
    """The tile of a @ b at (row, column), in f32; ``padding`` is what lies beyond the ends of a and b."""
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        left = ct.load(a, (row, step), (TILE_M, TILE_K), padding_mode=padding)
        right = ct.load(b, (step, column), (TILE_K, TILE_N), padding_mode=padding)
        total = ct.mma(left, right, total)
    return total


@ct.kernel
def matmul(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c = a @ b for a (m, k), b (k, n), c (m, n); accumulated in f32."""
    row, column = ct.bid(0), ct.bid(1)
    total = matmul_tile(a, b, row, column, TILE_M, TILE_N, TILE_K, ZERO)
    ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def matmul_persistent(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``matmul`` with as many blocks as the launch has, each of which takes every so many-th tile."""
    columns = ct.cdiv(c.shape[1], TILE_N)
    for tile in range(ct.bid(0), ct.cdiv(c.shape[0], TILE_M) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        total = matmul_tile(a, b, row, column, TILE_M, TILE_N, TILE_K, ZERO)
        ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def matmul_tf32(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """The same for f32 operands, rounded to tf32."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        left = ct.load(a, (row, step), (TILE_M, TILE_K), padding_mode=ZERO).astype(ct.tfloat32)
        right = ct.load(b, (step, column), (TILE_K, TILE_N), padding_mode=ZERO).astype(ct.tfloat32)
        total = ct.mma(left, right, total)
    ct.store(c, (row, column), total)


@ct.kernel
def scaled_fp8(a, a_scale, b, b_scale, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt, BLOCK: ConstInt):
    """c = a @ b^T for a (m, k), b (n, k), each with a scale for BLOCK elements along k."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        left = ct.load(a, (row, step), (TILE_M, TILE_K), padding_mode=ZERO)
        right = ct.load(b, (column, step), (TILE_N, TILE_K), padding_mode=ZERO).transpose()
        left_scale = ct.load(a_scale, (row, step), (TILE_M, TILE_K // BLOCK), padding_mode=ZERO)
        right_scale = ct.load(b_scale, (column, step), (TILE_N, TILE_K // BLOCK), padding_mode=ZERO).transpose()
        total = ct.mma_scaled(left, left_scale, right, right_scale, total)
    ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def scaled_fp4(a, a_scale, b, b_scale, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt, BLOCK: ConstInt):
    """The same for fp4 that lies two to a byte."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K // 2))):
        left = ct.load(a, (row, step), (TILE_M, TILE_K // 2), padding_mode=ZERO).reshape((-1,))
        right = ct.load(b, (column, step), (TILE_N, TILE_K // 2), padding_mode=ZERO).reshape((-1,))
        left = ct.unpack_from_bytes(left, ct.float4_e2m1fn).reshape((TILE_M, TILE_K))
        right = ct.unpack_from_bytes(right, ct.float4_e2m1fn).reshape((TILE_N, TILE_K)).transpose()
        left_scale = ct.load(a_scale, (row, step), (TILE_M, TILE_K // BLOCK), padding_mode=ZERO)
        right_scale = ct.load(b_scale, (column, step), (TILE_N, TILE_K // BLOCK), padding_mode=ZERO).transpose()
        total = ct.mma_scaled(left, left_scale, right, right_scale, total)
    ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def attention(q, k, v, out, scale, TILE_M: ConstInt, TILE_N: ConstInt, HEAD_DIM: ConstInt, CAUSAL: ConstBool):
    """out = softmax(q k^T * scale) v per head; all (heads, length, HEAD_DIM), length a multiple of both tiles."""
    block, head = ct.bid(0), ct.bid(1)
    scale = scale * LOG2_E
    queries = ct.load(q, (head, block, 0), (1, TILE_M, HEAD_DIM)).reshape((TILE_M, HEAD_DIM))
    row = block * TILE_M + ct.arange(TILE_M, dtype=ct.int32)[:, None]
    inside = ct.arange(TILE_N, dtype=ct.int32)[None, :]
    peak = ct.full((TILE_M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((TILE_M, 1), dtype=ct.float32)
    total = ct.zeros((TILE_M, HEAD_DIM), dtype=ct.float32)

    visible = (block + 1) * TILE_M if CAUSAL else k.shape[1]
    for j in range(ct.cdiv(visible, TILE_N)):
        keys = ct.load(k, (head, 0, j), (1, HEAD_DIM, TILE_N), order=(0, 2, 1)).reshape((HEAD_DIM, TILE_N))
        scores = ct.mma(queries, keys, ct.zeros((TILE_M, TILE_N), dtype=ct.float32))
        if CAUSAL:
            scores = ct.where(j * TILE_N + inside <= row, scores, -math.inf)
        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True) * scale)
        powers = ct.exp2(scores * scale - new_peak, flush_to_zero=True)
        shrink = ct.exp2(peak - new_peak, flush_to_zero=True)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, (head, j, 0), (1, TILE_N, HEAD_DIM)).reshape((TILE_N, HEAD_DIM))
        total = ct.mma(powers.astype(v.dtype), values, total * shrink)
        peak = new_peak

    rows = ct.truediv(total, weight, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, (head, block, 0), rows.astype(out.dtype).reshape((1, TILE_M, HEAD_DIM)))


@ct.kernel
def layer_norm(x, gamma, beta, out, epsilon, TILE_N: ConstInt):
    """out = (x - mean) / sqrt(variance + epsilon) * gamma + beta, one row of TILE_N elements per block."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N)).astype(ct.float32)
    mean = ct.sum(row, axis=1, keepdims=True) / TILE_N
    centered = row - mean
    variance = ct.sum(centered * centered, axis=1, keepdims=True) / TILE_N
    normal = centered * ct.rsqrt(variance + epsilon)
    factors = ct.load(gamma, (0,), (TILE_N,)).astype(ct.float32).reshape((1, TILE_N))
    shifts = ct.load(beta, (0,), (TILE_N,)).astype(ct.float32).reshape((1, TILE_N))
    ct.store(out, (ct.bid(0), 0), (normal * factors + shifts).astype(out.dtype))


@ct.kernel
def softmax(x, out, TILE_N: ConstInt):
    """out = exp(x - max x) / sum(exp(x - max x)), one row of TILE_N elements per block."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N)).astype(ct.float32)
    powers = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), (powers / ct.sum(powers, axis=1, keepdims=True)).astype(out.dtype))


@ct.kernel
def transpose(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """out (n, m) = x (m, n) transposed."""
    row, column = ct.bid(0), ct.bid(1)
    ct.store(out, (column, row), ct.transpose(ct.load(x, (row, column), (TILE_M, TILE_N))))


@ct.kernel
def vector_add(a, b, c, TILE: ConstInt):
    """c = a + b."""
    index = (ct.bid(0),)
    ct.store(c, index, ct.load(a, index, (TILE,)) + ct.load(b, index, (TILE,)))


def matrix(dtype: str, ndim: int, unit_axis: int = -1) -> Array:
    """An array of any rank whose extents and strides are multiples of 16."""
    return Array(dtype, ndim, unit_axis, stride_divisible_by=16, shape_divisible_by=16)


def _matmul(name, dtype, m, n, k, out=None, kernel=matmul, unit_b=-1) -> Case:
    arrays = matrix(dtype, 2), matrix(dtype, 2, unit_b), matrix(out or dtype, 2)
    return Case(name, kernel, (*arrays, m, n, k))


def _scaled(name, dtype, scale, m, n, k, block, kernel=scaled_fp4) -> Case:
    arrays = matrix(dtype, 2), matrix(scale, 2)
    return Case(name, kernel, (*arrays, *arrays, matrix("float16", 2), m, n, k, block))


def _attention(name: str, dtype: str, causal: bool, rows: int = 128) -> Case:
    tensor = Array(dtype, 3, stride_divisible_by=16, shape_divisible_by=(1, rows, HEAD_DIM))
    return Case(name, attention, (tensor,) * 4 + (Scalar("float32"), rows, 128, HEAD_DIM, causal))


def row_case(name: str, kernel, dtype: str, count: int, *more) -> Case:
    """``count`` vectors of the row's length between the operand and the result, then scalars and tile sizes."""
    array = Array(dtype, 2, stride_divisible_by=16, shape_divisible_by=(1, 1024))
    vector = Array(dtype, 1, shape_divisible_by=1024)
    return Case(name, kernel, (array, *[vector] * count, array, *more))


CASES = [
    _matmul("matmul_f16_128x128x64", "float16", 128, 128, 64),
    _matmul("matmul_f16_128x256x64", "float16", 128, 256, 64),
    _matmul("matmul_f16_256x128x64", "float16", 256, 128, 64),
    _matmul("matmul_f16_256x128x64_2ctas", "float16", 256, 128, 64, kernel=matmul.replace_hints(num_ctas=2)),
    _matmul("matmul_f16_128x128x64_persistent", "float16", 128, 128, 64, kernel=matmul_persistent),
    _matmul("matmul_f16_128x256x64_persistent", "float16", 128, 256, 64, kernel=matmul_persistent),
    _matmul("matmul_f16_256x128x64_persistent", "float16", 256, 128, 64, kernel=matmul_persistent),
    _matmul(
        "matmul_f16_256x128x64_persistent_2ctas",
        "float16",
        256,
        128,
        64,
        kernel=matmul_persistent.replace_hints(num_ctas=2),
    ),
    _matmul("matmul_f16_256x256x64_2ctas", "float16", 256, 256, 64, kernel=matmul.replace_hints(num_ctas=2)),
    _matmul(
        "matmul_f16_256x256x64_persistent_2ctas",
        "float16",
        256,
        256,
        64,
        kernel=matmul_persistent.replace_hints(num_ctas=2),
    ),
    _matmul("matmul_bf16_128x128x64", "bfloat16", 128, 128, 64),
    _matmul("matmul_bf16_128x256x64", "bfloat16", 128, 256, 64),
    _matmul("matmul_bf16_256x128x64", "bfloat16", 256, 128, 64),
    _matmul("matmul_f8e4m3_128x128x64", "float8_e4m3fn", 128, 128, 64, "float16", unit_b=0),
    _matmul("matmul_f8e4m3_128x128x64_by_rows", "float8_e4m3fn", 128, 128, 64, "float16"),
    _matmul("matmul_tf32_128x128x32", "float32", 128, 128, 32, kernel=matmul_tf32),
    _scaled("scaled_mxf8e4m3_128x128x128", "float8_e4m3fn", "float8_e8m0fnu", 128, 128, 128, 32, scaled_fp8),
    _scaled("scaled_mxfp4_128x128x256", "uint8", "float8_e8m0fnu", 128, 128, 256, 32),
    _scaled("scaled_nvfp4_128x128x256", "uint8", "float8_e4m3fn", 128, 128, 256, 16),
    _attention("attention_f16_128x128", "float16", False),
    _attention("attention_f16_128x128_causal", "float16", True),
    _attention("attention_f16_256x128", "float16", False, rows=256),
    _attention("attention_f16_256x128_causal", "float16", True, rows=256),
    row_case("layer_norm_f16_4096", layer_norm, "float16", 2, Scalar("float32"), 4096),
    row_case("softmax_f16_4096", softmax, "float16", 0, 4096),
    Case("transpose_f16_64x64", transpose, (matrix("float16", 2), matrix("float16", 2), 64, 64)),
    Case("transpose_f32_64x64", transpose, (matrix("float32", 2), matrix("float32", 2), 64, 64)),
    Case("vector_add_f32_1024", vector_add, (Array("float32", 1, shape_divisible_by=1024),) * 3 + (1024,)),
    Case("vector_add_f16_4096", vector_add, (Array("float16", 1, shape_divisible_by=4096),) * 3 + (4096,)),
]
