"""Kernels whose rows wait in shared memory: too long for the registers of two CTAs."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
LENGTH = 32768


@ct.kernel
def shares(x, out, TILE_N: ConstInt):
    """out = exp(x - max x) / sum(exp(x - max x)), a row for each block."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N)).astype(ct.float32)
    powers = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), (powers / ct.sum(powers, axis=1, keepdims=True)).astype(out.dtype))


@ct.kernel
def centered(x, out, TILE_N: ConstInt):
    """out = (x - mean x) / sqrt(its mean square), a row for each block; x is used behind both reductions."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N)) * 2
    middle = row - ct.sum(row, axis=1, keepdims=True) / TILE_N
    square = ct.sum(middle * middle, axis=1, keepdims=True) / TILE_N
    ct.store(out, (ct.bid(0), 0), middle * ct.rsqrt(square) + row)


@ct.kernel
def normal(x, factor, shift, out, TILE_N: ConstInt):
    """out = (x - mean x) / sqrt(its mean square) * factor + shift, a row for each block."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE_N)).astype(ct.float32)
    middle = row - ct.sum(row, axis=1, keepdims=True) / TILE_N
    unit = middle * ct.rsqrt(ct.sum(middle * middle, axis=1, keepdims=True) / TILE_N)
    factors = ct.load(factor, (0,), (TILE_N,)).astype(ct.float32).reshape((1, TILE_N))
    shifts = ct.load(shift, (0,), (TILE_N,)).astype(ct.float32).reshape((1, TILE_N))
    ct.store(out, (ct.bid(0), 0), (unit * factors + shifts).astype(out.dtype))


@ct.kernel(occupancy=4)
def looped(x, out, TILE_N: ConstInt):
    """``shares`` of a row in each iteration; registers suffice for one of the four CTAs."""
    columns = ct.arange(TILE_N, dtype=ct.int32)
    for number in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        row = ct.gather(x, (number, columns), check_bounds=False).astype(ct.float32)
        powers = ct.exp(row - ct.max(row, axis=0, keepdims=True))
        total = ct.sum(powers, axis=0, keepdims=True)
        shares = ct.truediv(powers, total, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)
        ct.scatter(out, (number, columns), shares.astype(out.dtype), check_bounds=False)


def _case(name: str, kernel, dtype: str) -> Case:
    array = Array(dtype, 2, stride_divisible_by=16, shape_divisible_by=(1, LENGTH))
    return Case(name, kernel, (array, array, LENGTH))


ROWS = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=(1, 1024))
VECTOR = Array("float16", 1, shape_divisible_by=1024)


CASES = [
    _case("shares", shares, "float16"),
    _case("shares_bf16", shares, "bfloat16"),
    _case("centered", centered, "float32"),
    Case("has_boundary_tile", shares, (ROWS, ROWS, LENGTH)),
    _case("looped", looped, "float32"),
    Case("normal", normal, (ROWS, VECTOR, VECTOR, ROWS, LENGTH)),
]
