"""The problems of ``key_kernels.py`` as idiomatic Triton programs.

Sizes are multiples of the tiles, so nothing is masked but what a causal attention hides. Kernels whose names end in ``_tma`` take
tensor descriptors, the others pointers. Imported only where Triton is installed.
"""

import triton
import triton.language as tl


@triton.jit
def _tile(base, rows, columns, stride):
    return base + rows[:, None] * stride + columns[None, :]


@triton.jit
def _accumulate(a, b, rows, columns, k, stride_a, stride_b, K: tl.constexpr, TURNED: tl.constexpr):
    """The tile of a @ b at rows and columns; b is stored by columns where TURNED."""
    inner = tl.arange(0, K)
    left = _tile(a, rows, inner, stride_a)
    right = _tile(b, columns, inner, stride_b) if TURNED else _tile(b, inner, columns, stride_b)
    total = tl.zeros((rows.shape[0], columns.shape[0]), tl.float32)
    for _ in range(0, tl.cdiv(k, K)):
        factor = tl.load(right)
        total = tl.dot(tl.load(left), factor.T if TURNED else factor, total)
        left += K
        right += K if TURNED else K * stride_b
    return total


@triton.jit
def _accumulate_tma(a, b, row, column, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TURNED: tl.constexpr):
    """The same by tensor descriptors."""
    total = tl.zeros((M, N), tl.float32)
    for step in range(0, tl.cdiv(k, K)):
        right = b.load([column, step * K]).T if TURNED else b.load([step * K, column])
        total = tl.dot(a.load([row, step * K]), right, total)
    return total


@triton.jit
def matmul(a, b, c, m, n, k, stride_a, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            TURNED: tl.constexpr):  # fmt: skip
    """c = a @ b."""
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = _accumulate(a, b, rows, columns, k, stride_a, stride_b, K, TURNED)
    tl.store(_tile(c, rows, columns, stride_c), total.to(c.dtype.element_ty))


@triton.jit
def matmul_tma(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TURNED: tl.constexpr):
    """The same by tensor descriptors."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    c.store([row, column], _accumulate_tma(a, b, row, column, k, M, N, K, TURNED).to(c.dtype))


@triton.jit
def persistent_matmul(a, b, c, m, n, k, stride_a, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                       TURNED: tl.constexpr):  # fmt: skip
    """``matmul`` with a block for each place."""
    tiles_n = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * tiles_n, tl.num_programs(0)):
        rows, columns = tile // tiles_n * M + tl.arange(0, M), tile % tiles_n * N + tl.arange(0, N)
        total = _accumulate(a, b, rows, columns, k, stride_a, stride_b, K, TURNED)
        tl.store(_tile(c, rows, columns, stride_c), total.to(c.dtype.element_ty))


@triton.jit
def persistent_matmul_tma(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TURNED: tl.constexpr,
                           APART: tl.constexpr):  # fmt: skip
    """The same by tensor descriptors; loads, MMAs and the rest are done by warps of their own where APART."""
    tiles_n = tl.cdiv(n, N)
    tiles = tl.cdiv(m, M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=not APART, warp_specialize=APART):
        row, column = tile // tiles_n * M, tile % tiles_n * N
        c.store([row, column], _accumulate_tma(a, b, row, column, k, M, N, K, TURNED).to(c.dtype))


@triton.jit
def scaled_matmul(a, a_scale, b, b_scale, c, m, n, k, stride_a, stride_as, stride_b, stride_bs, stride_c, M: tl.constexpr,
                   N: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr, KIND: tl.constexpr):  # fmt: skip
    """c = a @ b^T with a scale for BLOCK elements of both along k; two of e2m1 lie in a byte."""
    PAIR: tl.constexpr = 2 if KIND == "e2m1" else 1
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    inner, groups = tl.arange(0, K // PAIR), tl.arange(0, K // BLOCK)
    left, right = _tile(a, rows, inner, stride_a), _tile(b, columns, inner, stride_b)
    left_scale, right_scale = _tile(a_scale, rows, groups, stride_as), _tile(b_scale, columns, groups, stride_bs)
    total = tl.zeros((M, N), tl.float32)
    for _ in range(0, tl.cdiv(k, K)):
        total = tl.dot_scaled(
            tl.load(left), tl.load(left_scale), KIND, tl.load(right).T, tl.load(right_scale), KIND, total
        )
        left += K // PAIR
        right += K // PAIR
        left_scale += K // BLOCK
        right_scale += K // BLOCK
    tl.store(_tile(c, rows, columns, stride_c), total.to(c.dtype.element_ty))


@triton.jit
def _weigh(total, weight, peak, scores, values, scale):
    new_peak = tl.maximum(peak, tl.max(scores, 1) * scale)
    powers = tl.exp2(scores * scale - new_peak[:, None])
    shrink = tl.exp2(peak - new_peak)
    total = tl.dot(powers.to(values.dtype), values, total * shrink[:, None])
    return total, weight * shrink + tl.sum(powers, 1), new_peak


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """out = softmax(q k^T * scale) v; all (heads, length, D)."""
    block, base = tl.program_id(0), tl.program_id(1).to(tl.int64) * length * D
    scale *= 1.4426950408889634
    rows, inside, dims = block * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    queries = tl.load(_tile(q + base, rows, dims, D))
    peak, weight = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    whole = block * M if CAUSAL else length
    for first in range(0, whole, N):
        keys, values = _tile(k + base, first + inside, dims, D), _tile(v + base, first + inside, dims, D)
        scores = tl.dot(queries, tl.load(keys).T)
        total, weight, peak = _weigh(total, weight, peak, scores, tl.load(values), scale)
    if CAUSAL:
        for first in range(whole, whole + M, N):
            keys, values = _tile(k + base, first + inside, dims, D), _tile(v + base, first + inside, dims, D)
            scores = tl.dot(queries, tl.load(keys).T)
            scores = tl.where(rows[:, None] >= first + inside[None, :], scores, float("-inf"))
            total, weight, peak = _weigh(total, weight, peak, scores, tl.load(values), scale)
    tl.store(_tile(out + base, rows, dims, D), (total / weight[:, None]).to(out.dtype.element_ty))


@triton.jit
def attention_tma(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
                  APART: tl.constexpr):  # fmt: skip
    """The same by tensor descriptors of (heads * length, D); APART as above."""
    block = tl.program_id(0)
    head = tl.program_id(1) * length
    scale *= 1.4426950408889634
    rows, inside = block * M + tl.arange(0, M), tl.arange(0, N)
    queries = q.load([head + block * M, 0])
    peak, weight = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    whole = block * M if CAUSAL else length
    for first in tl.range(0, whole, N, warp_specialize=APART):
        scores = tl.dot(queries, k.load([head + first, 0]).T)
        total, weight, peak = _weigh(total, weight, peak, scores, v.load([head + first, 0]), scale)
    if CAUSAL:
        for first in tl.range(whole, whole + M, N):
            scores = tl.dot(queries, k.load([head + first, 0]).T)
            scores = tl.where(rows[:, None] >= first + inside[None, :], scores, float("-inf"))
            total, weight, peak = _weigh(total, weight, peak, scores, v.load([head + first, 0]), scale)
    out.store([head + block * M, 0], (total / weight[:, None]).to(out.dtype))


@triton.jit
def layer_norm(x, gamma, beta, out, epsilon, N: tl.constexpr):
    """A row for each block."""
    columns = tl.arange(0, N)
    start = tl.program_id(0).to(tl.int64) * N
    row = tl.load(x + start + columns).to(tl.float32)
    mean = tl.sum(row) / N
    centered = row - mean
    normal = centered * tl.rsqrt(tl.sum(centered * centered) / N + epsilon)
    found = normal * tl.load(gamma + columns).to(tl.float32) + tl.load(beta + columns).to(tl.float32)
    tl.store(out + start + columns, found.to(out.dtype.element_ty))


@triton.jit
def softmax(x, out, N: tl.constexpr):
    """A row for each block."""
    columns = tl.arange(0, N)
    start = tl.program_id(0).to(tl.int64) * N
    row = tl.load(x + start + columns).to(tl.float32)
    powers = tl.exp(row - tl.max(row))
    tl.store(out + start + columns, (powers / tl.sum(powers)).to(out.dtype.element_ty))


@triton.jit
def transpose(x, out, stride_x, stride_out, M: tl.constexpr, N: tl.constexpr):
    """out = x transposed."""
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    tl.store(_tile(out, columns, rows, stride_out), tl.load(_tile(x, rows, columns, stride_x)).T)


@triton.jit
def vector_add(a, b, c, N: tl.constexpr):
    """c = a + b."""
    at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    tl.store(c + at, tl.load(a + at) + tl.load(b + at))
