"""Sines, cosines and tangents of a tile."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def functions(x, sines, cosines, tangents, N: ct.Constant[int]):
    tile = ct.load(x, (0,), (N,))
    ct.store(sines, (0,), ct.sin(tile))
    ct.store(cosines, (0,), ct.cos(tile))
    ct.store(tangents, (0,), ct.tan(tile))


CASES = [Case(dtype, functions, (Array(dtype, 1),) * 4 + (64,)) for dtype in ("float32", "float64")]
