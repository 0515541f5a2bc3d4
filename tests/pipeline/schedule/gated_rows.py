"""Kernels that load much in each thread: gated and mixed rows, a copy, and rows that a loop reduces."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def gated(a, b, out, N: ConstInt, TILE: ConstInt):
    """Rows of a times those of b, each element by the square of that of a plus one."""
    columns = ct.arange(TILE, dtype=ct.int32)
    for step in range(ct.cdiv(N, TILE)):
        place = (ct.bid(0), step * TILE + columns)
        gate = ct.gather(a, place, padding_value=0).astype(ct.float32)
        other = ct.gather(b, place, padding_value=0).astype(ct.float32)
        ct.scatter(out, place, ((gate * gate + 1.0) * gate * other).astype(out.dtype))


@ct.kernel
def gradients(x, gate, out, of_x, of_gate, TILE: ConstInt):
    """Gradients of both factors of a gated row: many values of an element are live at once."""
    place = (ct.bid(0), ct.arange(TILE, dtype=ct.int32))
    c = ct.gather(out, place).astype(ct.float32)
    a = ct.gather(x, place).astype(ct.float32)
    b = ct.gather(gate, place).astype(ct.float32)
    ct.scatter(of_x, place, (c * (a * a * (1.0 - a) + a) * b).astype(of_x.dtype))
    ct.scatter(of_gate, place, (c * a * a).astype(of_gate.dtype))


@ct.kernel
def mixed(x, weights, out, TILE: ConstInt):
    """Eight rows, each a weighted sum of those of x, which a loop loads one after the other."""
    total = ct.zeros((8, TILE), dtype=ct.float32)
    for j in range(8):
        row = ct.load(x, (j, ct.bid(0)), (1, TILE)).astype(ct.float32)
        total = total + row * ct.load(weights, (0, j), (8, 1)).astype(ct.float32)
    ct.store(out, (0, ct.bid(0)), total.astype(out.dtype))


@ct.kernel
def copied(a, out, TILE: ConstInt):
    ct.store(out, (ct.bid(0),), ct.load(a, (ct.bid(0),), (TILE,)))


@ct.kernel
def bounded(a, weights, bias, out, TILE: ConstInt):
    """Rows of a by functions that are bounded, times weights, with a bias: each value replaces the one before."""
    columns = ct.arange(TILE, dtype=ct.int32)
    by, more = ct.gather(weights, columns), ct.gather(bias, columns)
    x = ct.gather(a, (ct.bid(0), columns))
    ct.scatter(out, (ct.bid(0), columns), by * ct.tanh(x * 2.0) + more)


@ct.kernel
def reduced(a, out, TILE: ConstInt):
    """The total of each row."""
    columns, total = ct.arange(TILE, dtype=ct.int32), ct.zeros((TILE,), dtype=ct.float32)
    for step in range(ct.cdiv(a.shape[1], TILE)):
        total = total + ct.gather(a, (ct.bid(0), step * TILE + columns)).astype(ct.float32)
    ct.scatter(out, ct.bid(0), ct.sum(total).astype(out.dtype))


@ct.kernel
def held(a, out, TILE: ConstInt):
    """The total of each row's elements above the least of their tile."""
    total = ct.zeros((1, TILE), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(1, TILE))):
        row = ct.load(a, (ct.bid(0), step), (1, TILE), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        total = total + (row - ct.min(row, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0),), ct.sum(total, axis=1).astype(out.dtype))


def _matrix(dtype: str, ndim: int) -> Array:
    return Array(dtype, ndim, stride_divisible_by=16, shape_divisible_by=(1, 16)[-ndim:])


CASES = [
    *(
        Case(name, gated, (_matrix("float16", 2),) * 3 + (5120, tile))
        for name, tile in (("long", 4096), ("short", 256))
    ),
    Case("gradients", gradients, (_matrix("float16", 2),) * 5 + (4096,)),
    Case("mixed", mixed, (_matrix("float16", 2),) * 3 + (1024,)),
    Case("bytes", gated, (_matrix("int8", 2),) * 3 + (5120, 4096)),
    Case("bounded", bounded, (*(_matrix("float32", ndim) for ndim in (2, 1, 1, 2)), 2048)),
    Case("copied", copied, (_matrix("float16", 1),) * 2 + (16384,)),
    *(
        Case(name, kernel, (_matrix("float16", 2), _matrix("float16", 1), 2048))
        for name, kernel in (("reduced", reduced), ("held", held))
    ),
]
