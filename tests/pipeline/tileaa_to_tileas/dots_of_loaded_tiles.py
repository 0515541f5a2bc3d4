"""Dots whose operands a warp of their own fetches: accumulators that run, that start from a tile, that are read each time."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=out.dtype)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def matmul_tf32(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b with both rounded to tf32."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO).astype(ct.tfloat32)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO).astype(ct.tfloat32)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


@ct.kernel(occupancy=2)
def product_of_two(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b; two blocks share an SM."""
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def nested(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, all tiles of rows by one block."""
    for row in range(ct.num_tiles(a, axis=0, shape=(M, K))):
        acc = ct.zeros((M, N), dtype=out.dtype)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(out, (row, 0), acc)


@ct.kernel
def added(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = out + a @ b."""
    acc = ct.load(out, (0, 0), (M, N))
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def after_a_flag(flag, a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b, once another kernel has set the flag."""
    while ct.atomic_add(flag, (0,), 0, memory_order=ct.MemoryOrder.ACQUIRE) == 0:
        pass
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def forbidden(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b without TMA for the right operand."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO, allow_tma=False)
        acc = ct.mma(x, y, acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def in_place(a, b, M: ConstInt, K: ConstInt):
    """a = a @ b, tile by tile: each dot reads what the one before wrote."""
    for step in range(2):
        acc = ct.zeros((M, K), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, K), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(a, (0, 0), acc.astype(a.dtype))


@ct.kernel
def many_loops(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = 8 a @ b, a loop for each time."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for _ in ct.static_iter(range(8)):
        for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
            x = ct.load(a, (0, k), (M, K), padding_mode=ZERO)
            y = ct.load(b, (k, 0), (K, N), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def chained(q, k, v, out, M: ConstInt, N: ConstInt, D: ConstInt):
    """out = f(q @ k.T) @ v with f(x) = x * x: the left operand of the second dot comes from registers."""
    left = ct.load(q, (ct.bid(0), 0), (M, D), padding_mode=ZERO)
    acc = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(N, D))):
        keys = ct.load(k, (0, step), (D, N), order="F", padding_mode=ZERO)
        scores = ct.mma(left, keys, ct.zeros((M, N), dtype=ct.float32))
        values = ct.load(v, (step, 0), (N, D), padding_mode=ZERO)
        acc = ct.mma((scores * scores).astype(v.dtype), values, acc * 0.5)
    ct.store(out, (ct.bid(0), 0), acc)


@ct.kernel
def computed_left(a, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = (2 a) @ b, both rounded if they are f32."""
    dtype = ct.tfloat32 if a.dtype == ct.float32 else a.dtype
    row, column = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (k, column), (K, N), padding_mode=ZERO)
        acc = ct.mma((x + x).astype(dtype), y.astype(dtype), acc)
    ct.store(out, (row, column), acc)


def looked_up_function(a, order, groups, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a[order] @ b[group], with a group for each tile of rows, read from memory."""
    row, column = ct.bid(0), ct.bid(1)
    group = ct.load(groups, (row,), ())
    lines = ct.gather(order, row * M + ct.arange(M, dtype=ct.int32))
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], K)):
        x = ct.gather(a, (lines[:, None], (k * K + ct.arange(K, dtype=ct.int32))[None, :]))
        y = ct.load(b, (group, k, column), (1, K, N), padding_mode=ZERO).reshape((K, N))
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


looked_up = ct.kernel(looked_up_function)
looked_up_by_two_ctas = ct.kernel(num_ctas=2)(looked_up_function)


@ct.kernel
def looked_up_twice(a, order, groups, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """The same for whole rows of a, where ``order`` says the group of the group."""
    row, column = ct.bid(0), ct.bid(1)
    group = ct.load(order, (ct.load(groups, (row,), ()),), ())
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (group, k, column), (1, K, N), padding_mode=ZERO).reshape((K, N))
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


@ct.kernel
def looked_up_late(a, order, groups, b, out, M: ConstInt, N: ConstInt, K: ConstInt):
    """out = a @ b[2], where the kernel itself writes the number of the group."""
    row, column = ct.bid(0), ct.bid(1)
    ct.store(groups, (row,), ct.full((1,), 2, dtype=ct.int32))
    group = ct.load(groups, (row,), ())
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        x = ct.load(a, (row, k), (M, K), padding_mode=ZERO)
        y = ct.load(b, (group, k, column), (1, K, N), padding_mode=ZERO).reshape((K, N))
        acc = ct.mma(x, y, acc)
    ct.store(out, (row, column), acc)


def rows(dtype: str) -> Array:
    return Array(dtype, 2, stride_divisible_by=16)


def columns(dtype: str) -> Array:
    return Array(dtype, 2, unit_stride=0, stride_divisible_by=16)


def _looked_up(name, kernel, tiles) -> Case:
    stack = Array("float16", 3, stride_divisible_by=16)
    return Case(name, kernel, (rows("float16"), Array("int32", 1), Array("int32", 1), stack, rows("float32"), *tiles))


def _case(name, kernel, dtype, tiles, out="float32", right=rows, left=rows) -> Case:
    return Case(name, kernel, (left(dtype), right(dtype), rows(out), *tiles))


CASES = [
    _case("f16_rows", matmul, "float16", (128, 128, 64)),
    _case("f16_columns", matmul, "float16", (128, 64, 32), right=columns),
    _case("bf16_wide", matmul, "bfloat16", (128, 256, 64)),
    _case("f16_tall", matmul, "float16", (256, 128, 64)),
    _case("f16_square", matmul, "float16", (256, 256, 32)),
    _case("f16_of_two", product_of_two, "float16", (128, 128, 64)),
    _case("f16_wide_of_two", product_of_two, "float16", (128, 256, 64)),
    _case("f16_deep", matmul, "float16", (128, 32, 128), right=columns),
    _case("f16_half_acc", matmul, "float16", (128, 64, 64), "float16"),
    _case("f16_half_short", matmul, "float16", (64, 64, 64), "float16"),
    _case("f16_half_tall", matmul, "float16", (256, 128, 64), "float16"),
    _case("f8_half_acc", matmul, "float8_e4m3fn", (128, 64, 64), "float16", right=columns),
    _case("f8_columns", matmul, "float8_e4m3fn", (128, 64, 64), right=columns),
    _case("f8_rows", matmul, "float8_e4m3fn", (128, 256, 64)),
    _case("f8_turned", matmul, "float8_e5m2", (128, 64, 64), left=columns),
    _case("i8_rows", matmul, "int8", (128, 32, 128), "int32"),
    _case("i8_columns", matmul, "int8", (128, 64, 64), "int32", right=columns),
    _case("tf32_columns", matmul_tf32, "float32", (128, 64, 32), right=columns),
    _case("tf32_rows", matmul_tf32, "float32", (128, 128, 32)),
    _case("tf32_tall", matmul_tf32, "float32", (256, 64, 16), right=columns),
    _case("f16_short", matmul, "float16", (64, 64, 64)),
    _case("f16_short_wide", matmul, "float16", (64, 256, 64)),
    _case("f8_short", matmul, "float8_e5m2", (64, 128, 64), right=columns),
    _case("i8_short", matmul, "int8", (64, 32, 64), "int32", right=columns),
    _case("computed_left_short", computed_left, "float16", (64, 64, 64)),
    _case("computed_left_tf32_short", computed_left, "float32", (64, 64, 32)),
    Case("chained_short", chained, (rows("float16"),) * 3 + (rows("float32"), 64, 64, 64)),
    _case("nested_short", nested, "float16", (64, 64, 32)),
    _case("tf32_turned", matmul_tf32, "float32", (64, 64, 32), right=columns, left=columns),
    _case("tf32_both_turned", matmul_tf32, "float32", (128, 64, 32), left=columns),
    _case("computed_left", computed_left, "float16", (128, 64, 64)),
    _case("computed_left_tf32", computed_left, "float32", (128, 64, 32), right=columns),
    _case("nested", nested, "float16", (128, 64, 32)),
    _case("nested_half", nested, "float16", (128, 64, 32), "float16"),
    _case("added_half", added, "float16", (128, 64, 32), "float16"),
    _case("added", added, "float16", (128, 64, 32)),
    _case("forbidden", forbidden, "float16", (128, 64, 32)),
    Case("after_a_flag", after_a_flag, (Array("int32", 1), *(rows("float16"),) * 2, rows("float32"), 128, 64, 32)),
    Case("many_loops", many_loops, (*(Array("float16", 2),) * 2, rows("float32"), 64, 64, 128)),
    Case("in_place", in_place, (rows("float16"), rows("float16"), 128, 64)),
    _looked_up("looked_up", looked_up, (128, 64, 64)),
    _looked_up("looked_up_by_two_ctas", looked_up_by_two_ctas, (256, 64, 64)),
    _looked_up("looked_up_twice", looked_up_twice, (128, 64, 64)),
    _looked_up("looked_up_late", looked_up_late, (128, 64, 64)),
    Case("chained", chained, (rows("float16"),) * 3 + (rows("float32"), 128, 64, 64)),
]
