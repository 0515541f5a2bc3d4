"""Dots of fp8 that are long along k, at tile sizes with one and with several partial sums along k."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def started(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (out doubled + a @ b of a tile) again and again: each dot adds to what the loop has computed."""
    acc = ct.load(out, (0, 0), (M, N))
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc * 2.0)
    ct.store(out, (0, 0), acc)


@ct.kernel
def scaled(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = twice a @ b, each dot of which starts from zero, as where blocks have scales."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc += ct.mma(x, y, ct.zeros((M, N), dtype=ct.float32)) * 2.0
    ct.store(out, (0, 0), acc)


def _case(name: str, m: int, n: int, k: int, dtype="float8_e4m3fn", kernel=matmul) -> Case:
    arrays = [
        Array(type, 2, unit_axis, stride_divisible_by=16, shape_divisible_by=16)
        for type, unit_axis in ((dtype, -1), (dtype, 0), ("float32", -1))
    ]
    return Case(name, kernel, (*arrays, m, n, k))


CASES = [
    _case("square", 128, 128, 64),
    _case("shallow", 64, 64, 32),
    _case("narrow", 64, 16, 64),
    _case("deep", 64, 64, 256),
    _case("wide", 128, 256, 128),
    _case("tall", 256, 128, 64),
    _case("coarse", 64, 32, 128, "float8_e5m2"),
    _case("square_by_2", 128, 128, 64, kernel=matmul.replace_hints(occupancy=2)),
    _case("started", 64, 64, 128, kernel=started),
    _case("scaled", 64, 64, 128, kernel=scaled),
]
