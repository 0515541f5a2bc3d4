"""Loops in which one dot makes the left operand of another, which accumulates."""

import math

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def times_keys(left, k, step, M, N, D):
    """left @ k.T of one step's N keys."""
    keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
    return ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))


@ct.kernel
def weighted(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = softmax(q @ k.T) @ v, one block of rows at a time; rows of zeros where there are no keys."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    peak = ct.full((M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((M, 1), dtype=ct.float32)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        scores = ct.where(step * N + ct.arange(N, dtype=ct.int32)[None, :] < k.shape[0], scores, -math.inf)
        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp(scores - new_peak)
        shrink = ct.exp(peak - new_peak)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma(powers.astype(v.dtype), values, total * shrink)
        peak = new_peak
    ct.store(out, (ct.bid(0), 0), total / ct.maximum(weight, 1e-30))


def add_squares(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T) ** 2 @ v: nothing else changes the accumulator."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def continued(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """The same, added to what is there."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.load(out, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def squared_triangle(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """The same without the keys after a row in the block on the diagonal: all other blocks are whole."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    own = ct.arange(M, dtype=ct.int32)[:, None] >= ct.arange(N, dtype=ct.int32)[None, :]
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        if step == ct.bid(0):
            scores = ct.where(own, scores, 0.0)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def powered(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = 2 ** (q @ k.T) @ v."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma(ct.exp2(scores, flush_to_zero=True).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


squared = ct.kernel(add_squares)
crowded = ct.kernel(add_squares, occupancy=2)  # two blocks share an SM: each has shared memory for one stage


@ct.kernel
def squared_persistent(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """The same, all rows by one block."""
    for row in range(ct.num_tiles(q, axis=0, shape=(M, D))):
        left = ct.load(q, (row, 0), (M, D), padding_mode=ZERO)
        total = ct.zeros((M, D), dtype=ct.float32)
        for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
            scores = times_keys(left, k, step, M, N, D)
            values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
            total = ct.mma((scores * scores).astype(v.dtype), values, total)
        ct.store(out, (row, 0), total)


@ct.kernel
def squared_and_numbered(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = sum over steps of (step + 1) * ((q @ k.T) ** 2 @ v): what is done late asks which step it was."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        part = ct.mma((scores * scores).astype(v.dtype), values, ct.zeros((M, D), dtype=ct.float32))
        total = total + part * ct.astype(step + 1, ct.float32)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def of_two(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T) * (q @ v.T) @ v: two dots make the left operand."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
        others = ct.load(v, (0, step), (D, N), order="F", padding_mode=ZERO)
        scores = ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))
        more = ct.mma(left, others, ct.zeros((M, N), dtype=ct.float32))
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * more).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def added_in_turn(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T + (q @ k.T) * (q @ v.T)) @ v: two dots add to one accumulator, of which the first one completes before the second."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        scores = times_keys(left, k, step, M, N, D)
        total = ct.mma(scores.astype(v.dtype), values, total)
        more = scores * times_keys(left, v, step, M, N, D)
        total = ct.mma(more.astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def before_another(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """``of_two``, and 2 ** (q @ k.T) of the next step's keys, which depends on none of this."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    others = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = ct.exp2(times_keys(left, k, step, M, N, D)) * times_keys(left, v, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma(scores.astype(v.dtype), values, total)
        others = others + ct.exp2(times_keys(left, k, step + 1, M, N, D))
    ct.store(out, (ct.bid(0), 0), total + others)


@ct.kernel
def of_halves(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T) ** 2 @ v, the columns of q and k in two parts: two dots add to one accumulator."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    other = ct.load(q, (ct.bid(0), 1), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        others = ct.load(k, (1, step), (D, N), order="F", padding_mode=ZERO)
        scores = ct.mma(other, others, scores)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def fed_back(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """Each step's scores are shifted by the result so far: nothing of the next step can come before it."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D) + ct.max(total, axis=1, keepdims=True)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma(scores.astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel(occupancy=2)
def in_two_loops(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = f(q @ k.T) @ v with f(x) = x * x for the first half of the steps, 2 * x * x for the others."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    steps = ct.num_tiles(k, axis=0, shape=(N, D))
    for step in range(steps // 2):
        scores = times_keys(left, k, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    for step in range(steps // 2, steps):
        scores = times_keys(left, k, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((2 * scores * scores).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def of_two_widths(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = sum of what the rows of q @ k.T have as largest, N keys at a time, and those of q @ v.T, a quarter as many."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, 1), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
        total += ct.max(ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32)), axis=1, keepdims=True)
    for step in range(ct.num_tiles(v, axis=0, shape=(N // 4, D))):
        others = ct.load(v, (0, step), (D, N // 4), order="F", padding_mode=ZERO)
        total += ct.max(ct.mma(left, others, ct.zeros((M, N // 4), dtype=ct.float32)), axis=1, keepdims=True)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def of_itself_and_turned(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T) ** 2 @ v + (q.T @ k.T) ** 2 @ v: no stage has the left tile both ways."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        scores = times_keys(left, k, step, M, N, D)
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
        scores = ct.mma(left.transpose(), keys, ct.zeros((M, N), dtype=ct.float32))
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        total = ct.mma((scores * scores).astype(v.dtype), values, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel(occupancy=2)
def crowded_acc(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = q @ v + what each row of q @ k.T has as largest: the accumulator's tiles have one stage, too."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    peak = ct.zeros((M, 1), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
        peak += ct.max(ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32)), axis=1, keepdims=True)
    total = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(q, axis=1, shape=(M, D))):
        part = ct.load(q, (ct.bid(0), step), (M, D), padding_mode=ZERO)
        total = ct.mma(part, ct.load(v, (step, 0), (D, N), padding_mode=ZERO), total)
    ct.store(out, (ct.bid(0), 0), total + peak)


@ct.kernel
def of_one_stage(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ c - a @ b + the rows' sums of a @ b: tiles of b are fetched before those of c, and are multiplied after them."""
    negative = ct.zeros((M, N), dtype=ct.float32)
    total = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        others = ct.load(b, (step, 0), (K, N), padding_mode=ZERO)
        right = ct.load(c, (step, 0), (K, N), padding_mode=ZERO)
        total = ct.mma(ct.load(a, (0, step), (M, K), padding_mode=ZERO), right, total)
        negative = ct.mma(-ct.load(a, (0, step), (M, K), padding_mode=ZERO), others, negative)
    ct.store(out, (0, 0), total + negative - ct.sum(negative, axis=1, keepdims=True))


@ct.kernel
def of_slices(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T) ** 2 @ v in tf32, of which a tile of v comes a slice at a time: in a loop of its own in each iteration."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO).astype(ct.tfloat32)
    total = ct.zeros((M, 16 * D), dtype=ct.float32)
    other = ct.zeros((M, 16 * D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO).astype(ct.tfloat32)
        scores = ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))
        values = ct.load(v, (step, 0), (N, 16 * D), padding_mode=ZERO).astype(ct.tfloat32)
        total = ct.mma((scores * scores).astype(ct.tfloat32), values, total)
        values = ct.load(v, (step, 1), (N, 16 * D), padding_mode=ZERO).astype(ct.tfloat32)
        other = ct.mma(ct.abs(scores).astype(ct.tfloat32), values, other)
    ct.store(out, (ct.bid(0), 0), total + other)


@ct.kernel
def results_of_two_loops(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = 3 (a @ b), tile by tile of rows: one dot after the other, of the same tiles."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        total = ct.zeros((M, N), dtype=ct.float32)
        for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            left = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
            total = ct.mma(left, ct.load(b, (step, 0), (K, N), padding_mode=ZERO), total)
        more = ct.zeros((M, N), dtype=ct.float32)
        for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            left = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
            more = ct.mma(left, ct.load(b, (step, 0), (K, N), padding_mode=ZERO), more)
        ct.store(out, (row, 0), total + more * 2.0)


@ct.kernel
def weighted_steps(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = sum over steps of (step + 1) * (a[:, step] @ b[step]): the result of each dot is read."""
    total = ct.zeros((M, N), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (ct.bid(0), step), (M, K), padding_mode=ZERO)
        right = ct.load(b, (step, 0), (K, N), padding_mode=ZERO)
        total = total + ct.mma(left, right, ct.zeros((M, N), dtype=ct.float32)) * ct.astype(step + 1, ct.float32)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def beside_totals(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = (q @ k.T + totals of k) @ v + q: threads, too, read the keys that the first dot multiplies."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (step, 0), (N, D), padding_mode=ZERO)
        scores = ct.mma(left, keys.transpose(), ct.zeros((M, N), dtype=ct.float32))
        scores = scores + ct.sum(keys.astype(ct.float32), axis=1).reshape((1, N))
        total = ct.mma(scores.astype(v.dtype), ct.load(v, (step, 0), (N, D), padding_mode=ZERO), total)
    ct.store(out, (ct.bid(0), 0), total + left.astype(ct.float32))


def rows(dtype: str) -> Array:
    return Array(dtype, 2, stride_divisible_by=16)


def _case(name: str, kernel, dtype: str, tiles: tuple[int, int, int]) -> Case:
    return Case(name, kernel, (*(rows(dtype),) * 3, rows("float32"), *tiles))


CASES = [
    _case("weighted", weighted, "float16", (128, 128, 64)),
    *(
        _case(f"weighted_hint_{ctas}", weighted.replace_hints(occupancy=ctas), "float16", (128, 128, 64))
        for ctas in (1, 2, 4)
    ),
    _case("weighted_tall", weighted, "float16", (256, 64, 64)),
    _case("weighted_wide", weighted, "float16", (128, 64, 256)),
    _case("weighted_short", weighted, "float16", (64, 128, 64)),
    _case("weighted_bf16", weighted, "bfloat16", (64, 128, 64)),
    _case("squared", squared, "float16", (128, 64, 64)),
    _case("squared_short", squared, "float16", (64, 64, 64)),
    _case("squared_triangle", squared_triangle, "float16", (64, 64, 64)),
    _case("powered", powered, "float16", (128, 64, 64)),
    _case("continued", continued, "float16", (128, 64, 64)),
    _case("squared_persistent", squared_persistent, "float16", (128, 128, 64)),
    _case("squared_persistent_tall", squared_persistent, "float16", (256, 64, 64)),
    _case("squared_and_numbered", squared_and_numbered, "float16", (64, 64, 64)),
    _case("of_two", of_two, "float16", (64, 32, 64)),
    _case("added_in_turn", added_in_turn, "float16", (128, 64, 64)),
    Case("weighted_steps", weighted_steps, (rows("float16"), rows("float16"), rows("float32"), 128, 64, 64)),
    _case("in_two_loops", in_two_loops, "float16", (128, 128, 64)),
    _case("squared_persistent_short", squared_persistent, "float16", (64, 128, 64)),
    _case("in_two_loops_tall", in_two_loops, "float16", (256, 64, 64)),
    _case("in_two_loops_short", in_two_loops, "float16", (64, 64, 64)),
    Case(
        "results_of_two_loops", results_of_two_loops, (rows("float16"), rows("float16"), rows("float32"), 128, 64, 64)
    ),
    _case("crowded", crowded, "float16", (64, 128, 128)),
    _case("crowded_acc", crowded_acc, "float16", (64, 256, 128)),
    _case("of_one_stage", of_one_stage, "float16", (64, 512, 64)),
    _case("of_two_widths", of_two_widths, "float16", (64, 128, 64)),
    _case("of_itself_and_turned", of_itself_and_turned, "float16", (128, 128, 128)),
    _case("of_slices", of_slices, "float32", (128, 64, 32)),
    _case("before_another", before_another, "float16", (128, 64, 64)),
    _case("beside_totals", beside_totals, "float16", (128, 64, 64)),
    _case("of_halves", of_halves, "float16", (128, 64, 32)),
    _case("fed_back", fed_back, "float16", (64, 64, 64)),
]
