"""out = x + y, of matrices."""

import cuda.tile as ct

from tileiras_build.bytecode.export import Array, Case

ROWS, COLUMNS = 16, 64


@ct.kernel
def add(x, y, out, ROWS: ct.Constant[int], COLUMNS: ct.Constant[int]):
    at, shape = (ct.bid(0), ct.bid(1)), (ROWS, COLUMNS)
    ct.store(out, at, ct.load(x, at, shape) + ct.load(y, at, shape))


MATRIX = Array("float32", 2)
CASES = [
    Case("add_f32", add, (MATRIX, MATRIX, MATRIX, ROWS, COLUMNS)),
]
