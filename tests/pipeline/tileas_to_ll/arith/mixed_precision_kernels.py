"""Kernels that add halves to f32, and one that wants the widened values as well."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

LENGTH = 512


@ct.kernel
def adds(x, y, total, less, TILE: ct.Constant[int]):
    """total = x + y, less = x - y: f32 y, x widened for each of them alone."""
    wide = ct.load(y, (ct.bid(0),), (TILE,))
    ct.store(total, (ct.bid(0),), wide + ct.load(x, (ct.bid(0),), (TILE,)).astype(ct.float32))
    ct.store(less, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)).astype(ct.float32) - wide)


@ct.kernel
def shared(x, y, total, less, TILE: ct.Constant[int]):
    """total = x + y, less = x * y: x is widened for both."""
    wide, half = ct.load(y, (ct.bid(0),), (TILE,)), ct.load(x, (ct.bid(0),), (TILE,)).astype(ct.float32)
    ct.store(total, (ct.bid(0),), wide + half)
    ct.store(less, (ct.bid(0),), half * wide)


def _case(name: str, kernel, dtype: str) -> Case:
    wide = Array("float32", 1, shape_divisible_by=LENGTH)
    return Case(name, kernel, (Array(dtype, 1, shape_divisible_by=LENGTH), wide, wide, wide, LENGTH))


CASES = [
    _case("adds_f16", adds, "float16"),
    _case("adds_bf16", adds, "bfloat16"),
    _case("shared_f16", shared, "float16"),
]
