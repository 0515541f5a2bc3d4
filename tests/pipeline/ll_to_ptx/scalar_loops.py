"""A loop of scalars, which LLVM unrolls."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def summed(x, out):
    """out = n, the length of x, and the sum of 0 .. n - 1 and 10."""
    total, count = 10, 0
    for i in range(x.shape[0]):
        total, count = total + i, count + 1
    ct.store(out, (0,), count)
    ct.store(out, (1,), total)


CASES = [Case("summed", summed, (Array("int32", 1), Array("int32", 1)))]
