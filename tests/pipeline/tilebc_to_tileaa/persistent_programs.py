"""Kernels whose tile programs follow each other in a CTA: rows, atomic additions, early ends, storage of a program."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ROWS = Array("float32", 2, -1, stride_divisible_by=4, shape_divisible_by=4)
COUNTS = Array("int32", 1, -1)


@ct.kernel
def softmax(x, out):
    """out = softmax of x along rows of 256, a row for each program."""
    row = ct.load(x, (ct.bid(0), 0), (1, 256))
    shifted = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), shifted / ct.sum(shifted, axis=1, keepdims=True))


@ct.kernel
def counts(out, last):
    """out[v] = how many programs find v = 3 x + y modulo 8; last[0] = the highest x."""
    value = (3 * ct.bid(0) + ct.bid(1)) % 8
    ct.atomic_add(out, value, 1)
    ct.atomic_max(last, 0, ct.bid(0))


@ct.kernel
def odd(out):
    """out[x] = the number of programs along x, where x is odd: the others end early."""
    if ct.bid(0) % 2 == 0:
        return
    ct.store(out, (ct.bid(0),), ct.full((1,), ct.num_blocks(0), ct.int32))


@ct.kernel
def handed_on(out):
    """out[x + 1] = out[x] + 1, when the program before has left its number there."""
    x = ct.bid(0)
    value = ct.atomic_add(out, x, 0, memory_order=ct.MemoryOrder.ACQUIRE)
    while value == 0:
        value = ct.atomic_add(out, x, 0, memory_order=ct.MemoryOrder.ACQUIRE)
    ct.atomic_xchg(out, x + 1, value + 1, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def one_place(out):
    """out[x modulo 3] = x."""
    x = ct.bid(0)
    ct.store(out, (x % 3,), ct.full((1,), x, ct.int32))


CASES = [
    Case("softmax", softmax, (ROWS, ROWS)),
    Case("counts", counts, (COUNTS, COUNTS)),
    Case("odd", odd, (COUNTS,)),
    Case("one_place", one_place, (COUNTS,)),
    Case("handed_on", handed_on, (COUNTS,)),
]
