"""A kernel file with a space of constants and hints, for tests."""

SOURCE = '''
import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Tune, first_tiles, place, poisoned


@ct.kernel
def double(x, out, TILE: ct.Constant[int]):
    block = ct.bid(0)
    ct.store(out, (block,), ct.load(x, (block,), (TILE,)) * 2)


def inputs(rng):
    return {"x": place(rng.integers(-9, 9, 1000), "float32"), "out": poisoned((1000,), "float32")}


SPACE = Tune({"TILE": TILES}, problems=[{"x": 1 << 22, "out": 1 << 22}])
CASES = [
    Case("double", double, (Array("float32", 1), Array("float32", 1), 64), inputs=inputs,
         reference=lambda values: {"out": values["x"] * 2}, grid=first_tiles("out", "TILE"), tune=SPACE),
    Case("plain", double, (Array("float32", 1), Array("float32", 1), 64)),
]
'''


def source(*tiles: int) -> str:
    """The file with these values of TILE; its own is 64."""
    return SOURCE.replace("TILES", repr(list(tiles)))
