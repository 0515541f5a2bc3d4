"""tcgen05: one thread multiplies tiles in shared memory, and accumulates in tensor memory (PTX ISA 9.0, section 9.7.16)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ....ir.casting import as_op, unwrap
from ....ir.dialects.nv_tileas.ops import AsyncUmmaOp, UmmaAcquireOp, UmmaCommitOp, UmmaReleaseOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import tmem_tile
from ....ir.layouts.tmem_layout import (
    ALL_COLUMNS,
    COLUMN_BITS,
    HALF_ROWS,
    MAX_TMEM_COLUMNS,
    MIN_COLUMNS,
    PAIR,
    ROWS,
    has_pair_shape,
)
from ....target.mma_atoms import ELEMENT_BITS, TCGEN05_ATOMS, Tcgen05Atom
from ....target.targets import Target
from ...analysis.axis_info import AxisAnalysis
from ...analysis.cluster_uniformity import is_rank_dependent
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.kernel_target import kernel_target
from ...analysis.resource_model import max_stages
from ...analysis.stored_operands import stores_fit
from ...analysis.tma_operands import TmaOperand, may_prefetch_in_loop, tma_operand
from ...job import Job
from ..dots import rows_of_types, scaled_types
from ..family import DotLayouts, MmaFamily, Storage, TmemMmaOps
from ..smem_operands import readable_operands
from ..tmem_tiles import scale_columns, tmem_tiles
from .cta_pairs import gains_by_rows, is_of_pair, may_be_of_pair
from .kernel_columns import adds_in_tmem, columns_of_kernel
from .row_sharing import choose_row_sharing
from .staged_operands import stage_operands
from .stationary_operands import free_columns, keep_in_smem, share_sm

if TYPE_CHECKING:
    from ....target.gpu_rates import SmRates
    from ...schedule.kernel import Dot


class Tcgen05(MmaFamily[Tcgen05Atom]):
    """``tmem_columns`` of a dot: its columns of tensor memory. ``rescaled``: its accumulator stays there, where each iteration
    rescales it.
    """

    name, rows = "tcgen05", TCGEN05_ATOMS
    a_storage, b_storage, accumulator = Storage.SHARED | Storage.TENSOR, Storage.SHARED, Storage.TENSOR
    async_ops = TmemMmaOps(AsyncUmmaOp, acquire=UmmaAcquireOp, commit=UmmaCommitOp, release=UmmaReleaseOp)
    max_columns = 256
    tile_steps = ((64, 8), (128, 16))  # 64 rows take as long as 128
    max_chained_rows = ROWS

    def row_for(self, op: TableOp, target: Target, *, packed_fp4: bool = False) -> Tcgen05Atom | None:
        """Of a matrix; batches with scales have one, too, until passes expand the scales."""
        row = next(iter(rows_of_types(op, target, self.rows, packed_fp4)), None)
        if op.lhs_scale is None:
            return row if len(op.lhs.type.get_shape()) == 2 else None
        too_deep = row is not None and row.k > scaled_types(op, packed_fp4).k
        return None if too_deep else row

    def reads(self, op: TableOp, loaded: Mapping[int, TmaOperand], target: Target) -> Mapping[int, TmaOperand] | None:
        return self._reads(op, loaded, target, others_computed=False)

    def _reads(
        self, op: TableOp, loaded: Mapping[int, TmaOperand], target: Target, others_computed: bool
    ) -> Mapping[int, TmaOperand] | None:
        atom = self.row_for(op, target)
        if atom is None or len(op.lhs.type.get_shape()) != 2 or not _has_shape(op, atom):
            return None
        return readable_operands(op, loaded, atom.mn_major, others_computed=others_computed)

    def select(
        self, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int, stored: Collection[int] | None = None
    ) -> Mapping[int, TmaOperand] | None:
        """Where the accumulators, the scales, and the left operand unless it is loaded, fit in tensor memory."""
        scaled = op.lhs_scale is not None
        target = kernel_target(op, job) if scaled else job.target
        in_shared = (*loaded, *(stored or ()))
        read = self._reads(op, loaded, target, stored is not None) if 1 in in_shared else None
        if read is None or scaled and not _has_scaled_shape(op, in_shared):
            return None
        atom = unwrap(self.row_for(op, target))
        op.pair = is_of_pair(op, read, stored or (), atom.mn_major, job)
        columns = _columns(op, atom, read, job, warps, in_shared)
        if columns is None or not stores_fit(op, stored or (), atom.mn_major):
            return None
        op.mma, op.stored = atom.name, stored
        before, op.tmem_columns = op.tmem_columns, columns
        if not self._fits(op, job, warps, read):
            op.mma = op.stored = None
            op.tmem_columns = before
            return None
        return read

    def _fits(self, op: TableOp, job: Job, warps: int, loaded: Collection[int]) -> bool:
        """Whether tensor memory holds a dot beside those that were selected before."""
        return columns_of_kernel(op, warps, loaded) <= ALL_COLUMNS

    def prefers_swapped(self, op: TableOp, job: Job, warps: int) -> bool:
        """Where the CTAs of a pair divide the columns: a pair computes one MMA of their rows, which swapped columns are. Not with block
        scales, which would have to be swapped, too.
        """
        kernel = as_op(enclosing_kernel(op))
        if (kernel.num_ctas or 1) % PAIR or len(op.result.type.get_shape()) != 2 or op.lhs_scale is not None:
            return False
        rows, columns = op.result.type.get_shape()
        if columns % ROWS or not has_pair_shape(columns, rows) or not may_be_of_pair(op, job):
            return False
        if self.row_for(op, job.target) is None or not may_prefetch_in_loop(op):
            return False
        left, right = (tma_operand(op, index, job, AxisAnalysis()) for index in (0, 1))
        return left is not None and right is not None and not is_rank_dependent(left[0]) and is_rank_dependent(right[0])

    def gains_by_pairs_of_rows(self, op: TableOp, ctas: int, job: Job) -> bool:
        row = self.row_for(op, job.target)
        return row is not None and gains_by_rows(op, ctas, row.mn_major, job)

    def keep_lhs_in_smem(self, op: TableOp, job: Job) -> None:
        """Where the columns of a loop-invariant operand would cost the SM a CTA."""
        keep_in_smem(op, self.row_of(op), job)

    def choose_row_sharing(self, op: TableOp, warps: int) -> None:
        choose_row_sharing(op, warps)

    def share_sm(self, func: TableOp, job: Job, warps: int) -> None:
        share_sm(func, job, warps)
        stage_operands(func, job, warps)

    def mn_major(self, row: Tcgen05Atom) -> tuple[str, ...]:
        return row.mn_major

    def layouts(self, op: TableOp, num_warps: int) -> DotLayouts:
        left, accumulators = tmem_tiles(op, num_warps)
        scales = () if op.lhs_scale is None else tuple(columns.layout for columns in scale_columns(op, num_warps))
        return DotLayouts(None if left is None else left.layout, None, accumulators.layout, scales, fixed=True)

    def clocks(self, dot: Dot, rates: SmRates) -> float:
        return super().clocks(dot, rates) * max(1.0, ROWS / dot.m)

    def shared_bytes(self, dot: Dot, warps: int) -> float:
        """For each 128 rows the columns are read once."""
        return (0 if dot.has_lhs_in_registers else dot.a_size()) + max(1, dot.m // ROWS) * dot.b_size()

    def description(self, op: TableOp) -> tuple[str, dict[str, Any]]:
        return f"tcgen05.mma of {self.row_of(op).a_type}", {"Atom": op.mma}


def _has_shape(op: TableOp, atom: Tcgen05Atom) -> bool:
    """Whether instructions divide the tile of a dot."""
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    if m < HALF_ROWS or k < atom.k:
        return False
    return n % MIN_COLUMNS[HALF_ROWS] == 0 and (n <= MIN_COLUMNS[ROWS] or n % MIN_COLUMNS[min(m, ROWS)] == 0)


def _has_scaled_shape(op: TableOp, in_shared: Collection[int]) -> bool:
    m, n = op.result.type.get_shape()
    return 0 in in_shared and m >= ROWS and n <= MAX_TMEM_COLUMNS


def _columns(
    op: TableOp,
    atom: Tcgen05Atom,
    loaded: Mapping[int, TmaOperand],
    job: Job,
    warps: int,
    in_shared: Collection[int],
) -> int | None:
    """The columns of tensor memory of a dot; None where its tiles do not lie in lanes."""
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    result = tmem_tile(m, n, COLUMN_BITS, warps, is_pair=bool(op.pair))
    tiles = [] if 0 in in_shared else [tmem_tile(m, k, ELEMENT_BITS[atom.a_type], warps)]
    if None in (result, *tiles):
        return None
    tiles += [] if adds_in_tmem(op) else [result]
    stage_bytes = sum(box.tile_bytes for _, _, box in loaded.values())
    stages = min(max_stages(op), job.target.max_shared_memory // max(stage_bytes, 1))
    scales = [] if op.lhs_scale is None else [stages * one.tmem_columns for one in scale_columns(op, warps)]
    return sum(unwrap(tile).total_tmem_columns for tile in tiles) + sum(scales)


class _FreeingColumns(Tcgen05):
    """The same where left operands from before the loop move to shared memory, if tensor memory is full with them."""

    def _fits(self, op: TableOp, job: Job, warps: int, loaded: Collection[int]) -> bool:
        return free_columns(op, job, warps, loaded)


FAMILY = Tcgen05()
FAMILY.freeing_columns = _FreeingColumns()
