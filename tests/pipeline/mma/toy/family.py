"""A made-up instruction: a warp multiplies 16x8 by 8x8 f32 fragments in registers."""

from tileiras_build.ir.layouts import Atom, mma_tiling, split_warps
from tileiras_build.pipeline.mma.dots import dot_shape, rows_of_types
from tileiras_build.pipeline.mma.family import DotLayouts, MmaFamily
from tileiras_build.target.mma_atoms import MMA_ROWS

ATOM = Atom(16, 8, 8, 32)


class Toy(MmaFamily):
    name = "toy"
    rows = tuple(row for row in MMA_ROWS if row.family == "toy")

    def row_for(self, op, target, *, packed_fp4=False):
        return next(iter(rows_of_types(op, target, self.rows, packed_fp4)), None)

    def divide(self, op, target, num_warps, *, rows_only):
        batch, m, n, _ = dot_shape(op)
        op.mma, op.warps = self.row_for(op, target).name, split_warps(num_warps, m, n, ATOM, batch or 1)

    def layouts(self, op, num_warps):
        tiling = tiling_of(op)
        return DotLayouts(tiling.a, tiling.b, tiling.c)

    def shared_bytes(self, dot, warps):
        return dot.a_size() + dot.b_size()

    def description(self, op):
        return "toy.mma.sync", {}


def tiling_of(op):
    batch, m, n, k = dot_shape(op)
    return mma_tiling(m, n, k, ATOM, op.warps[0], op.warps[1], batch, op.warps[2])


FAMILY = Toy()
