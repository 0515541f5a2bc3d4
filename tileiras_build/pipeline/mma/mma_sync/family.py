"""mma.sync: a warp multiplies fragments in registers (PTX ISA 9.0, section 9.7.14). Tiles come to registers any way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ....ir.casting import tile_shape, unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout, split_warps, unpack
from ....target.mma_atoms import MMA_ATOMS, MmaAtom
from ....target.targets import Target
from ...analysis.dot_operand_chains import smem_layout_after_views
from ...analysis.kernel_target import kernel_target
from ...analysis.tma_operands import TmaOperand
from ...job import Job
from ..dots import FP4_PAIR, dot_shape, rows_of_types, scaled_types
from ..family import DotLayouts, MmaFamily
from .tiling import layout_atom, padded_shape, sliced_to_shape, tiling_of

if TYPE_CHECKING:
    from ....target.gpu_rates import SmRates
    from ...schedule.kernel import Dot

# The scales that have no sign. What negative scales do, Tile IR leaves open (specification of mmaf_scaled), and these
# instructions do not read the sign. Where elements are not read in pairs, they are scaled first, with the sign.
UNSIGNED_SCALE = "f8E8M0FNU"
TRANSPOSED_BITS = (16, 32)
# What an instruction multiplies, whatever the types, and the bytes that one ldmatrix loads.
ATOM_ROWS, ATOM_COLUMNS, ATOM_K_BYTES, FRAGMENT_LOAD_BYTES = 16, 8, 32, 512


class MmaSync(MmaFamily[MmaAtom]):
    """Fragments of all operands are in registers. ``warps`` of a dot says how warps divide its tile."""

    name, rows = "mma_sync", MMA_ATOMS

    def row_for(self, op: TableOp, target: Target, *, packed_fp4: bool = False) -> MmaAtom | None:
        """The preferred row whose k is no longer than the tile's, else the one with the shortest k."""
        rows = rows_of_types(op, target, self.rows, packed_fp4)
        if op.lhs_scale is not None:
            types = scaled_types(op, packed_fp4)
            reads_scales = types.scale == UNSIGNED_SCALE or types.a == FP4_PAIR
            return next((row for row in rows if reads_scales and row.k <= types.k), None)
        k = op.lhs.type.get_shape()[-1]
        return next((row for row in rows if row.k <= k), min(rows, key=lambda row: row.k, default=None))

    def select(
        self, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int, stored: Collection[int] | None = None
    ) -> Mapping[int, TmaOperand] | None:
        """The instruction itself is chosen with the layouts, which divide the tile."""
        if self.row_for(op, kernel_target(op, job)) is None:
            return None
        suits = all(_suits_fragments(op, index, found) for index, found in loaded.items())
        return loaded if suits else None

    def divide(self, op: TableOp, target: Target, num_warps: int, *, rows_only: bool) -> None:
        atom = unwrap(self.row_for(op, target))
        batch, m, n, k = dot_shape(op)
        rows, columns, _ = padded_shape(m, n, k, atom)
        warps = split_warps(num_warps, rows, columns, layout_atom(atom), batch or 1)
        if rows_only:
            warps = *_by_rows(num_warps // warps[2], rows // atom.m), warps[2]
        op.mma, op.warps = atom.name, warps

    def layouts(self, op: TableOp, num_warps: int) -> DotLayouts:
        atom = self.row_of(op)
        tiling = tiling_of(op, atom)
        tiles = ((op.lhs, tiling.a), (op.rhs, tiling.b), (op.result, tiling.c))
        a, b, c = (sliced_to_shape(layout, tile_shape(value)) for value, layout in tiles)
        scales: tuple[LinearLayout, ...] = ()
        if op.lhs_scale is not None:
            sides = ((op.lhs_scale, "A"), (op.rhs_scale, "B"))
            scales = tuple(
                sliced_to_shape(tiling.scales(operand, atom.scale_block).layout, tile_shape(value))
                for value, operand in sides
            )
        return DotLayouts(a, b, c, scales)

    def clocks(self, dot: Dot, rates: SmRates) -> float:
        accumulates_f32 = dot.c_type == "f32" and not dot.is_scaled
        share = rates.warp_tensor * (rates.f32_accumulate if accumulates_f32 else 1.0)
        return dot.multiply_adds / (share * rates.multiply_adds(dot.a_type))

    def shared_bytes(self, dot: Dot, warps: int) -> float:
        """Each warp reads the rows of A and the columns of B that its part of the result needs."""
        rows, columns = _warps_of(dot, warps)
        return columns * (dot.a_size() if dot.a_bytes or dot.a_work else 0) + rows * dot.b_size()

    def instructions(self, dot: Dot, warps: int) -> float:
        """With a load of four 8 x 8 matrices for each 512 bytes of fragments."""
        k = ATOM_K_BYTES * dot.m * dot.k / dot.a_size()
        return dot.multiply_adds / (ATOM_ROWS * ATOM_COLUMNS * k) + self.shared_bytes(dot, warps) / FRAGMENT_LOAD_BYTES

    def replication(self, dot: Dot, warps: int) -> tuple[int, int]:
        rows, columns = _warps_of(dot, warps)
        return columns, rows

    def description(self, op: TableOp) -> tuple[str, dict[str, Any]]:
        atom = self.row_of(op)
        instruction = atom.ptx.partition(".{")[0].partition(".row.col")[0]
        return instruction, {"Shape": list(atom.shape), "Warps": list(op.warps)}


def _warps_of(dot: Dot, warps: int) -> tuple[int, int]:
    """How warps divide rows and columns, as ``divide`` does."""
    if dot.is_chained:
        return _by_rows(warps, dot.m // ATOM_ROWS)
    rows = columns = 1
    while rows * columns < warps:
        if dot.n // columns > max(dot.m // rows, ATOM_COLUMNS):
            columns *= 2
        else:
            rows *= 2
    return rows, columns


def _by_rows(warps: int, parts: int) -> tuple[int, int]:
    """How warps divide a result of so many instructions along m by rows, and by columns where that leaves warps."""
    rows = max(1, min(warps, parts))
    return rows, warps // rows


def _suits_fragments(op: TableOp, index: int, found: TmaOperand) -> bool:
    """Whether fragments are read without conflicts from the placement of TMA.

    ldmatrix does, if the fastest dimension in memory is k, or the elements have the 16 bits that it transposes. Other
    transposed elements are read one by one: 32-bit elements take two wavefronts, and for smaller ones
    SoftwarePipelineLoads chooses a placement.
    """
    _, chain, box = found
    if box.placement.element_bits in TRANSPOSED_BITS:
        return True
    placement = unwrap(smem_layout_after_views(chain, box.placement, renames_only=False))
    k_dim = len(op.lhs.type.get_shape()) - 1 - index
    return unpack(placement.bases[0], placement.shape)[k_dim] != 0


FAMILY = MmaSync()
