"""Dots whose tiles are so deep along k that shared memory does not hold those of two iterations everywhere."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b; f32 is rounded to tf32."""
    dtype = ct.tfloat32 if a.dtype == ct.float32 else a.dtype
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO).astype(dtype)
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO).astype(dtype)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def stacked(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a[1] @ b[1].T, from the third step on."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(2, ct.cdiv(a.shape[2], K)):
        x = ct.load(a, (1, ct.bid(0), k), (1, M, K), padding_mode=ZERO).reshape((M, K))
        y = ct.load(b, (1, k, ct.bid(1)), (1, K, N), order=(0, 2, 1), padding_mode=ZERO).reshape((K, N))
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def counted(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b + the sum of the steps' indices: the number of steps matters."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    steps = 0
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
        steps = steps + k
    ct.store(out, (ct.bid(0), ct.bid(1)), acc + steps)


@ct.kernel
def turning(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b with the tiles of b taken from the first rows in every step."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (0, ct.bid(1)), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def whole(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b with one tile along k, outside of loops."""
    x = ct.load(a, (ct.bid(0), 0), (M, K), padding_mode=ZERO)
    y = ct.load(b, (0, ct.bid(1)), (K, N), padding_mode=ZERO)
    ct.store(out, (ct.bid(0), ct.bid(1)), ct.mma(x, y, ct.zeros((M, N), dtype=ct.float32)))


@ct.kernel
def overwritten(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same, after which a is overwritten before the MMA."""
    x = ct.load(a, (ct.bid(0), 0), (M, K), padding_mode=ZERO)
    y = ct.load(b, (0, ct.bid(1)), (K, N), padding_mode=ZERO)
    ct.store(a, (ct.bid(0), 0), ct.zeros((M, K), dtype=a.dtype))
    ct.store(out, (ct.bid(0), ct.bid(1)), ct.mma(x, y, ct.zeros((M, N), dtype=ct.float32)))


@ct.kernel
def attending(q, k, v, out, HEADS: ConstInt, N: ConstInt, DEPTH: ConstInt, TWICE: ct.Constant[bool]):
    """out = v.T @ ((k @ q.T / 4) squared, in f16), halved in each step: whole rows of k and v are tiles; q, or its double, stays."""
    queries = ct.load(q, (0, 0), (HEADS, DEPTH)).transpose()
    queries = queries * 2 if TWICE else queries
    total = ct.zeros((DEPTH, HEADS), dtype=ct.float32)
    place = ct.bid(0)
    for _ in range(ct.cdiv(k.shape[0], N)):
        keys = ct.load(k, (place, 0), (N, DEPTH), padding_mode=ZERO)
        scores = ct.mma(keys, queries, ct.zeros((N, HEADS), dtype=ct.float32)) / 4
        values = ct.load(v, (place, 0), (N, DEPTH), padding_mode=ZERO).transpose()
        total = ct.mma(values, (scores * scores).astype(v.dtype), total / 2)
        place += 1
    ct.store(out, (0, 0), total)


@ct.kernel
def looped(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, all tiles by one block: results leave while the next tiles come."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, 0), acc)


def _rows(dtype: str, ndim: int = 2, divisor: int = 1) -> Array:
    return Array(dtype, ndim, stride_divisible_by=16, shape_divisible_by=divisor)


def _case(name, kernel, dtype, tiles, ndim=2, divisor=1) -> Case:
    array = _rows(dtype, ndim, divisor)
    return Case(name, kernel, (array, array, _rows("float32"), *tiles))


CASES = [
    _case("wide", matmul, "float16", (128, 256, 128)),
    _case("even", matmul, "float16", (128, 256, 128), divisor=128),
    _case("square_tf32", matmul, "float32", (128, 128, 128)),
    _case("long", stacked, "float16", (64, 128, 512), ndim=3),
    _case("counted", counted, "float16", (128, 256, 128)),
    _case("turning", turning, "float16", (128, 256, 128)),
    _case("looped", looped, "float16", (128, 256, 64)),
    _case("whole", whole, "float16", (64, 64, 512)),
    _case("overwritten", overwritten, "float16", (64, 64, 512)),
    _case("shallow", matmul, "float16", (256, 128, 32)),
    *(
        Case(name, attending, (*[_rows("float16")] * 3, _rows("float32"), 16, 128, depth, twice))
        for name, depth, twice in (
            ("attending", 512, False),
            ("attending_twice", 512, True),
            ("attending_small", 128, False),
        )
    ),
]
