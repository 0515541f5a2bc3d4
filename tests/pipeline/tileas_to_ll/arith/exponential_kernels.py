"""exp of an array."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def exp(x, out, TILE: ct.Constant[int]):
    """out = exp(x)."""
    ct.store(out, (ct.bid(0),), ct.exp(ct.load(x, (ct.bid(0),), (TILE,))))


CASES = [Case("exp_f32", exp, (Array("float32", 1, shape_divisible_by=256),) * 2 + (256,))]
