"""Kernels that divide rows by one number each."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def divide_rows(x, divisors, out, TILE_N: ct.Constant[int]):
    """out = x / divisors, one row of TILE_N elements per block."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N))
    divisor = ct.load(divisors, (ct.bid(0),), (1,)).reshape((1, 1))
    ct.store(out, (ct.bid(0), 0), (row / divisor).astype(out.dtype))


@ct.kernel
def shares(x, out, TILE_N: ct.Constant[int]):
    """out = |x| / sum(|x|), one row of TILE_N elements per block."""
    row = ct.abs(ct.load(x, (ct.bid(0), 0), (1, TILE_N)))
    ct.store(out, (ct.bid(0), 0), (row / ct.sum(row, axis=1, keepdims=True)).astype(out.dtype))


@ct.kernel
def shares_of_others(x, out, TILE_N: ct.Constant[int]):
    """out = |x| / sum(|x|) of the row that has the column's number."""
    rows = ct.abs(ct.load(x, (0, 0), (TILE_N, TILE_N)))
    ct.store(out, (0, 0), (rows / ct.sum(rows, axis=1).reshape((1, TILE_N))).astype(out.dtype))


def _case(name: str, dtype: str, out: str) -> Case:
    matrices = (Array(kind, 2, shape_divisible_by=(1, 256)) for kind in (dtype, out))
    x, result = matrices
    return Case(name, divide_rows, (x, Array(dtype, 1), result, 256))


CASES = [
    _case("f32", "float32", "float32"),
    _case("f32_to_f16", "float32", "float16"),
    _case("f32_to_bf16", "float32", "bfloat16"),
    _case("f16", "float16", "float16"),
    _case("bf16", "bfloat16", "bfloat16"),
    Case("shares", shares, (Array("float32", 2, shape_divisible_by=(1, 256)), Array("float16", 2), 256)),
    Case("shares_of_others", shares_of_others, (Array("float32", 2), Array("float16", 2), 16)),
]
