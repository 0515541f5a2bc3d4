"""Kernels that the GPU runner measures beside those of ``key_kernels.py``: what follows a matmul, sizes that are
multiples of nothing, NaN beyond an array's end, and fp4 in arrays of its own type.
"""

import math

import cuda.tile as ct
from key_kernels import HEAD_DIM, LOG2_E, matmul, matmul_tile, scaled_fp8, transpose, vector_add

from tileiras_build.frontend.export_cutile import Array, Case, Scalar

ConstInt = ct.Constant[int]
ConstBool = ct.Constant[bool]
ZERO, NAN, LEAST = ct.PaddingMode.ZERO, ct.PaddingMode.NAN, ct.PaddingMode.NEG_INF
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def gelu(x):
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of an f32 tile."""
    return 0.5 * x * (1.0 + ct.tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


def store_gelu(a, b, bias, c, row, column, TILE_M, TILE_N, TILE_K):
    """Store the tile of gelu(a @ b + bias) at (row, column)."""
    total = matmul_tile(a, b, row, column, TILE_M, TILE_N, TILE_K, ZERO)
    shift = ct.load(bias, (column,), (TILE_N,), padding_mode=ZERO).astype(ct.float32).reshape((1, TILE_N))
    ct.store(c, (row, column), gelu(total + shift).astype(c.dtype))


@ct.kernel
def matmul_gelu(a, b, bias, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c = gelu(a @ b + bias) for a (m, k), b (k, n), bias (n), c (m, n)."""
    row, column = ct.bid(0), ct.bid(1)
    store_gelu(a, b, bias, c, row, column, TILE_M, TILE_N, TILE_K)


@ct.kernel
def matmul_gelu_persistent(a, b, bias, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``matmul_gelu`` with as many blocks as the launch has, each of which takes every so many-th tile."""
    columns = ct.cdiv(c.shape[1], TILE_N)
    for tile in range(ct.bid(0), ct.cdiv(c.shape[0], TILE_M) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        store_gelu(a, b, bias, c, row, column, TILE_M, TILE_N, TILE_K)


@ct.kernel
def matmul_residual(a, b, residual, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c = a @ b + residual for a (m, k), b (k, n), residual and c (m, n)."""
    row, column = ct.bid(0), ct.bid(1)
    total = matmul_tile(a, b, row, column, TILE_M, TILE_N, TILE_K, ZERO)
    more = ct.load(residual, (row, column), (TILE_M, TILE_N), padding_mode=ZERO).astype(ct.float32)
    ct.store(c, (row, column), (total + more).astype(c.dtype))


@ct.kernel
def matmul_nan(a, b, c, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """c = a @ b where k is a multiple of TILE_K: what lies beyond m and n is NaN, and reaches nothing that is stored."""
    row, column = ct.bid(0), ct.bid(1)
    total = matmul_tile(a, b, row, column, TILE_M, TILE_N, TILE_K, NAN)
    ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def attention_odd(q, k, v, out, scale, TILE_M: ConstInt, TILE_N: ConstInt, HEAD_DIM: ConstInt, CAUSAL: ConstBool):
    """out = softmax(q k^T * scale) v per head; all (heads, length, HEAD_DIM), of any length."""
    block, head = ct.bid(0), ct.bid(1)
    scale = scale * LOG2_E
    queries = ct.load(q, (head, block, 0), (1, TILE_M, HEAD_DIM), padding_mode=ZERO).reshape((TILE_M, HEAD_DIM))
    row = block * TILE_M + ct.arange(TILE_M, dtype=ct.int32)[:, None]
    inside = ct.arange(TILE_N, dtype=ct.int32)[None, :]
    peak = ct.full((TILE_M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((TILE_M, 1), dtype=ct.float32)
    total = ct.zeros((TILE_M, HEAD_DIM), dtype=ct.float32)

    length = k.shape[1]
    visible = min((block + 1) * TILE_M, length) if CAUSAL else length
    for j in range(ct.cdiv(visible, TILE_N)):
        keys = ct.load(k, (head, 0, j), (1, HEAD_DIM, TILE_N), order=(0, 2, 1), padding_mode=ZERO)
        scores = ct.mma(queries, keys.reshape((HEAD_DIM, TILE_N)), ct.zeros((TILE_M, TILE_N), dtype=ct.float32))
        last = row if CAUSAL else length - 1
        scores = ct.where(j * TILE_N + inside <= last, scores, -math.inf)
        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True) * scale)
        powers = ct.exp2(scores * scale - new_peak, flush_to_zero=True)
        shrink = ct.exp2(peak - new_peak, flush_to_zero=True)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, (head, j, 0), (1, TILE_N, HEAD_DIM), padding_mode=ZERO).reshape((TILE_N, HEAD_DIM))
        total = ct.mma(powers.astype(v.dtype), values, total * shrink)
        peak = new_peak

    rows = ct.truediv(total, weight, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, (head, block, 0), rows.astype(out.dtype).reshape((1, TILE_M, HEAD_DIM)))


@ct.kernel
def softmax_odd(x, out, TILE_N: ConstInt):
    """out = exp(x - max x) / sum(exp(x - max x)), one row of at most TILE_N elements per block."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N), padding_mode=LEAST).astype(ct.float32)
    powers = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), (powers / ct.sum(powers, axis=1, keepdims=True)).astype(out.dtype))


@ct.kernel
def layer_norm_odd(x, gamma, beta, out, epsilon, TILE_N: ConstInt):
    """out = (x - mean) / sqrt(variance + epsilon) * gamma + beta, one row of at most TILE_N elements per block."""
    length = x.shape[1]
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N), padding_mode=ZERO).astype(ct.float32)
    mean = ct.sum(row, axis=1, keepdims=True) / length
    centered = ct.where(ct.arange(TILE_N, dtype=ct.int32)[None, :] < length, row - mean, 0.0)
    variance = ct.sum(centered * centered, axis=1, keepdims=True) / length
    normal = centered * ct.rsqrt(variance + epsilon)
    factors = ct.load(gamma, (0,), (TILE_N,), padding_mode=ZERO).astype(ct.float32).reshape((1, TILE_N))
    shifts = ct.load(beta, (0,), (TILE_N,), padding_mode=ZERO).astype(ct.float32).reshape((1, TILE_N))
    ct.store(out, (ct.bid(0), 0), (normal * factors + shifts).astype(out.dtype))


def _array(dtype: str, ndim: int, multiple: int = 16) -> Array:
    return Array(dtype, ndim, stride_divisible_by=multiple, shape_divisible_by=multiple)


def _epilogue(name: str, dtype: str, kernel, ndim: int) -> Case:
    """``ndim`` of what is added to the result of the matmul."""
    matrix = _array(dtype, 2)
    return Case(name, kernel, (matrix, matrix, _array(dtype, ndim), matrix, 128, 128, 64))


def _attention(name: str, causal: bool) -> Case:
    tensor = Array("float16", 3, stride_divisible_by=16, shape_divisible_by=(1, 1, HEAD_DIM))
    return Case(name, attention_odd, (tensor,) * 4 + (Scalar("float32"), 128, 128, HEAD_DIM, causal))


MATRIX, HALVES, SINGLES = _array("float16", 2), Array("float16", 2), Array("float32", 1)
FP4, FP4_SCALE = _array("float4_e2m1fn", 2, 32), _array("float8_e8m0fnu", 2)
CASES = [
    _epilogue("matmul_f16_128x128x64_gelu", "float16", matmul_gelu, 1),
    _epilogue("matmul_f16_128x128x64_persistent_gelu", "float16", matmul_gelu_persistent, 1),
    _epilogue("matmul_bf16_128x128x64_residual", "bfloat16", matmul_residual, 2),
    Case("matmul_f16_128x128x64_nan", matmul_nan, (MATRIX, MATRIX, MATRIX, 128, 128, 64)),
    Case("matmul_f16_128x128x64_odd", matmul, (HALVES, HALVES, HALVES, 128, 128, 64)),
    Case("scaled_fp4_128x128x256", scaled_fp8, (FP4, FP4_SCALE, FP4, FP4_SCALE, MATRIX, 128, 128, 256, 32)),
    _attention("attention_f16_128x128_odd", False),
    _attention("attention_f16_128x128_odd_causal", True),
    Case(
        "layer_norm_f16_4096_odd", layer_norm_odd,
        (HALVES, Array("float16", 1), Array("float16", 1), HALVES, Scalar("float32"), 4096),
    ),
    Case("softmax_f16_4096_odd", softmax_odd, (HALVES, HALVES, 4096)),
    Case("transpose_f16_64x64_odd", transpose, (HALVES, HALVES, 64, 64)),
    Case("vector_add_f32_1024_odd", vector_add, (SINGLES, SINGLES, SINGLES, 1024)),
]  # fmt: skip
