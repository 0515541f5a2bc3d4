"""The largest and smallest numbers of rows of halves, widened first."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def extremes(x, out, TILE: ct.Constant[int], NAN: ct.Constant[bool]):
    """out[row] = (max of x[row], min of x[row]), in f32; with NAN a row with a NaN gives NaN."""
    row = ct.load(x, (ct.bid(0), 0), (1, TILE)).astype(ct.float32)
    ct.store(out, (ct.bid(0), 0), ct.max(row, axis=1, keepdims=True, propagate_nan=NAN))
    ct.store(out, (ct.bid(0), 1), ct.min(row, axis=1, keepdims=True, propagate_nan=NAN))


def _case(name: str, dtype: str, nan: bool) -> Case:
    return Case(name, extremes, (Array(dtype, 2, shape_divisible_by=8), Array("float32", 2), 512, nan))


CASES = [
    _case("extremes_f16", "float16", False),
    _case("extremes_bf16_nan", "bfloat16", True),
    _case("extremes_f32", "float32", False),
]
