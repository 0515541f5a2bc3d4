"""Kernels whose loads follow stores: of other arrays, and of those that they write."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def doubled(x, out):
    """out = 2 x, one element after the other."""
    for i in range(x.shape[0]):
        ct.store(out, (i,), ct.load(x, (i,), (1,)) * 2)


@ct.kernel
def summed(x, out):
    """out = the sums of x up to each element, each of which is read again."""
    for i in range(1, x.shape[0]):
        ct.store(out, (i,), ct.load(x, (i,), (1,)) + ct.load(out, (i - 1,), (1,)))


@ct.kernel
def maxima(x, out, N: ct.Constant[int]):
    """out = the largest element of each row of N."""
    for i in range(x.shape[0]):
        ct.store(out, (i,), ct.max(ct.load(x, (i, 0), (1, N)), axis=1))


_ARGUMENTS = (Array("int32", 1), Array("int32", 1))
_OF_ROWS = (Array("int32", 2, stride_divisible_by=4), Array("int32", 1))
CASES = [
    Case("doubled", doubled, _ARGUMENTS),
    Case("summed", summed, _ARGUMENTS),
    Case("short_rows", maxima, (*_OF_ROWS, 64)),
    Case("long_rows", maxima, (*_OF_ROWS, 4096)),
]
