"""Rows that lie on multiples of 32 bytes: of the lengths that the author promises, and of any."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

LENGTH = 2048


@ct.kernel
def doubled(x, out, TILE: ct.Constant[int]):
    """out = x + x, a tile for each block."""
    row = ct.load(x, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (ct.bid(0),), row + row)


def _case(name: str, dtype: str, factor: int, alignment: int = 32) -> Case:
    array = Array(dtype, 1, shape_divisible_by=factor, alignment=alignment)
    return Case(name, doubled, (array, array, LENGTH))


CASES = [
    _case("halves", "float16", 16),
    _case("words", "float32", 8),
    _case("doubles", "float64", 4),
    _case("halves_on_16_bytes", "float16", 16, 16),
    _case("halves_of_any_length", "float16", 1),
]
