"""Kernels whose tiles are divided over the CTAs of a cluster, and some whose tiles cannot be."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc.astype(out.dtype))


def matmul_converted(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, where b is converted to the type of a."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO).astype(a.dtype)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc.astype(out.dtype))


def matmul_converted_both(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, where both are converted to f16."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO).astype(ct.float16)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO).astype(ct.float16)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


def matmul_gathered(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, where b is gathered by rows and columns."""
    row, column = ct.bid(0), ct.bid(1)
    columns = column * N + ct.arange(N, dtype=ct.int32)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.gather(b, ((k * K + ct.arange(K, dtype=ct.int32))[:, None], columns[None, :]))
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc.astype(out.dtype))


def gated(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + 3 a @ c, both in one loop."""
    row, column = ct.bid(0), ct.bid(1)
    first, second = ct.zeros((M, N), dtype=ct.float32), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        first = ct.mma(x, ct.load(b, (k, column), (K, N), padding_mode=ZERO), first)
        second = ct.mma(x, ct.load(c, (k, column), (K, N), padding_mode=ZERO), second)
    ct.store(out, (row, column), first + 3 * second)


def gated_left(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = b @ a + 3 c @ a, both in one loop."""
    row, column = ct.bid(0), ct.bid(1)
    first, second = ct.zeros((M, N), dtype=ct.float32), ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(b, axis=1, shape=(M, K))):
        rows, places = k * K + ct.arange(K, dtype=ct.int32), column * N + ct.arange(N, dtype=ct.int32)
        x = ct.gather(a, (rows[:, None], places[None, :]))
        first = ct.mma(ct.load(b, (row, k), (M, K), padding_mode=ZERO), x, first)
        second = ct.mma(ct.load(c, (row, k), (M, K), padding_mode=ZERO), x, second)
    ct.store(out, (row, column), first + 3 * second)


def crossed(a, out, M: ConstInt, K: ConstInt):
    """out = a @ a.T + 3 a @ a.T in two dots, of which the second has the tiles in the other order."""
    row, column = ct.bid(0), ct.bid(1)
    first, second = ct.zeros((M, M), dtype=ct.float32), ct.zeros((M, M), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(a, (column, k), (M, K), padding_mode=ZERO)
        first = ct.mma(x, ct.transpose(y), first)
        second = ct.mma(y, ct.transpose(x), second)
    ct.store(out, (row, column), first + 3 * ct.transpose(second))


def matmul_tf32(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, the operands rounded to tf32."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO).astype(ct.tfloat32)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO).astype(ct.tfloat32)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


def persistent(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, each block taking every so many-th tile."""
    columns = ct.cdiv(out.shape[1], N)
    for tile in range(ct.bid(0), ct.cdiv(out.shape[0], M) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, column), acc.astype(out.dtype))


def batched(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b for matrices of a batch, by tiles of four dimensions, each block taking every so many-th tile."""
    columns = ct.cdiv(out.shape[3], N)
    tiles = ct.cdiv(out.shape[2], M) * columns
    for tile in range(ct.bid(0), out.shape[1] * tiles, ct.num_blocks(0)):
        batch, row, column = tile // tiles, tile % tiles // columns, tile % columns
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=3, shape=(1, 1, M, K))):
            x = ct.load(a, (0, batch, row, k), (1, 1, M, K), padding_mode=ZERO).reshape((M, K))
            y = ct.load(b, (0, batch, k, column), (1, 1, K, N), padding_mode=ZERO).reshape((K, N))
            acc = ct.mma(x, y, acc)
        ct.store(out, (0, batch, row, column), acc.astype(out.dtype).reshape((1, 1, M, N)))


def attention(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = softmax(q k^T) v, with rows and columns numbered by tiles that both follow from one range."""
    queries = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    peak = ct.full((M, 1), -1e30, dtype=ct.float32)
    weight = ct.zeros((M, 1), dtype=ct.float32)
    total = ct.zeros((M, D), dtype=ct.float32)
    row = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)[:, None]
    for j in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, j), (D, N), order="F", padding_mode=ZERO)
        scores = ct.mma(queries, keys, ct.zeros((M, N), dtype=ct.float32))
        column = j * N + ct.arange(N, dtype=ct.int32)[None, :]
        scores = ct.where(column <= row, scores, -1e30)
        new_peak = ct.maximum(peak, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp(scores - new_peak)
        shrink = ct.exp(peak - new_peak)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        values = ct.load(v, (j, 0), (N, D), padding_mode=ZERO)
        total = ct.mma(powers.astype(v.dtype), values, total * shrink)
        peak = new_peak
    ct.store(out, (ct.bid(0), 0), (total / weight).astype(out.dtype))


def rows_normalized(x, out, deviation, M: ConstInt, N: ConstInt):
    """out = (x - mean) / (1 + deviation) by rows, transposed; deviation by rows."""
    tile = ct.load(x, (ct.bid(0), 0), (M, N), padding_mode=ZERO)
    mean = ct.sum(tile, axis=1, keepdims=True) / N
    spread = ct.sum((tile - mean) * (tile - mean), axis=1, keepdims=True) / N
    ct.store(out, (0, ct.bid(0)), ct.transpose((tile - mean) / (1.0 + spread)))
    ct.store(deviation, (ct.bid(0),), ct.reshape(spread, (M,)))


def gathered(x, index, out, M: ConstInt):
    """out[i] = x[index[i]] + 2 i, through pointers; the last block in the grid counts them."""
    i = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)
    found = ct.gather(x, ct.gather(index, i))
    ct.scatter(out, i, found + 2 * i)


def counted(x, counts, M: ConstInt):
    """counts[x[i]] += 1."""
    ct.atomic_add(counts, ct.load(x, (ct.bid(0),), (M,)), 1, memory_order=ct.MemoryOrder.RELAXED)


def in_place(x, M: ConstInt, N: ConstInt):
    """x = 2 x + 1, twice: each tile is written where it was read."""
    for step in range(2):
        ct.store(x, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (M, N)) * 2 + 1)


def block_numbers(out, M: ConstInt):
    """out[block] = number of blocks * 100 + block in every element; the first element of another tile is written once."""
    ct.store(out, (ct.bid(0), ct.bid(1)), ct.full((M, 1), ct.num_blocks(0) * 100 + ct.bid(0), dtype=ct.int32))


def doubled(x, out, M: ConstInt):
    """out = 2 x."""
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (M,), padding_mode=ZERO) * 2)


def beside(out, total, M: ConstInt):
    """out[i] = i in parts, and a sum of all elements of the tile that each CTA has whole."""
    ct.store(out, (0,), ct.arange(M, dtype=ct.int32))
    ct.store(total, (0,), ct.reshape(ct.sum(ct.arange(M, dtype=ct.int32)), (1,)))


# ---- accesses that tokens, or memory semantics, order across CTAs ----------------------------------------
def shifted(x, M: ConstInt):
    """x = x + its other half: what one half reads the other writes."""
    both = ct.load(x, (0,), (2 * M,))
    ct.store(x, (0,), ct.load(x, (1,), (M,)))
    ct.store(x, (1,), ct.extract(both, (0,), (M,)))


def overwritten(x, M: ConstInt):
    """x[i] = 2 i in parts; then the first CTA writes a sum over the last element."""
    ct.store(x, (0,), 2 * ct.arange(M, dtype=ct.int32))
    ct.store(x, (M - 1,), ct.reshape(ct.sum(ct.arange(M, dtype=ct.int32)), (1,)))


def turned(x, M: ConstInt, N: ConstInt):
    """x, M x N, becomes its 2 x + 1 reversed, three times: each time CTAs read what others wrote the time before."""
    row = ct.arange(M, dtype=ct.int32)[:, None]
    column = ct.arange(N, dtype=ct.int32)[None, :]
    for step in range(3):
        found = ct.gather(x, (M - 1 - row, N - 1 - column))
        ct.scatter(x, (row, column), found * 2 + 1)


def convolved(x, index, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = x[index] @ b, where index counts columns of x too, and out's rows are stored in reverse, one tile after the other."""
    columns = ct.cdiv(out.shape[1], N)
    for tile in range(ct.bid(0), ct.cdiv(out.shape[0], M) * columns, ct.num_blocks(0)):
        row = (tile // columns) * M + ct.arange(M, dtype=ct.int32)
        column = (tile % columns) * N + ct.arange(N, dtype=ct.int32)
        start = ct.gather(index, row)
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(b, axis=0, shape=(K, N))):
            place = start[:, None] + k * K + ct.arange(K, dtype=ct.int32)[None, :]
            found = ct.where(place % 3 != 0, ct.gather(x, place), 0)
            y = ct.load(b, (k, tile % columns), (K, N), padding_mode=ZERO)
            acc = ct.mma(found.astype(b.dtype), y, acc)
        ct.scatter(out, (out.shape[0] - 1 - row[:, None], column[None, :]), acc.astype(out.dtype))


def stored_at_each_step(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b with its rows in reverse: what is added up so far, in the same place after each step."""
    row, column = ct.arange(M, dtype=ct.int32), ct.arange(N, dtype=ct.int32)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
        ct.scatter(out, (M - 1 - row[:, None], column[None, :]), acc)


def summed(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out += a @ b, each part of k by a step of its own, whose acquiring and releasing atomics the next step follows."""
    columns, parts = ct.cdiv(out.shape[1], N), ct.num_tiles(a, axis=1, shape=(M, 2 * K))
    for step in range(ct.bid(0), ct.cdiv(out.shape[0], M) * columns * parts, ct.num_blocks(0)):
        part, tile = step % parts, step // parts
        row, column = tile // columns, tile % columns
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(2 * part, 2 * part + 2):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO, allow_tma=False)
            y = ct.load(b, (k, column), (K, N), padding_mode=ZERO, allow_tma=False)
            acc = ct.mma(x, y, acc)
        rows, places = row * M + ct.arange(M, dtype=ct.int32), column * N + ct.arange(N, dtype=ct.int32)
        ct.atomic_add(out, (rows[:, None], places[None, :]), acc)


def matmul_beside(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, where threads copy a and TMA copies b."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO, allow_tma=False)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc.astype(out.dtype))


# ---- kernels that one CTA executes whatever the hint says ------------------------------------------
def row_reduction(x, out, N: ConstInt):
    """out = sums of rows, a row for each block."""
    ct.store(out, (ct.bid(0),), ct.reshape(ct.sum(ct.load(x, (ct.bid(0), 0), (1, N)), axis=1), (1,)))


def said(x, M: ConstInt):
    """Prints, and doubles x."""
    ct.printf("once")
    ct.store(x, (0,), ct.load(x, (0,), (M,)) * 2)


def counted_once(count, x, M: ConstInt):
    """x doubled; count += 1."""
    ct.store(x, (0,), ct.load(x, (0,), (M,)) * 2)
    ct.atomic_add(count, (0,), 1, memory_order=ct.MemoryOrder.RELAXED)


def _rows(dtype: str) -> Array:
    return Array(dtype, 2, -1, stride_divisible_by=16)


def _columns(dtype: str) -> Array:
    return Array(dtype, 2, 0, stride_divisible_by=16)


F16, BYTES = _rows("float16"), (_rows("float8_e4m3fn"), _columns("float8_e4m3fn"), _rows("float32"))
F32, LINE = Array("float32", 2), Array("int32", 1)
KERNELS = {
    "matmul": (matmul, (F16, F16, _rows("float32"), 128, 64, 32)),
    "matmul_columns": (matmul, (F16, _columns("float16"), _rows("float32"), 128, 64, 32)),
    "matmul_tall": (matmul, (F16, F16, F16, 256, 64, 64)),
    "matmul_wide": (matmul, (F16, F16, F16, 128, 128, 64)),
    "matmul_sliced": (matmul, (F16, F16, F16, 512, 256, 64)),
    "matmul_f8": (matmul, (*BYTES, 128, 128, 64)),
    "persistent": (persistent, (F16, F16, _rows("float32"), 128, 64, 32)),
    "pair_columns": (matmul, (F16, _columns("float16"), F16, 256, 128, 64)),
    "pair_wide": (matmul, (F16, F16, F16, 256, 256, 64)),
    "pair_high": (matmul, (F16, F16, F16, 512, 64, 32)),
    "pair_f8": (matmul, (*BYTES, 256, 128, 64)),
    "pair_narrow": (matmul, (F16, F16, _rows("float32"), 256, 32, 64)),
    "pair_tf32": (matmul_tf32, (_rows("float32"),) * 3 + (256, 64, 32)),
    "pair_tf32_columns": (matmul_tf32, (_rows("float32"), _columns("float32"), _rows("float32"), 256, 64, 32)),
    "pair_persistent": (persistent, (F16, F16, F16, 256, 64, 64)),
    "converted": (matmul_converted, (F16, _rows("int8"), F16, 256, 64, 64)),
    "converted_wide": (matmul_converted, (F16, _rows("int8"), F16, 128, 256, 64)),
    "converted_turned": (matmul_converted, (F16, _columns("int8"), F16, 256, 128, 64)),
    "converted_both": (matmul_converted_both, (_rows("float32"),) * 3 + (128, 64, 32)),
    "gathered_right": (matmul_gathered, (F16, F16, F16, 128, 64, 64)),
    "gated": (gated, (F16, F16, F16, _rows("float32"), 256, 64, 64)),
    "gated_left": (gated_left, (F16, F16, F16, _rows("float32"), 128, 64, 64)),
    "crossed": (crossed, (F16, _rows("float32"), 128, 64)),
    "pair_swapped": (matmul, (F16, F16, F16, 128, 256, 64)),
    "pair_swapped_f8": (matmul, (*BYTES, 128, 256, 64)),
    "pair_swapped_persistent": (persistent, (F16, F16, F16, 128, 256, 64)),
    "pair_batched": (batched, (Array("float16", 4, -1, stride_divisible_by=16),) * 3 + (128, 128, 64)),
    "attention": (attention, (F16, F16, F16, _rows("float32"), 128, 64, 64)),
    "attention_tall": (attention, (F16, F16, F16, _rows("float32"), 256, 64, 64)),
    "rows_normalized": (rows_normalized, (F32, F32, Array("float32", 1), 32, 64)),
    "gathered": (gathered, (LINE, LINE, LINE, 256)),
    "counted": (counted, (LINE, LINE, 256)),
    "in_place": (in_place, (F32, 16, 32)),
    "block_numbers": (block_numbers, (Array("int32", 2), 16)),
    "doubled": (doubled, (Array("int32", 1, shape_divisible_by=16),) * 2 + (64,)),
    "beside": (beside, (LINE, LINE, 64)),
    "shifted": (shifted, (LINE, 128)),
    "overwritten": (overwritten, (LINE, 64)),
    "turned": (turned, (Array("int32", 2), 32, 16)),
    "convolved": (convolved, (Array("float16", 1), LINE, F16, F16, 128, 64, 64)),
    "convolved_high": (convolved, (Array("float16", 1), LINE, F16, F16, 256, 64, 64)),
    "stored_at_each_step": (stored_at_each_step, (F16, F16, _rows("float32"), 16, 64, 64)),
    "summed": (summed, (F16, F16, _rows("float32"), 128, 128, 32)),
    "pair_beside": (matmul_beside, (F16, F16, F16, 256, 128, 64)),
    "pair_beside_columns": (matmul_beside, (F16, _columns("float16"), F16, 128, 64, 64)),
    "row_reduction": (row_reduction, (F32, Array("float32", 1), 64)),
    "said": (said, (LINE, 128)),
    "counted_once": (counted_once, (LINE, LINE, 128)),
}


def _case(name: str) -> Case:
    """A kernel of KERNELS, for so many CTAs as the name's end says."""
    kernel, _, ctas = name.rpartition("_")
    function, arguments = KERNELS[kernel]
    return Case(name, ct.kernel(num_ctas=int(ctas))(function), arguments)


CASES = [
    _case("matmul_2"), _case("matmul_4"),
    _case("matmul_columns_2"), _case("matmul_columns_4"),
    _case("matmul_tall_2"), _case("matmul_tall_4"),
    _case("matmul_wide_2"), _case("matmul_wide_4"),
    _case("matmul_sliced_2"),
    _case("converted_2"), _case("converted_4"), _case("converted_wide_2"), _case("converted_turned_2"), _case("converted_both_2"), _case("gathered_right_2"),
    _case("gated_2"), _case("gated_4"), _case("gated_left_2"), _case("crossed_2"), _case("crossed_4"),
    _case("matmul_f8_2"), _case("matmul_f8_4"),
    _case("persistent_2"), _case("persistent_4"),
    _case("pair_columns_2"), _case("pair_wide_2"), _case("pair_high_2"), _case("pair_f8_2"), _case("pair_narrow_2"),
    _case("pair_tf32_2"), _case("pair_tf32_columns_2"), _case("pair_persistent_2"), _case("pair_persistent_4"), _case("pair_batched_2"),
    _case("pair_swapped_2"), _case("pair_swapped_f8_2"), _case("pair_swapped_persistent_2"),
    _case("attention_2"), _case("attention_4"),
    _case("attention_tall_2"),
    _case("rows_normalized_2"), _case("rows_normalized_4"),
    _case("gathered_2"), _case("gathered_4"),
    _case("counted_2"), _case("counted_4"),
    _case("in_place_2"), _case("in_place_4"),
    _case("block_numbers_2"), _case("block_numbers_4"),
    _case("doubled_2"), _case("doubled_4"),
    _case("beside_2"), _case("beside_4"),
    _case("shifted_2"), _case("shifted_4"),
    _case("overwritten_2"), _case("overwritten_4"),
    _case("turned_2"), _case("turned_4"),
    _case("convolved_2"), _case("convolved_high_2"), _case("convolved_4"),
    _case("stored_at_each_step_2"), _case("stored_at_each_step_4"),
    _case("summed_2"), _case("summed_4"), _case("pair_beside_2"), _case("pair_beside_columns_2"),
    _case("row_reduction_2"), _case("row_reduction_4"),
    _case("said_2"), _case("said_4"),
    _case("counted_once_2"), _case("counted_once_4"),
]  # fmt: skip
