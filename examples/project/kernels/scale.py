"""out = a * x, for two types."""

import cuda.tile as ct

from tileiras_build.cases import Array, Case, Scalar

TILE = 256


@ct.kernel
def scale(x, a, out, TILE: ct.Constant[int]):
    block = ct.bid(0)
    ct.store(out, (block,), ct.load(x, (block,), (TILE,)) * a)


def _vectors(name: str, dtype: str) -> Case:
    return Case(name, scale, (Array(dtype, 1), Scalar(dtype), Array(dtype, 1), TILE))


CASES = [
    _vectors("scale_f32", "float32"),
    _vectors("scale_f16", "float16"),
]
