"""A convolution whose loop gathers each element by an address of its own."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
SIZE = 64  # of tiles
EXTENT = 8  # of the rows and columns of a result, which a block has all of
FILTER = 2
CHANNELS = 32


@ct.kernel
def convolution(x, w, out, C: ConstInt, R: ConstInt, T: ConstInt):
    """out = w * x of one image, by implicit GEMM; a column of x's tile is a channel and a place in the filter."""
    pixels = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    rows, columns = pixels // EXTENT, pixels % EXTENT
    total = ct.zeros((T, T), dtype=ct.float32)
    for k in range(ct.cdiv(C * R * R, T)):
        at = k * T + ct.arange(T, dtype=ct.int32)
        channel, place = at // (R * R), at % (R * R)
        y, z = rows[:, None] + (place // R)[None, :], columns[:, None] + (place % R)[None, :]
        left = ct.gather(x, (channel[None, :], y, z), padding_value=0)
        total = ct.mma(left, ct.load(w, (0, k), (T, T)).transpose(), total)
    ct.store(out, (ct.bid(0), 0), total)


INPUT, OUTPUT = (
    Array("float16", 2, stride_divisible_by=8, shape_divisible_by=8),
    Array("float32", 2, stride_divisible_by=4),
)
CASES = [
    Case("convolution", convolution, (Array("float16", 3), INPUT, OUTPUT, CHANNELS, FILTER, SIZE)),
]
