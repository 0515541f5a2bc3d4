"""Histogram with atomic additions: many blocks, and many lanes of one block, count into the same bins."""

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Values, first_tiles, place

COUNT, BINS, TILE = 1000, 16, 256


@ct.kernel
def histogram(values, bins, TILE: ct.Constant[int]):
    """bins[b] += how many of values (n,) equal b."""
    index = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    # Beyond the end the bin is -1, which is out of bounds: atomic_add skips such elements.
    which = ct.gather(values, index, padding_value=-1)
    ct.atomic_add(bins, which, 1, memory_order=ct.MemoryOrder.RELAXED)


def make_inputs(rng: np.random.Generator) -> Values:
    return {
        "values": place(rng.integers(0, BINS, COUNT), "int32"),
        "bins": place(np.arange(BINS), "int32"),  # the kernel adds to these values
    }


def reference(values: Values) -> Values:
    return {"bins": (values["bins"] + np.bincount(values["values"], minlength=BINS)).astype(np.int32)}


INDICES = Array("int32", 1)

CASES = [
    Case(
        "histogram_i32",
        histogram,
        (INDICES, INDICES, TILE),
        grid=first_tiles("values", TILE),
        inputs=make_inputs,
        reference=reference,
    ),
]
