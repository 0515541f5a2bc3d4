"""Products of bytes with operands that lie along m or n in memory, which wgmma does not read."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
BY_ROWS, BY_COLUMNS = -1, 0


@ct.kernel
def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b."""
    acc = ct.zeros((M, N), dtype=ct.int32 if a.dtype in (ct.int8, ct.uint8) else ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc.astype(out.dtype))


@ct.kernel
def in_halves(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, summed in f16."""
    acc = ct.zeros((M, N), dtype=ct.float16)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def chained(a, b, c, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = sum of (a @ b.T) / 8 @ c over tiles, the first dot rounded to fp8, as in attention without softmax."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    x = ct.load(a, (0, 0), (M, K))
    for k in range(ct.num_tiles(b, axis=0, shape=(K, K))):
        y = ct.load(b, (k, 0), (K, K)).transpose()
        p = ct.mma(x, y, ct.zeros((M, K), dtype=ct.float32))
        z = ct.load(c, (k, 0), (K, N))
        acc = ct.mma((p * 0.125).astype(c.dtype), z, acc)
    ct.store(out, (0, 0), acc)


def _array(unit_axis: int = BY_ROWS, dtype: str = "float8_e4m3fn") -> Array:
    return Array(dtype, 2, unit_axis, stride_divisible_by=16, shape_divisible_by=16)


def _case(name: str, m: int, n: int, k: int, left=BY_ROWS, right=BY_ROWS, out="float32", kernel=matmul) -> Case:
    return Case(name, kernel, (_array(left), _array(right), _array(dtype=out), m, n, k))


def _integers(name: str, left: str, right: str) -> Case:
    return Case(name, matmul, (_array(dtype=left), _array(dtype=right), _array(dtype="int32"), 64, 128, 64))


def _chain(name: str, right: int) -> Case:
    return Case(name, chained, (_array(), _array(), _array(right), _array(dtype="float32"), 128, 64, 128))


CASES = [
    _case("square", 128, 128, 64),
    _case("square_f16", 128, 128, 64, out="float16"),
    _case("shallow", 64, 64, 32),
    _case("deep", 64, 64, 128),
    _case("wide", 64, 256, 128),
    _case("large", 128, 256, 64, out="float16"),
    _case("tall", 256, 64, 64),
    _case("left", 128, 64, 64, BY_COLUMNS, BY_COLUMNS),
    _case("left_tall", 256, 64, 32, BY_COLUMNS, BY_COLUMNS),
    _case("in_halves", 64, 128, 64, out="float16", kernel=in_halves),
    _integers("integers", "int8", "int8"),
    _integers("unsigned_right", "int8", "uint8"),
    _integers("unsigned_left", "uint8", "int8"),
    _case("both", 64, 64, 64, BY_COLUMNS, BY_ROWS),
    _case("narrow", 64, 32, 64),
    _chain("chained", BY_ROWS),
    _chain("chained_by_columns", BY_COLUMNS),
]
