"""A kernel that the rule of this folder compiles."""

import cuda.tile as ct
from sizes import TILE

from tileiras_build.cases import Array, Case


@ct.kernel
def scale(x, tile: ct.Constant[int]):
    """x *= 2, a tile of ``tile`` elements for each block."""
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2.0)


CASES = [Case("scale", scale, (Array("float32", 1), TILE))]
