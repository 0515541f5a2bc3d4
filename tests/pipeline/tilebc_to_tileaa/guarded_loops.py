"""A window of tiles around each program's own, at whose ends some lie outside of the array."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]
SIZE, TILES, REACH = 64, 3, 1


@ct.kernel
def window(x, y, out, SIZE: ConstInt, TILES: ConstInt, REACH: ConstInt):
    """out[i] = the total of (y[j] x[i])^T y[j] for tiles j of y up to ``REACH`` from i, as far as y has them."""
    own = ct.load(x, (ct.bid(0), 0), (SIZE, SIZE))
    total = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    for step in range(2 * REACH + 1):
        place = ct.bid(0) + step - REACH
        if (place >= 0) and (place < TILES):
            near = ct.load(y, (place, 0), (SIZE, SIZE))
            scores = ct.mma(near, own, ct.zeros((SIZE, SIZE), dtype=ct.float32))
            total = ct.mma(ct.transpose(scores).astype(y.dtype), near, total)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def shared_window(x, y, out, SIZE: ConstInt, TILES: ConstInt, REACH: ConstInt):
    """out[i] = (x[i] y[j]) y[j]^T + (x[0] y[j]) y[j]^T, over the same tiles j."""
    own, first = ct.load(x, (ct.bid(0), 0), (SIZE, SIZE)), ct.load(x, (0, 0), (SIZE, SIZE))
    zeros = ct.zeros((SIZE, SIZE), dtype=ct.float32)
    total, other = zeros, zeros
    for step in range(2 * REACH + 1):
        place = ct.bid(0) + step - REACH
        if (place >= 0) and (place < TILES):
            near = ct.load(y, (place, 0), (SIZE, SIZE))
            total = ct.mma(ct.mma(own, near, zeros).astype(y.dtype), ct.transpose(near), total)
            other = ct.mma(ct.mma(first, near, zeros).astype(y.dtype), ct.transpose(near), other)
    ct.store(out, (ct.bid(0), 0), total + other)


MATRIX = Array("float16", 2, stride_divisible_by=16, shape_divisible_by=(64, 64))
RESULT = Array("float32", 2, stride_divisible_by=16, shape_divisible_by=(64, 64))
OPERANDS = (MATRIX, MATRIX, RESULT, SIZE, TILES, REACH)
CASES = [Case("window", window, OPERANDS), Case("shared_window", shared_window, OPERANDS)]
