"""Dots with operands that TMA does not load: threads copy them to shared memory."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def matmul_without_tma(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b.T, where no tile may come by TMA."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO, allow_tma=False)
        y = ct.load(b, (column, k), (N, K), padding_mode=ZERO, allow_tma=False)
        acc = ct.mma(x, ct.transpose(y), acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def converted(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, with a in f32 that TMA may not load."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO, allow_tma=False).astype(b.dtype)
        acc = ct.mma(x, ct.load(b, (k, column), (K, N), padding_mode=ZERO), acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def batched(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out[i] = a[i].T @ b[i], all of them by one block."""
    for i in range(a.shape[0]):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(1, K, M))):
            x = ct.load(a, (i, k, 0), (1, K, M), padding_mode=ZERO).reshape((K, M))
            y = ct.load(b, (i, k, 0), (1, K, N), padding_mode=ZERO).reshape((K, N))
            acc = ct.mma(ct.transpose(x), y, acc)
        ct.store(out, (i, 0, 0), acc.reshape((1, M, N)))


@ct.kernel
def small_matrices(a, b, out, BATCH: ConstInt, SIZE: ConstInt):
    """out[i] = a[i] @ b[i] for so many matrices of a block, which have fewer rows than the fast instructions."""
    shape, acc = (BATCH, SIZE, SIZE), ct.zeros((BATCH, SIZE, SIZE), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=shape)):
        x = ct.load(a, (ct.bid(0), 0, k), shape, padding_mode=ZERO)
        acc = ct.mma(x, ct.load(b, (ct.bid(0), k, 0), shape, padding_mode=ZERO), acc)
    ct.store(out, (ct.bid(0), 0, 0), acc)


@ct.kernel
def gathered(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a with neighbors exchanged @ b."""
    rows = ct.bid(0) * M + (ct.arange(M, dtype=ct.int32) ^ 1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.gather(a, (rows[:, None], (k * K + ct.arange(K, dtype=ct.int32))[None, :]))
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def gathered_both(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a with neighbors exchanged @ b.T with neighbors exchanged: memory is contiguous along rows of one tile, along columns of the other."""
    rows = ct.bid(0) * M + (ct.arange(M, dtype=ct.int32) ^ 1)
    columns = ct.bid(1) * N + (ct.arange(N, dtype=ct.int32) ^ 1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], K)):
        depth = k * K + ct.arange(K, dtype=ct.int32)
        left = ct.gather(a, (rows[:, None], depth[None, :]))
        acc = ct.mma(left, ct.gather(b, (columns[None, :], depth[:, None])), acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def convolved(x, taps, out, EDGE: ConstInt, CHANNELS: ConstInt, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = the 3x3 convolution of square images x, of which each row of tiles has M pixels, with taps (9 * CHANNELS, N)."""
    pixels = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)
    image, row, column = pixels // (EDGE * EDGE), pixels // EDGE % EDGE, pixels % EDGE
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(taps, axis=0, shape=(K, N))):
        tap = k * K + ct.arange(K, dtype=ct.int32)
        down, right = tap // CHANNELS // 3 - 1, tap // CHANNELS % 3 - 1
        place = (
            image[:, None],
            row[:, None] + down[None, :],
            column[:, None] + right[None, :],
            (tap % CHANNELS)[None, :],
        )
        acc = ct.mma(ct.gather(x, place, padding_value=0), ct.load(taps, (k, 0), (K, N), padding_mode=ZERO), acc)
    ct.store(out, (ct.bid(0), 0), acc)


@ct.kernel
def scaled(a, b, scales, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = the sum of scales[k] * (a @ b.T) over the tiles k, whose addresses follow from the same rows and columns as those of out."""
    rows, columns = ct.bid(0) * M + ct.arange(M, dtype=ct.int32), ct.bid(1) * N + ct.arange(N, dtype=ct.int32)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        inner = (k * K + ct.arange(K, dtype=ct.int32))[None, :]
        x, y = ct.gather(a, (rows[:, None], inner)), ct.gather(b, (columns[:, None], inner))
        part = ct.mma(x, ct.transpose(y), ct.zeros((M, N), dtype=ct.float32))
        acc = acc + part * ct.gather(scales, (rows, k))[:, None]
    ct.scatter(out, (rows[:, None], columns[None, :]), acc)


@ct.kernel
def until_large(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, added up until an element reaches 300: no producer can follow that."""
    total = ct.zeros((M, N), dtype=ct.float32)
    while ct.max(total).item() < 300.0:
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            total = ct.mma(x, y, total)
    ct.store(out, (0, 0), total)


@ct.kernel
def rounded_until_large(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same for f32 that is rounded to tf32."""
    total = ct.zeros((M, N), dtype=ct.float32)
    while ct.max(total).item() < 300.0:
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (0, k), (M, K), padding_mode=ZERO).astype(ct.tfloat32)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO).astype(ct.tfloat32)
            total = ct.mma(x, y, total)
    ct.store(out, (0, 0), total)


@ct.kernel
def of_a_sequence(q, k, v, ends, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out[i] = (q[i] @ k.T) @ v of the rows of sequence i, which a launch cannot know."""
    i = ct.bid(0)
    start, end = ct.load(ends, (i,), (1,)).item(), ct.load(ends, (i + 1,), (1,)).item()
    if start == end:
        return
    keys, values = k.slice(0, start, end), v.slice(0, start, end)
    x = ct.load(q, (i, 0), (M, D))
    acc = ct.zeros((M, D), dtype=ct.float32)
    for j in range(ct.cdiv(end - start, N)):
        y = ct.load(keys, (j, 0), (N, D), padding_mode=ZERO, allow_tma=False)
        scores = ct.mma(x, ct.transpose(y), ct.zeros((M, N), dtype=ct.float32))
        acc = ct.mma(scores.astype(v.dtype), ct.load(values, (j, 0), (N, D), padding_mode=ZERO, allow_tma=False), acc)
    ct.store(out, (i, 0), acc)


@ct.kernel
def in_two_loops(q, k, v, ends, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """The same in a loop over whole tiles, and one over the rest."""
    i = ct.bid(0)
    start, end = ct.load(ends, (i,), (1,)).item(), ct.load(ends, (i + 1,), (1,)).item()
    keys, values = k.slice(0, start, end), v.slice(0, start, end)
    x, whole = ct.load(q, (i, 0), (M, D)), (end - start) // N
    acc = ct.zeros((M, D), dtype=ct.float32)
    for j in range(whole):
        scores = ct.mma(
            x, ct.transpose(ct.load(keys, (j, 0), (N, D), allow_tma=False)), ct.zeros((M, N), dtype=ct.float32)
        )
        acc = ct.mma(scores.astype(v.dtype), ct.load(values, (j, 0), (N, D), allow_tma=False), acc)
    for j in range(whole, ct.cdiv(end - start, N)):
        y = ct.load(keys, (j, 0), (N, D), padding_mode=ZERO, allow_tma=False)
        scores = ct.mma(x, ct.transpose(y), ct.zeros((M, N), dtype=ct.float32))
        acc = ct.mma(scores.astype(v.dtype), ct.load(values, (j, 0), (N, D), padding_mode=ZERO, allow_tma=False), acc)
    ct.store(out, (i, 0), acc)


@ct.kernel
def of_experts(x, y, sizes, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out[i] = x.T @ y of the rows of expert i, which a launch cannot know; some have none."""
    end, columns, others = 0, ct.arange(M, dtype=ct.int32), ct.arange(N, dtype=ct.int32)
    for i in range(sizes.shape[0]):
        start, end = end, end + ct.load(sizes, (i,), (1,)).item()
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.cdiv(end - start, K)):
            row = start + k * K + ct.arange(K, dtype=ct.int32)
            row = ct.where(row < end, row, x.shape[0])
            left = ct.gather(x, (row[None, :], columns[:, None]), check_bounds=True, padding_value=0)
            right = ct.gather(y, (row[:, None], others[None, :]), check_bounds=True, padding_value=0)
            acc = ct.mma(left, right, acc)
        ct.store(out, (i, 0), acc)


@ct.kernel
def split(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt, STEPS: ConstInt):
    """out += a @ b, parts of k added atomically by one block after the other, which acquires what others have written."""
    for part in range(ct.bid(0), ct.cdiv(ct.num_tiles(a, axis=1, shape=(M, K)), STEPS), ct.num_blocks(0)):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(part * STEPS, part * STEPS + STEPS):
            x = ct.load(a, (0, k), (M, K), padding_mode=ZERO, allow_tma=False)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO, allow_tma=False)
            acc = ct.mma(x, y, acc)
        rows, columns = ct.arange(M, dtype=ct.int32), ct.arange(N, dtype=ct.int32)
        ct.atomic_add(out, (rows[:, None], columns[None, :]), acc)


@ct.kernel
def of_rows(q, k, v, table, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = f16(q @ k.T) @ v of the rows that a table names."""
    queries, width = ct.load(q, (0, 0), (M, D)), ct.arange(D, dtype=ct.int32)[None, :]
    acc = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(table, axis=0, shape=(N,))):
        rows = ct.load(table, (step,), (N,))[:, None]
        scores = ct.mma(queries, ct.transpose(ct.gather(k, (rows, width))), ct.zeros((M, N), dtype=ct.float32))
        acc = ct.mma(scores.astype(ct.float16), ct.gather(v, (rows, width)), acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def of_pages(q, k, v, table, out, PAGES: ConstInt, ROWS: ConstInt, D: ConstInt, HEADS: ConstInt):
    """out = v.T @ f16(k @ q.T) of the pages that a table names, several in each iteration."""
    queries = ct.load(q, (0, 0), (HEADS, D)).transpose()
    acc = ct.zeros((D, HEADS), dtype=ct.float32)
    for step in range(ct.num_tiles(table, axis=0, shape=(PAGES,))):
        places = ct.gather(table, (step * PAGES + ct.arange(PAGES, dtype=ct.int32),))
        page = (places, ct.Slice(0, ROWS), ct.Slice(0, D))
        keys = ct.load_advanced_indexing(k, page, padding_mode=ZERO).reshape((PAGES * ROWS, D))
        scores = ct.mma(keys, queries, ct.zeros((PAGES * ROWS, HEADS), dtype=ct.float32))
        values = ct.load_advanced_indexing(v, page, padding_mode=ZERO).reshape((PAGES * ROWS, D))
        acc = ct.mma(values.transpose(), scores.astype(ct.float16), acc)
    ct.store(out, (0, 0), acc)


def _matrix(bytes: int, axis: int = -1, rank: int = 2) -> Array:
    """An array of f16 whose strides are multiples of so many bytes."""
    return Array("float16", rank, stride_divisible_by=bytes // 2, unit_stride=axis)


def _whole() -> Array:
    """One whose extents are multiples of 16 bytes, too."""
    return Array("float16", 2, stride_divisible_by=8, shape_divisible_by=8)


def _images() -> Array:
    return Array("float16", 4, stride_divisible_by=8, shape_divisible_by=(1, 1, 1, 16))


def _pages() -> Array:
    return Array("float16", 3, stride_divisible_by=8, shape_divisible_by=(1, 8, 8))


OUT = Array("float32", 2, stride_divisible_by=4)
TILE = (128, 64, 64)
CASES = [
    Case("by_4_bytes", matmul, (_matrix(4), _matrix(4), OUT, *TILE)),
    Case("right_by_2_bytes", matmul, (_matrix(4), _matrix(2), OUT, *TILE)),
    Case("by_2_bytes", matmul, (_matrix(2), _matrix(2), OUT, *TILE)),
    Case("left_by_tma", matmul, (_matrix(16), _matrix(8), OUT, *TILE)),
    Case("without_tma", matmul_without_tma, (_matrix(16), _matrix(16), OUT, *TILE)),
    Case("converted", converted, (Array("float32", 2, stride_divisible_by=4), _matrix(16), OUT, *TILE)),
    Case("batched", batched, (_matrix(4, rank=3), _matrix(8, rank=3), Array("float32", 3), *TILE)),
    Case("small_matrices", small_matrices, (_matrix(16, rank=3), _matrix(16, rank=3), Array("float32", 3), 8, 16)),
    Case("convolved", convolved, (_images(), _whole(), OUT, 12, 16, *TILE)),
    Case("gathered", gathered, (_matrix(16), _matrix(16), OUT, *TILE)),
    Case("gathered_whole", gathered, (_whole(), _whole(), OUT, *TILE)),
    Case("gathered_both", gathered_both, (_whole(), _whole(), OUT, 128, 128, 128)),
    Case("scaled", scaled, (_whole(), _whole(), Array("float32", 2), OUT, *TILE)),
    Case("of_a_sequence", of_a_sequence, (*[_matrix(16)] * 3, Array("int32", 1), OUT, 128, 32, 64)),
    Case("in_two_loops", in_two_loops, (*[_matrix(16)] * 3, Array("int32", 1), OUT, 128, 128, 128)),
    Case("of_experts", of_experts, (_whole(), _whole(), Array("int32", 1), OUT, 128, 64, 64)),
    Case("split", split, (_whole(), _whole(), OUT, *TILE, 6)),
    Case("of_rows", of_rows, (*[_whole()] * 3, Array("int32", 1), OUT, 128, 32, 64)),
    Case("of_pages", of_pages, (_whole(), *[_pages()] * 2, Array("int32", 1), OUT, 4, 32, 64, 16)),
    Case(
        "rounded_until_large",
        rounded_until_large,
        (*[Array("float32", 2, stride_divisible_by=4)] * 2, OUT, 128, 64, 32),
    ),
    Case("until_large", until_large, (_matrix(16), _matrix(16), OUT, *TILE)),
]
