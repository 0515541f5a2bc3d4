"""Products of mma.sync whose tiles are several steps of the instruction along k."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, by as many blocks as there are."""
    rows = ct.num_tiles(out, axis=0, shape=(M, N))
    for tile in range(ct.bid(0), rows * ct.num_tiles(out, axis=1, shape=(M, N)), ct.num_blocks(0)):
        row, column = tile % rows, tile // rows
        acc = ct.zeros((M, N), dtype=out.dtype)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, column), acc)


@ct.kernel
def of_transposed(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b.T of both rounded to tf32."""
    acc = ct.zeros((M, N), dtype=out.dtype)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (ct.bid(0), k), (M, K), padding_mode=ZERO).astype(ct.tfloat32)
        y = ct.load(b, (0, k), (N, K), padding_mode=ZERO).astype(ct.tfloat32)
        acc = ct.mma(x, ct.permute(y, (1, 0)), acc)
    ct.store(out, (ct.bid(0), 0), acc)


@ct.kernel
def batched(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out[i] = a[i] @ b[i]."""
    acc = ct.zeros((M, N), dtype=out.dtype)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, M, K))):
        x = ct.reshape(ct.load(a, (ct.bid(0), 0, k), (1, M, K), padding_mode=ZERO), (M, K))
        y = ct.reshape(ct.load(b, (ct.bid(0), k, 0), (1, K, N), padding_mode=ZERO), (K, N))
        acc = ct.mma(x, y, acc)
    ct.store(out, (ct.bid(0), 0, 0), ct.reshape(acc, (1, M, N)))


def _case(name, kernel, dtype, tile, out="float32", rank=2):
    arrays = [Array(kind, rank, stride_divisible_by=16) for kind in (dtype, dtype, out)]
    return Case(name, kernel, (*arrays, *tile))


CASES = [
    _case("f16", matmul, "float16", (128, 256, 64)),
    _case("f16_half_acc", matmul, "float16", (64, 64, 32), "float16"),
    _case("f8", matmul, "float8_e4m3fn", (64, 64, 64)),
    _case("i8", matmul, "int8", (64, 64, 64), "int32"),
    _case("f64", matmul, "float64", (32, 32, 16), "float64"),
    _case("tf32_transposed", of_transposed, "float32", (64, 32, 32)),
    _case("batched", batched, "float16", (64, 64, 32), rank=3),
]
