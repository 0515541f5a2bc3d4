"""Reductions along an axis that several warps share, with several results for each thread."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

SHAPE = (2, 128, 64)


@ct.kernel
def middle_max(x, out):
    tile = ct.load(x, index=(0, 0, 0), shape=SHAPE)
    ct.store(out, index=(0, 0), tile=ct.max(tile, axis=1))


@ct.kernel
def middle_argmax(x, out):
    tile = ct.load(x, index=(0, 0, 0), shape=SHAPE)
    ct.store(out, index=(0, 0), tile=ct.argmax(tile, axis=1))


@ct.kernel
def middle_total(x, out):
    tile = ct.load(x, index=(0, 0, 0), shape=SHAPE).astype(ct.float32)
    ct.store(out, index=(0, 0), tile=ct.sum(tile, axis=1))


@ct.kernel
def middle_doubles(x, out):
    """The last elements along the axis times a power of two, or others where the order is another one."""
    tile = ct.load(x, index=(0, 0, 0), shape=SHAPE).astype(ct.float32)
    ct.store(out, index=(0, 0), tile=ct.reduce(tile, 1, lambda a, b: b + b, 0))


@ct.kernel
def count_of_dot(x, y, out):
    dot = ct.mma(ct.load(x, (0, 0), (128, 16)), ct.load(y, (0, 0), (16, 64)), ct.zeros((128, 64), ct.float32))
    ct.store(out, index=(0,), tile=ct.sum((dot > 0).astype(ct.float32), axis=0))


X = Array("float16", 3, stride_divisible_by=8, shape_divisible_by=2)
MATRIX = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=8)
CASES = [
    Case("middle_max", middle_max, (X, Array("float16", 2))),
    Case("middle_total", middle_total, (X, Array("float32", 2))),
    Case("middle_doubles", middle_doubles, (X, Array("float32", 2))),
    Case("count_of_dot", count_of_dot, (MATRIX, MATRIX, Array("float32", 1))),
    Case("middle_argmax", middle_argmax, (X, Array("int32", 2))),
]
