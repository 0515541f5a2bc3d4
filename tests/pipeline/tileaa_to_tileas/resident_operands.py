"""Operands of a loop's dots that stay in shared memory, beside which one stage of the others has space, in boxes of up to 256 rows."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ZERO = ct.PaddingMode.ZERO
ROWS, COLUMNS, DEPTH = 64, 128, 512


@ct.kernel
def left_stays(x, w, out):
    """out[i] = the sum of (x @ w)[i, j] squared, over j: 64 rows of x, all 512 columns."""
    rows = ct.load(x, (ct.bid(0), 0), (ROWS, DEPTH), padding_mode=ZERO)
    total = ct.zeros((ROWS, 1), dtype=ct.float32)
    for step in range(ct.num_tiles(w, axis=1, shape=(DEPTH, COLUMNS))):
        columns = ct.load(w, (0, step), (DEPTH, COLUMNS), padding_mode=ZERO)
        found = ct.mma(rows, columns, ct.zeros((ROWS, COLUMNS), dtype=ct.float32))
        total = total + ct.sum(found * found, axis=1, keepdims=True)
    ct.store(out, (ct.bid(0), 0), total)


@ct.kernel
def right_stays(x, w, out):
    """out = y.T @ (x @ w / 4, in f16), y the first 64 columns of x: 128 columns of w, all 512 rows."""
    columns = ct.load(w, (0, ct.bid(0)), (DEPTH, COLUMNS), padding_mode=ZERO)
    total = ct.zeros((ROWS, COLUMNS), dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=0, shape=(ROWS, DEPTH))):
        rows = ct.load(x, (step, 0), (ROWS, DEPTH), padding_mode=ZERO)
        first = ct.load(x, (step, 0), (ROWS, ROWS), padding_mode=ZERO)
        found = ct.mma(rows, columns, ct.zeros((ROWS, COLUMNS), dtype=ct.float32)) / 4
        total = ct.mma(first.transpose(), found.astype(x.dtype), total)
    ct.store(out, (0, ct.bid(0)), total)


ARRAYS = (*[Array("float16", 2, stride_divisible_by=8, shape_divisible_by=8, alignment=16)] * 2, Array("float32", 2))
CASES = [Case("left_stays", left_stays, ARRAYS), Case("right_stays", right_stays, ARRAYS)]
