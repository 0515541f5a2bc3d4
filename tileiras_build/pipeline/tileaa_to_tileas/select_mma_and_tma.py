"""Select the MMA instruction of each dot, and the tiles that TMA loads.

In:    nv_tileas dots in counted loops, without layouts.
Out:   ``tma`` on the tiled_loads whose tiles TMA will load to shared memory ahead of time, ``swizzle`` where they must
       lie there in another way than others; ``warpgroup`` (a wgmma row of the target) or ``tensor_memory`` (a tcgen05
       row) on the dots that read them there; ``a_via_registers`` on a warpgroup dot whose left operand comes from
       there through registers; ``accumulator_promotion`` on one whose tensor core accumulates a long k with too few bits: the columns of
       a partial sum of part of k, and how many of them a thread holds at a time.
After: legalize_dot (operand types are the target's). Before: assign_layouts (a warpgroup's accumulators have their own
       layout), specialize_warps (which builds the pipelines).
Sound: a load may run ahead of the program if its place follows from scalars alone, among them elements of memory that
       no token orders after anything either, and no token orders it after a write or an acquire; nothing around it but
       counted loops that run to their end, and choices of scalars around them, decides whether it happens.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import as_op, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ...ir.layouts import tmem_tile, unpack, wgmma_tiling
from ...ir.layouts.matrix_descriptor import WIDE
from ...ir.layouts.tmem_layout import ALL_COLUMNS, COLUMN_BITS, MAX_TMEM_COLUMNS
from ...ir.layouts.tmem_layout import ROWS as LANES
from ...ir.layouts.wgmma_layout import ROWS, WARPS, WgmmaTiling
from ...target.mma_atoms import ELEMENT_BITS, Tcgen05Atom, WgmmaAtom
from ..analysis.axis_info import AxisAnalysis
from ..analysis.buffer_sharing import buffer_sharing_class
from ..analysis.chained_dots import DOT
from ..analysis.enclosing_control_flow import enclosing_kernel, ifs_around_loops
from ..analysis.kernel_target import kernel_target
from ..analysis.mma_atom_selection import (
    AccumulatorPromotion,
    scale_columns,
    select_block_scaled_tcgen05_atom,
    select_mma_sync_atom,
)
from ..analysis.resource_model import MIN_WARPS, accumulators_fit, choose_warps, max_stages, two_stages_fit
from ..analysis.stationary_operands import dots_reading_same_lhs, is_stationary, stationary_lhs
from ..analysis.tma_operands import (
    TmaOperand,
    as_instruction_reads,
    element_types,
    is_canonical_smem_layout,
    is_tma_operand,
    may_prefetch_in_loop,
    rows_need_registers,
    tma_loads_allowed,
    tma_operand,
    wgmma_atom,
)
from ..analysis.view_chains import dot_operand_load, smem_layout_after_views
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass

MIN_COLUMNS = 32  # of a partial sum: fewer leave the tensor core waiting for its operands
TRANSPOSED_BITS = (16, 32)
COLUMN_UNIT = {128: 16, 64: 8}  # rows of a tcgen05 dot -> what its columns are a multiple of


class SelectMmaAndTma(EdgePass):
    """TMA loads, and wgmma or tcgen05 instructions."""

    name = "tileas-select-mma-and-tma"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.target.has("tma"):
            return
        for func in module.body.block.ops:
            if is_function(func) and (warps := choose_warps(func, job)) >= MIN_WARPS:
                _select(func, job, warps)


def _select(func: Operation, job: Job, warps: int) -> None:
    if not tma_loads_allowed(func):
        return
    analysis = AxisAnalysis()
    for op in walk(func):
        if op.name == DOT and may_prefetch_in_loop(op):
            _select_mma(as_op(op), job, warps, analysis)
    _mark_stationary_operands(func, job)


def _select_mma(op: TableOp, job: Job, warps: int, analysis: AxisAnalysis) -> None:
    boxes = {index: found for index in (0, 1) if (found := tma_operand(op, index, job, analysis)) is not None}
    bytes = sum(box.tile_bytes for _, _, box in boxes.values())
    if ifs_around_loops(op) and (len(boxes) < 2 or op.lhs_scale is not None):
        return  # what else comes before the loop would have to come in each arm
    # A right operand may be computed; one that is loaded is loaded, or else nothing is.
    if not boxes or (1 not in boxes and dot_operand_load(op, 1) is not None) or not two_stages_fit(bytes, job):
        return
    # Instructions that read shared memory read the right operand there; fragments of either one are read from there.
    families = FAMILIES if 1 in boxes else {}
    atoms = {name: atom for name, choose in families.items() if (atom := choose(op, job, warps, boxes)) is not None}
    applied_first = op.lhs_scale is not None and select_mma_sync_atom(kernel_target(op, job), op) is None
    if not atoms and (
        applied_first or not all(_suits_mma_sync_fragments(op, index, found, job) for index, found in boxes.items())
    ):
        return
    for load, _, box in boxes.values():
        load.tma, load.swizzle = True, WIDE if box.swizzle == WIDE else None
    for name, atom in atoms.items():
        op.set_value(name, atom.name)


def _mark_stationary_operands(func: Operation, job: Job) -> None:
    """Mark the operands that stay in shared memory, where wgmma computes all dots that read them."""
    for op in [as_op(op) for op in walk(func) if op.name == DOT and as_op(op).warpgroup is not None]:
        held = stationary_lhs(op, job)
        if held is not None and all(reader.warpgroup is not None for reader in dots_reading_same_lhs(op)):
            load, _, box = held
            load.tma, load.swizzle, op.stationary = True, WIDE if box.swizzle == WIDE else None, True


def _suits_mma_sync_fragments(op: TableOp, index: int, found: TmaOperand, job: Job) -> bool:
    """Whether mma.sync fragments are read without conflicts from the placement of TMA.

    ldmatrix does, if the fastest dimension in memory is k, or the elements have the 16 bits that it transposes. Other
    transposed elements are read one by one: 32-bit elements take two wavefronts, and for smaller ones
    SoftwarePipelineLoads chooses a placement.
    """
    _, chain, box = found
    shape = op.lhs.type.get_shape()
    if box.placement.element_bits in TRANSPOSED_BITS or select_mma_sync_atom(job.target, op) is None:
        return True
    placement = unwrap(smem_layout_after_views(chain, box.placement, renames_only=False))
    k_dim = len(shape) - 1 - index
    return unpack(placement.bases[0], placement.shape)[k_dim] != 0


def _wgmma_atom(op: TableOp, job: Job, warps: int, boxes: dict[int, Any]) -> WgmmaAtom | None:
    """The wgmma instruction of a dot whose operands have the memory order that it needs."""
    atom = wgmma_atom(op, job)
    if atom is None:
        return None
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    tiling = wgmma_tiling(m, n, k, ELEMENT_BITS[atom.a_type], warps)
    if tiling is None:
        return None
    columns = m * n * element_of(op.result.type).bits // 32
    if not accumulators_fit(columns, enclosing_kernel(op), job, warps):
        return None
    in_shared = readable(op, boxes, atom)
    if not in_shared and not _readable_with_a_via_registers(boxes, atom):
        return None
    partial = None
    if atom.promotion_interval:
        shared = in_shared and (0 in boxes or is_stationary(op, job))
        columns += 0 if shared else tiling.groups_n * m * k * tiling.element_bits // 32
        partial = _accumulator_promotion(
            tiling, max(atom.promotion_interval, job.fp8_promotion_interval), columns, enclosing_kernel(op), job
        )
        if partial is None:
            return None
    op.a_via_registers, op.promotion = not in_shared, partial
    return atom


def _accumulator_promotion(
    tiling: WgmmaTiling, promotion_k: int, regs: int, kernel: Operation, job: Job
) -> AccumulatorPromotion | None:
    """The widths of partial accumulators for which threads have registers beside ``words`` other ones of the dot.

    Wide ones come first, which read the left operand less often; then two at a time, one of which is added while the
    other is in flight.
    """
    warps = WARPS * tiling.groups_m * tiling.groups_n
    columns = tiling.columns
    while columns >= min(MIN_COLUMNS, tiling.columns):
        parts = tiling.m_tiles * (tiling.group_n // columns) * -(-tiling.k // promotion_k)
        for number in (2, 1):
            if number <= parts and accumulators_fit(
                regs + number * ROWS * columns * warps // WARPS, kernel, job, warps
            ):
                return AccumulatorPromotion(columns, number, promotion_k)
        columns //= 2
    return None


def _readable_with_a_via_registers(boxes: dict[int, Any], atom: WgmmaAtom) -> bool:
    """Whether wgmma reads the right operand, and threads read the left one without bank conflicts."""
    bits = ELEMENT_BITS[atom.a_type]
    return 0 in boxes and is_canonical_smem_layout(boxes[1], 0, atom) and rows_need_registers(boxes[0], 1, bits)


def _tcgen05_atom(op: TableOp, job: Job, warps: int, boxes: dict[int, Any]) -> Tcgen05Atom | None:
    """The tcgen05 instruction of a dot whose accumulators, and left operand unless it is loaded, fit in tensor memory."""
    scaled = op.lhs_scale is not None
    atom = select_block_scaled_tcgen05_atom(kernel_target(op, job), op) if scaled else unscaled_atom(op, job)
    if atom is None or len(op.lhs.type.get_shape()) != 2 or not readable(op, boxes, atom):
        return None
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    bits = ELEMENT_BITS[atom.a_type]
    unit = COLUMN_UNIT.get(min(m, LANES))
    if unit is None or n % unit or k < atom.k or scaled and (0 not in boxes or m < LANES or n > MAX_TMEM_COLUMNS):
        return None
    tiles = [tmem_tile(m, n, COLUMN_BITS, warps)]
    tiles += [] if 0 in boxes else [tmem_tile(m, k, bits, warps)]
    stages = min(max_stages(op), job.target.max_shared_memory // sum(box.tile_bytes for _, _, box in boxes.values()))
    scales = [stages * columns.tmem_columns for columns in scale_columns(op, warps)] if scaled else []
    held = [tile.total_tmem_columns for tile in tiles if tile is not None]
    if len(held) < len(tiles):
        return None
    words = sum(held) + sum(scales)
    if words + _tmem_columns_of_others(op, atom, boxes) > ALL_COLUMNS:
        return None
    op.tmem_columns = words
    return atom


def unscaled_atom(op: TableOp, job: Job) -> Tcgen05Atom | None:
    """The tcgen05 instruction for the types of a dot; None where there is none."""
    a, b, acc = element_types(op)
    return job.target.tcgen05_atom(a, b, acc)


def _tmem_columns_of_others(op: TableOp, atom: Tcgen05Atom, boxes: dict[int, Any]) -> int:
    """Columns of the kernel's other dots in tensor memory, without those that share columns with this one."""
    dots = (as_op(other) for other in walk(enclosing_kernel(op)) if other.name == op.name)
    others = [other for other in dots if other.tmem_columns is not None]
    op.tensor_memory = atom.name
    *keys, own = buffer_sharing_class([*((other, _tma_operand_indices(other)) for other in others), (op, boxes)])
    op.tensor_memory = None
    columns = {key: other.tmem_columns for key, other in zip(keys, others) if key != own}
    return sum(columns.values())


def _tma_operand_indices(op: TableOp) -> list[int]:
    return [index for index in (0, 1) if is_tma_operand(op, index)]


def readable(op: TableOp, boxes: dict[int, Any], atom: Any) -> bool:
    """Whether loaded operands have the placement that the instruction reads, and another left operand is computed.

    ``boxes`` become those with that placement.
    """
    if 0 not in boxes and dot_operand_load(op, 0) is not None:
        return False
    found = {index: as_instruction_reads(boxes[index], 1 - index, atom) for index in boxes}
    if None in found.values():
        return False
    boxes.update(found)
    return True


# What a dot is marked with -> who chooses its row; a target has one family at most.
FAMILIES = {"warpgroup": _wgmma_atom, "tensor_memory": _tcgen05_atom}
