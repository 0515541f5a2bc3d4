"""Softmax of rows: one in each iteration of a loop over rows, or one in each block."""

import math

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ConstInt = ct.Constant[int]


def softmax(row):
    powers = ct.exp(row - ct.max(row, axis=0, keepdims=True))
    return powers / ct.sum(powers, axis=0, keepdims=True)


@ct.kernel(occupancy=4)
def gathered(x, out, TILE: ConstInt):
    """One row in each iteration, by gather and scatter."""
    columns = ct.arange(TILE, dtype=ct.int32)
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        values = ct.gather(x, (row, columns), padding_value=-math.inf).astype(ct.float32)
        ct.scatter(out, (row, columns), softmax(values).astype(out.dtype))


@ct.kernel
def loaded(x, out, TILE: ConstInt):
    """One row in each iteration, by tile loads and stores."""
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        values = ct.load(x, (row, 0), (1, TILE)).reshape((TILE,)).astype(ct.float32)
        ct.store(out, (row, 0), softmax(values).astype(out.dtype).reshape((1, TILE)))


@ct.kernel
def guarded(x, out, TILE: ConstInt):
    """Three rows of each block, as far as there are so many."""
    for part in range(3):
        row = ct.bid(0) * 3 + part
        if row < x.shape[0]:
            values = ct.load(x, (row, 0), (1, TILE)).reshape((TILE,)).astype(ct.float32)
            ct.store(out, (row, 0), softmax(values).astype(out.dtype).reshape((1, TILE)))


@ct.kernel
def parts_of_a_row(x, out, TILE: ConstInt):
    """A softmax of each of two parts of the row of a block."""
    for part in range(2):
        values = ct.load(x, (ct.bid(0), part), (1, TILE)).reshape((TILE,)).astype(ct.float32)
        ct.store(out, (ct.bid(0), part), softmax(values).astype(out.dtype).reshape((1, TILE)))


@ct.kernel
def one_row(x, out, TILE: ConstInt):
    """One row in each block."""
    values = ct.load(x, (ct.bid(0), 0), (1, TILE)).reshape((TILE,)).astype(ct.float32)
    ct.store(out, (ct.bid(0), 0), softmax(values).astype(out.dtype).reshape((1, TILE)))


def _case(name: str, kernel, dtype: str, length: int) -> Case:
    rows = Array(dtype, 2, stride_divisible_by=(16, 1), shape_divisible_by=(1, 16))
    return Case(f"{name}_{dtype}_{length}", kernel, (rows, rows, length))


SOFTMAXES = {"gathered": gathered, "loaded": loaded, "one_row": one_row}
CASES = [
    *(_case(name, kernel, "float32", length) for name, kernel in SOFTMAXES.items() for length in (256, 1024, 4096)),
    _case("gathered_by_16", gathered.replace_hints(occupancy=16), "float32", 1024),
    _case("loaded", loaded, "float16", 1024),
    _case("guarded", guarded, "float32", 1024),
    _case("parts_of_a_row", parts_of_a_row, "float32", 1024),
]
