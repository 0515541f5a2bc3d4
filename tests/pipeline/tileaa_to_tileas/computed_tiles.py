"""Element-wise kernels that load several tiles: with much or little computation, at loaded addresses, and with more than registers hold."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


@ct.kernel
def gradients(dy, x, scale, dx, dscale, N: ConstInt, T: ConstInt):
    """Gradients of x * sigmoid(x) * scale, row by row; each row has one part."""
    row, columns = ct.bid(0), ct.arange(T, dtype=ct.int32)
    for part in range(ct.cdiv(N, T)):
        at = row, part * T + columns
        g = ct.gather(x, at, padding_value=0).astype(ct.float32)
        s = 1 / (1 + ct.exp(-g))
        value = g * s
        d = ct.gather(dy, at, padding_value=0).astype(ct.float32)
        ct.scatter(dscale, at, (d * value).astype(dscale.dtype))
        by = ct.gather(scale, at, padding_value=0).astype(ct.float32)
        ct.scatter(dx, at, (d * by * (s + value * (1 - s))).astype(dx.dtype))


@ct.kernel
def chosen_gradients(dy, x, scale, dx, dscale, T: ConstInt):
    """The same, of one part; a single row of scales is for all rows."""
    row, columns = ct.bid(0), ct.arange(T, dtype=ct.int32)
    of_scale = row
    if scale.shape[0] == 1:
        of_scale = 0
    g = ct.gather(x, (row, columns), padding_value=0).astype(ct.float32)
    s = 1 / (1 + ct.exp(-g))
    value = g * s
    d = ct.gather(dy, (row, columns), padding_value=0).astype(ct.float32)
    ct.scatter(dscale, (row, columns), (d * value).astype(dscale.dtype))
    by = ct.gather(scale, (of_scale, columns), padding_value=0).astype(ct.float32)
    ct.scatter(dx, (row, columns), (d * by * (s + value * (1 - s))).astype(dx.dtype))


@ct.kernel
def rotated(q, k, T: ConstInt):
    """The halves of rows of q, then of k, in place: (a + 2 b, b - 2 a)."""
    _rotate(q, T)
    _rotate(k, T)


def _rotate(rows, T: ConstInt):
    a, b = ct.load(rows, (ct.bid(0), 0), (1, T)), ct.load(rows, (ct.bid(0), 1), (1, T))
    ct.store(rows, (ct.bid(0), 0), a + b * 2.0 + a * b * 0.0)
    ct.store(rows, (ct.bid(0), 1), b - a * 2.0 + a * b * 0.0)


@ct.kernel
def added(x, y, out, T: ConstInt):
    """out = x + y."""
    at = ct.bid(0), ct.arange(T, dtype=ct.int32)
    ct.scatter(out, at, ct.gather(x, at, padding_value=0) + ct.gather(y, at, padding_value=0))


@ct.kernel
def looked_up(x, rows, out, T: ConstInt):
    """out = softplus of softplus of the row of x that a table names."""
    columns = ct.arange(T, dtype=ct.int32)
    g = ct.gather(x, (ct.gather(rows, ct.bid(0)), columns), padding_value=0)
    for _ in range(1):
        g = ct.log(1 + ct.exp(ct.log(1 + ct.exp(g)) * 0.5 + 1) * 0.5 + g * g * 0.25 + ct.exp(-g * g) * 2)
    ct.scatter(out, (ct.bid(0), columns), g)


_ROWS = Array("float16", 2, stride_divisible_by=8)
_FLOATS = Array("float32", 2, stride_divisible_by=4)
_GATED = (_ROWS, _ROWS, _ROWS, _ROWS, _ROWS)
CASES = [
    Case("gradients", gradients, (*_GATED, 200, 256)),
    Case("gradients_in_parts", gradients, (*_GATED, 200, 128)),
    Case("long_gradients", gradients, (*_GATED, 8192, 8192)),
    Case("chosen_gradients", chosen_gradients, (*_GATED, 256)),
    Case("rotated", rotated, (_FLOATS, _FLOATS, 256)),
    Case("added", added, (_ROWS, _ROWS, _ROWS, 256)),
    Case("looked_up", looked_up, (_FLOATS, Array("int32", 1), _FLOATS, 256)),
]
