"""wgmma: a warpgroup multiplies tiles in shared memory (PTX ISA 9.0, section 9.7.15). The left one may be in registers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ....ir.dialects.nv_tileas.ops import AsyncDotOp, AsyncDotWaitOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import wgmma_tiling
from ....ir.layouts.wgmma_layout import A_VIA_REGISTERS_SWIZZLES, MAX_COLUMNS, ROWS, WARPS, WgmmaTiling
from ....target.mma_atoms import ELEMENT_BITS, WGMMA_ATOMS, WgmmaAtom
from ....target.sm_limits import WARP
from ....target.targets import Target
from ...analysis.axis_info import AxisAnalysis
from ...analysis.enclosing_control_flow import enclosing_kernel, is_accumulation_loop, is_zero
from ...analysis.resource_model import accumulators_fit
from ...analysis.stored_operands import stores_fit
from ...analysis.tma_operands import TmaOperand, may_prefetch_in_loop, tma_operand
from ...common.llvm_element_types import element_of
from ...job import Job
from ..family import DotLayouts, MmaFamily, RegisterMmaOps, Storage
from ..smem_operands import load_by_tma, readable_operand, readable_operands
from .operands import row_for_types, rows_need_registers, via_registers
from .stationary_operands import dots_reading_same_lhs, is_stationary, stages_fit, stationary_lhs
from .tiling import AccumulatorPromotion, tiling_of

if TYPE_CHECKING:
    from ...schedule.kernel import Dot

MIN_COLUMNS = 32  # of a partial accumulator: with fewer, the tensor core waits for its operands


class Wgmma(MmaFamily[WgmmaAtom]):
    """``a_via_registers`` of a dot: its left operand comes from shared memory through registers. ``promotion``: its tensor core
    accumulates a long k with too few bits, so accumulators of part of k are added by threads; a dot of one such part from zero needs
    none.
    """

    name, rows = "wgmma", WGMMA_ATOMS
    a_storage, b_storage = Storage.SHARED | Storage.REGISTERS, Storage.SHARED
    tile_steps, group, max_columns = ((ROWS, 8),), (ROWS, WARPS), MAX_COLUMNS
    async_ops = RegisterMmaOps(AsyncDotOp, wait=AsyncDotWaitOp)

    def row_for(self, op: TableOp, target: Target, *, packed_fp4: bool = False) -> WgmmaAtom | None:
        return row_for_types(op, target)

    def select(
        self, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int, stored: Collection[int] | None = None
    ) -> Mapping[int, TmaOperand] | None:
        """Where threads have registers for the accumulators, and the operands have the memory order that it needs."""
        atom = row_for_types(op, job.target)
        written = stored or ()
        if atom is None or 1 not in (*loaded, *written) or not stores_fit(op, written, atom.mn_major):
            return None
        (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
        tiling = wgmma_tiling(m, n, k, ELEMENT_BITS[atom.a_type], warps)
        registers = m * n * element_of(op.result.type).bits // 32
        if tiling is None or not accumulators_fit(registers, enclosing_kernel(op), job, warps):
            return None
        in_shared = readable_operands(op, loaded, atom.mn_major, others_computed=stored is not None)
        read = in_shared if in_shared is not None else via_registers(loaded, atom)
        if read is None:
            return None
        promotion = None
        if (interval := _promotion_interval(op, atom, job)) is not None:
            shared = in_shared is not None and (0 in (*loaded, *written) or is_stationary(op, job))
            registers += 0 if shared else tiling.groups_n * m * k * tiling.element_bits // 32
            promotion = _promotion(op, tiling, interval, registers, job)
            if promotion is None:
                return None
        op.mma, op.a_via_registers, op.promotion = atom.name, in_shared is None, promotion
        op.stored = stored
        return read

    def mn_major(self, row: WgmmaAtom) -> tuple[str, ...]:
        return row.mn_major

    def partial_registers(self, dot: TableOp, job: Job) -> int:
        atom = row_for_types(dot, job.target)
        if atom is None or _promotion_interval(dot, atom, job) is None:
            return 0
        return ROWS * min(MIN_COLUMNS, dot.result.type.get_shape()[1]) // (WARP * WARPS)

    def adds_partial_sums(self, row: WgmmaAtom) -> bool:
        return bool(row.promotion_interval)

    def prefers_swapped(self, op: TableOp, job: Job, warps: int) -> bool:
        """Where the left operand is along k, and the right one is not, but may come through registers as the left one."""
        atom = row_for_types(op, job.target)
        if atom is None or (bits := ELEMENT_BITS[atom.a_type]) not in A_VIA_REGISTERS_SWIZZLES:
            return False
        if not may_prefetch_in_loop(op) or not is_accumulation_loop(op):
            return False
        left, right = (tma_operand(op, index, job, AxisAnalysis()) for index in (0, 1))
        if left is None or right is None or readable_operand(right, 0, atom.mn_major) is not None:
            return False
        (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
        reads = readable_operand(left, 1, atom.mn_major) is not None and rows_need_registers(right, 0, bits)
        return reads and wgmma_tiling(n, m, k, bits, warps) is not None

    def stages_fit(self, op: TableOp, ctas: int, job: Job) -> bool:
        return stages_fit(op, ctas, job)

    def lhs_stays_in_smem(self, op: TableOp, job: Job) -> bool:
        return is_stationary(op, job)

    def keep_lhs_in_smem(self, op: TableOp, job: Job) -> None:
        """Where these instructions compute all dots that read the operand, and threads write no other one."""
        held = stationary_lhs(op, job) if op.stored in (None, (0,)) else None
        if held is not None and all(reader.mma is not None for reader in dots_reading_same_lhs(op)):
            load_by_tma(held)
            op.stationary, op.stored = True, None

    def layouts(self, op: TableOp, num_warps: int) -> DotLayouts:
        tiling = tiling_of(op, num_warps)
        return DotLayouts(tiling.a, None, tiling.c, fixed=True)

    def shared_bytes(self, dot: Dot, warps: int) -> float:
        """For each 64 rows the columns are read once."""
        return (0 if dot.has_lhs_in_registers else dot.a_size()) + max(1, dot.m // ROWS) * dot.b_size()

    def description(self, op: TableOp) -> tuple[str, dict[str, Any]]:
        return self.row_of(op).ptx.partition(".m64")[0], {"Atom": op.mma}


def _promotion_interval(op: TableOp, atom: WgmmaAtom, job: Job) -> int | None:
    """Elements along k that the tensor core accumulates in one part; None where it accumulates all of a dot."""
    interval = max(atom.promotion_interval, job.fp8_promotion_interval)
    k = op.lhs.type.get_shape()[1]
    return None if not atom.promotion_interval or (k <= interval and is_zero(op.acc)) else interval


def _promotion(op: TableOp, tiling: WgmmaTiling, interval: int, regs: int, job: Job) -> AccumulatorPromotion | None:
    """The widths of partial accumulators for which threads have registers beside ``regs`` other ones of the dot.

    Wide ones come first, which read the left operand less often; then two at a time, one of which is added while the
    other is in flight.
    """
    kernel, warps = enclosing_kernel(op), WARPS * tiling.groups_m * tiling.groups_n
    columns = tiling.columns
    while columns >= min(MIN_COLUMNS, tiling.columns):
        parts = tiling.m_tiles * (tiling.group_n // columns) * -(-tiling.k // interval)
        for number in (2, 1):
            needed = regs + number * ROWS * columns * warps // WARPS
            if number <= parts and accumulators_fit(needed, kernel, job, warps):
                return AccumulatorPromotion(columns, number, interval)
        columns //= 2
    return None


FAMILY = Wgmma()
