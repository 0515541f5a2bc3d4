"""Loops in which two dots, or a dot and threads, read each loaded tile, or dots accumulate one after the other."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def gradients(q, k, v, o, dk, dv, M: ConstInt, N: ConstInt, D: ConstInt):
    """The dots of an attention's gradients: with s = q @ k.T, dv = s.T @ o and dk = (o @ v.T + s).T @ q."""
    i = ct.bid(0)
    keys, values = ct.load(k, (i, 0), (N, D)), ct.load(v, (i, 0), (N, D))
    of_keys, of_values = ct.zeros((N, D), dtype=ct.float32), ct.zeros((N, D), dtype=ct.float32)
    for j in range(ct.num_tiles(q, axis=0, shape=(M, D))):
        x = ct.load(q, (j, 0), (M, D), padding_mode=ZERO)
        y = ct.load(o, (j, 0), (M, D), padding_mode=ZERO)
        s = ct.mma(x, ct.transpose(keys), ct.zeros((M, N), dtype=ct.float32))
        of_values = ct.mma(ct.transpose(s.astype(o.dtype)), y, of_values)
        p = ct.mma(y, ct.transpose(values), ct.zeros((M, N), dtype=ct.float32))
        of_keys = ct.mma(ct.transpose((p + s).astype(q.dtype)), x, of_keys)
    ct.store(dk, (i, 0), of_keys)
    ct.store(dv, (i, 0), of_values)


@ct.kernel
def gradients_tf32(q, k, v, o, dk, dv, M: ConstInt, N: ConstInt, D: ConstInt):
    """The same in tf32, to which threads convert all operands."""
    i = ct.bid(0)
    keys, values = _tf32(ct.load(k, (i, 0), (N, D))), _tf32(ct.load(v, (i, 0), (N, D)))
    of_keys, of_values = ct.zeros((N, D), dtype=ct.float32), ct.zeros((N, D), dtype=ct.float32)
    for j in range(ct.num_tiles(q, axis=0, shape=(M, D))):
        x = _tf32(ct.load(q, (j, 0), (M, D), padding_mode=ZERO))
        y = _tf32(ct.load(o, (j, 0), (M, D), padding_mode=ZERO))
        s = ct.mma(x, ct.transpose(keys), ct.zeros((M, N), dtype=ct.float32))
        of_values = ct.mma(_tf32(ct.transpose(s)), y, of_values)
        p = ct.mma(y, ct.transpose(values), ct.zeros((M, N), dtype=ct.float32))
        of_keys = ct.mma(_tf32(ct.transpose(p + s)), x, of_keys)
    ct.store(dk, (i, 0), of_keys)
    ct.store(dv, (i, 0), of_values)


def _tf32(tile):
    return (tile.astype(ct.float32) * 1.0).astype(ct.tfloat32)


@ct.kernel
def two_accumulators(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a @ b + 1) * (a @ c), each block's rows in turn."""
    for i in range(ct.bid(0), ct.num_tiles(out, axis=0, shape=(M, N)), ct.num_blocks(0)):
        first, second = ct.ones((M, N), dtype=ct.float32), ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            left = ct.load(a, (i, k), (M, K), padding_mode=ZERO)
            first = ct.mma(left, ct.load(b, (k, 0), (K, N), padding_mode=ZERO), first)
            second = ct.mma(left, ct.load(c, (k, 0), (K, N), padding_mode=ZERO), second)
        ct.store(out, (i, 0), first * second)


@ct.kernel
def accumulated_in_turn(a, b, c, d, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + c @ d + 1, each block's rows in turn."""
    for i in range(ct.bid(0), ct.num_tiles(out, axis=0, shape=(M, N)), ct.num_blocks(0)):
        total = ct.ones((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            total = ct.mma(_tile(a, i, k, (M, K)), _tile(b, k, 0, (K, N)), total)
            total = ct.mma(_tile(c, i, k, (M, K)), _tile(d, k, 0, (K, N)), total)
        ct.store(out, (i, 0), total)


@ct.kernel
def scores_of_two(q, r, k, p, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T + r @ p.T) @ v + the maxima of the scores, added up, as attention with positions apart has."""
    i = ct.bid(0)
    left, others = _tile(q, i, 0, (M, D)), _tile(r, i, 0, (M, D))
    total, most = ct.zeros((M, D), dtype=ct.float32), ct.zeros((M, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = ct.mma(left, ct.transpose(_tile(k, j, 0, (N, D))), ct.zeros((M, N), dtype=ct.float32))
        scores = ct.mma(others, ct.transpose(_tile(p, j, 0, (N, D))), scores)
        most = most + ct.max(scores, axis=1, keepdims=True)
        total = ct.mma(scores.astype(v.dtype), _tile(v, j, 0, (N, D)), total)
    ct.store(out, (i, 0), total + most)


@ct.kernel
def decayed_state(q, k, v, d, out, T: ConstInt, D: ConstInt):
    """out = (q @ k.T) @ v of each chunk of T rows, and q @ state; the state is half of what it was, and (k * d).T @ v."""
    state = ct.zeros((D, D), dtype=ct.float32)
    factors = ct.load(d, (0, 0), (T, 1))
    for step in range(ct.num_tiles(q, axis=0, shape=(T, D))):
        queries, keys, values = _tile(q, step, 0, (T, D)), _tile(k, step, 0, (T, D)), _tile(v, step, 0, (T, D))
        scores = ct.mma(queries, ct.transpose(keys), ct.zeros((T, T), dtype=ct.float32))
        result = ct.mma(scores.astype(v.dtype), values, ct.zeros((T, D), dtype=ct.float32))
        result = ct.mma(queries, state.astype(v.dtype), result)
        decayed = (keys.astype(ct.float32) * factors).astype(k.dtype)
        state = ct.mma(ct.transpose(decayed), values, state * 0.5)
        ct.store(out, (step, 0), result)


@ct.kernel
def matmul_and_squares(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + the sums of the squares of a's rows, each block's rows in turn."""
    for i in range(ct.bid(0), ct.num_tiles(out, axis=0, shape=(M, N)), ct.num_blocks(0)):
        total, squares = ct.zeros((M, N), dtype=ct.float32), ct.zeros((M, K), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            left = _tile(a, i, k, (M, K))
            wide = left.astype(ct.float32)
            squares = squares + wide * wide
            total = ct.mma(left, _tile(b, k, 0, (K, N)), total)
        ct.store(out, (i, 0), total + ct.sum(squares, axis=1, keepdims=True))


@ct.kernel
def attention_and_squares(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T) @ v + the sum of k's squares: chained dots, and threads that read one of their tiles."""
    left = _tile(q, ct.bid(0), 0, (M, D))
    total, squares = ct.zeros((M, D), dtype=ct.float32), ct.zeros((N, D), dtype=ct.float32)
    for j in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = _tile(k, j, 0, (N, D))
        wide = keys.astype(ct.float32)
        squares = squares + wide * wide
        scores = ct.mma(left, ct.transpose(keys), ct.zeros((M, N), dtype=ct.float32))
        total = ct.mma(scores.astype(v.dtype), _tile(v, j, 0, (N, D)), total)
    ct.store(out, (ct.bid(0), 0), total + ct.sum(squares))


@ct.kernel
def scores_of_copies(a, b, q, k, v, out, T: ConstInt, GATHERS: ct.Constant[bool]):
    """out = a @ b + (q @ k) @ v of each tile of T columns of q, which threads copy ahead, by pointers or as a view."""
    total = ct.zeros((T, T), dtype=ct.float32)
    rows = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)[:, None]
    for j in range(ct.num_tiles(b, axis=0, shape=(T, T))):
        total = ct.mma(_tile(a, ct.bid(0), j, (T, T)), _tile(b, j, 0, (T, T)), total)
        if GATHERS:
            queries = ct.gather(q, (rows, j * T + ct.arange(T, dtype=ct.int32)[None, :]), padding_value=0)
        else:
            queries = ct.load(q, (ct.bid(0), j), (T, T), padding_mode=ZERO, allow_tma=False)
        scores = ct.mma(queries, _tile(k, j, 0, (T, T)), ct.zeros((T, T), dtype=ct.float32))
        total = ct.mma(ct.minimum(scores, 2).astype(v.dtype), _tile(v, j, 0, (T, T)), total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def scores_beside_copies(q, k, v, a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = min(q @ k.T, 1) @ v + a @ b of i8, where threads copy b's tiles ahead and write v to another buffer, transposed."""
    left, total = _tile(q, ct.bid(0), 0, (M, K)), ct.zeros((M, N), dtype=ct.int32)
    other = ct.zeros((M, N), dtype=ct.int32)
    for j in range(ct.num_tiles(v, axis=0, shape=(K, N))):
        keys = ct.load(k, (0, j), (K, K), order="F", padding_mode=ZERO)
        scores = ct.minimum(ct.mma(left, keys, ct.zeros((M, K), dtype=ct.int32)), 1)
        total = ct.mma(scores.astype(v.dtype), _tile(v, j, 0, (K, N)), total)
        x = ct.load(a, (ct.bid(0), j), (M, K), padding_mode=ZERO, allow_tma=False)
        other = ct.mma(x, _tile(b, j, 0, (K, N)), other)
    ct.store(out, (ct.bid(0), 0), total + other)


def _tile(array, row, column, shape):
    return ct.load(array, (row, column), shape, padding_mode=ZERO)


INPUT, OUTPUT = Array("float16", 2, stride_divisible_by=8), Array("float32", 2, stride_divisible_by=4)
BYTES = Array("int8", 2, stride_divisible_by=16)
EVEN = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=8)
BY_WORDS = Array("float16", 2, stride_divisible_by=2)  # as TMA loads none
CASES = [
    Case("gradients_by_words", gradients, (*[BY_WORDS] * 4, OUTPUT, OUTPUT, 128, 64, 64)),
    Case("decayed_state_by_words", decayed_state, (*[BY_WORDS] * 3, OUTPUT, OUTPUT, 64, 64)),
    Case("gradients", gradients, (*[INPUT] * 4, OUTPUT, OUTPUT, 128, 128, 64)),
    Case("gradients_tf32", gradients_tf32, (*[INPUT] * 4, OUTPUT, OUTPUT, 64, 64, 64)),
    Case("accumulated_in_turn", accumulated_in_turn, (*[INPUT] * 4, OUTPUT, 128, 64, 64)),
    Case("scores_of_two", scores_of_two, (*[INPUT] * 5, OUTPUT, 128, 64, 64)),
    Case("decayed_state", decayed_state, (*[INPUT] * 3, OUTPUT, OUTPUT, 64, 64)),
    Case("matmul_and_squares", matmul_and_squares, (INPUT, INPUT, OUTPUT, 128, 64, 64)),
    Case("scores_of_gathered_rows", scores_of_copies, (*[EVEN] * 5, OUTPUT, 64, True)),
    Case("scores_of_copied_tiles", scores_of_copies, (*[EVEN] * 5, OUTPUT, 64, False)),
    Case(
        "scores_beside_copies",
        scores_beside_copies,
        (*[BYTES] * 5, Array("int32", 2, stride_divisible_by=4), 256, 64, 32),
    ),
    Case("attention_and_squares", attention_and_squares, (*[INPUT] * 3, OUTPUT, 128, 128, 64)),
    Case("two_accumulators", two_accumulators, (*[INPUT] * 3, OUTPUT, 128, 64, 64)),
    Case("two_accumulators_of_two_warpgroups", two_accumulators, (*[INPUT] * 3, OUTPUT, 128, 128, 64)),
]
