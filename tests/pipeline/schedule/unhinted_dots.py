"""Matmuls of one large tile, without hints or with those that keep one CTA."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc.astype(out.dtype))


def persistent(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, in a loop over tiles."""
    columns = ct.cdiv(out.shape[1], N)
    for tile in range(ct.bid(0), ct.cdiv(out.shape[0], M) * columns, ct.num_blocks(0)):
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (tile // columns, k), (M, K), padding_mode=ZERO)
            acc = ct.mma(x, ct.load(b, (k, tile % columns), (K, N), padding_mode=ZERO), acc)
        ct.store(out, (tile // columns, tile % columns), acc.astype(out.dtype))


def added(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out += a @ b: the accumulator starts from a tile."""
    acc = ct.load(out, (ct.bid(0), ct.bid(1)), (M, N)).astype(ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(ct.load(a, (ct.bid(0), k), (M, K)), ct.load(b, (k, ct.bid(1)), (K, N)), acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc.astype(out.dtype))


def doubled(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = 2 a @ b: threads compute the left operand."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        acc = ct.mma(x + x, ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO), acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc.astype(out.dtype))


def converted(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b of fp8, which threads convert."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO).astype(a.dtype)
        acc = ct.mma(ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO), y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc.astype(out.dtype))


def stored_twice(a, b, out, turned, M: ConstInt, N: ConstInt, K: ConstInt):
    """out += a @ b, and turned = out.T."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        acc = ct.mma(x, ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO), acc)
    tile = (acc + ct.load(out, (ct.bid(0), ct.bid(1)), (M, N)).astype(ct.float32)).astype(out.dtype)
    ct.store(out, (ct.bid(0), ct.bid(1)), tile)
    ct.store(turned, (ct.bid(0), ct.bid(1)), tile, order=(1, 0))


def scaled_columns(a, b, scales, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (a @ b) * scales, one for each column; threads convert b."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO).astype(a.dtype)
        acc = ct.mma(ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO), y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), (acc * ct.load(scales, (0, ct.bid(1)), (1, N))).astype(out.dtype))


F16 = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=16)
F32 = Array("float32", 2, stride_divisible_by=16, shape_divisible_by=(1, 16))
UNALIGNED = Array("float16", 2)
F8 = Array("float8_e4m3fn", 2, stride_divisible_by=16, shape_divisible_by=16)


def _case(name, m, n, kernel=matmul, array=F16, **hints) -> Case:
    return Case(name, ct.kernel(**hints)(kernel), (array, array, F16, m, n, 64))


CASES = [
    _case("doubled_unaligned", 256, 128, doubled, UNALIGNED, num_ctas=2),
    Case("converted", ct.kernel(converted), (F16, F8, F16, 128, 256, 64)),
    Case("stored_twice", ct.kernel(stored_twice), (F16, F16, F16, F16, 128, 128, 64)),
    Case("scaled_columns", ct.kernel(scaled_columns), (F16, F8, F32, F16, 128, 128, 64)),
    _case("square_in_a_cta", 128, 128),
    _case("tall", 256, 128),
    _case("square", 256, 256),
    _case("narrow", 256, 64),
    _case("wide", 128, 256),
    _case("persistent", 128, 256, persistent),
    _case("one_cta", 256, 128, num_ctas=1),
    _case("two_of_an_sm", 256, 128, occupancy=2),
    _case("from_a_tile", 256, 128, added),
    _case("without_tma", 256, 128, array=UNALIGNED),
]
