"""Kernels of one warp that store tiles of fewer elements than lanes."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def written(out):
    """out = 0 .. 7, and then its first element 9."""
    ct.store(out, (0,), ct.arange(8, dtype=ct.int32))
    ct.store(out, (0,), ct.full((1,), 9, dtype=ct.int32))


@ct.kernel
def incremented(out):
    """out += 1, in place."""
    ct.store(out, (0,), ct.load(out, (0,), (8,)) + 1)


_ARGUMENTS = (Array("int32", 1),)
CASES = [Case("written", written, _ARGUMENTS), Case("incremented", incremented, _ARGUMENTS)]
