"""Choose the tiles that TMA fetches, and the products that warpgroups make of them.

In:    nv_tileas products in counted loops, without layouts.
Out:   ``tma`` on the tiled_loads whose tiles TMA will bring to shared memory ahead of time, ``swizzle`` where they must
       lie there in another way than others; ``warpgroup`` (a wgmma row of the target) or ``tensor_memory`` (a tcgen05
       row) on the products that read them there; ``scattered_rows`` on a warpgroup product whose left operand comes from
       there through registers; ``partial_sums`` on one whose tensor core keeps too few bits of a long sum: the columns of
       a sum of part of k, and how many of them a thread holds at a time.
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

from ...ir.casting import given, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_entry
from ...ir.layouts import tensor_memory_tile, unpack, warpgroup_tiling
from ...ir.layouts.matrix_descriptor import WIDE
from ...ir.layouts.tmem_layout import ALL_COLUMNS, COLUMN_BITS, MOST_COLUMNS
from ...ir.layouts.tmem_layout import ROWS as LANES
from ...ir.layouts.wgmma_layout import ROWS, WARPS, WarpgroupTiling
from ...target.targets import ELEMENT_BITS, TensorMemoryAtom, WarpgroupAtom
from ..analysis.axis_info import AxisAnalysis
from ..analysis.buffer_sharing import ring_keys
from ..analysis.chained_dots import DOT
from ..analysis.kernel_target import kernel_target
from ..analysis.mma_atom_selection import PartialSums, choose_atom, scale_columns, scaled_tensor_atom
from ..analysis.resource_model import LEAST_WARPS, choose_warps, most_stages, sums_fit, two_stages_fit
from ..analysis.stationary_operands import readers_of, resident_operand, stays_in_shared
from ..analysis.tma_operands import (
    Found,
    as_read,
    element_types,
    fetched,
    is_canonical,
    is_fetched,
    is_scattered,
    may_fetch,
    may_run_ahead,
    warpgroup_row,
)
from ..analysis.view_chains import choices_around_loops, kernel_of, placement_after, source_load
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass

LEAST_COLUMNS = 32  # of a partial sum: fewer leave the tensor core waiting for its operands
TRANSPOSED_BITS = (16, 32)
COLUMN_UNIT = {128: 16, 64: 8}  # rows of a tcgen05 product -> what its columns are a multiple of


class SelectAsync(EdgePass):
    """TMA loads and warpgroup products."""

    name = "tileas-select-async"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.target.has("tma"):
            return
        for func in module.body.block.ops:
            if is_entry(func) and (warps := choose_warps(func, job)) >= LEAST_WARPS:
                _select(func, job, warps)


def _select(func: Operation, job: Job, warps: int) -> None:
    if not may_fetch(func):
        return
    analysis = AxisAnalysis()
    for op in walk(func):
        if op.name == DOT and may_run_ahead(op):
            _select_product(row(op), job, warps, analysis)
    _keep_left_operands(func, job)


def _select_product(op: TableOperation, job: Job, warps: int, analysis: AxisAnalysis) -> None:
    boxes = {index: found for index in (0, 1) if (found := fetched(op, index, job, analysis)) is not None}
    bytes = sum(box.tile_bytes for _, _, box in boxes.values())
    if choices_around_loops(op) and (len(boxes) < 2 or op.lhs_scale is not None):
        return  # what else comes before the loop would have to come in each arm
    # A right operand may be computed; one that is loaded is fetched, or else nothing is.
    if not boxes or (1 not in boxes and source_load(op, 1) is not None) or not two_stages_fit(bytes, job):
        return
    # Instructions that read shared memory read the right operand there; fragments of either one are read from there.
    families = FAMILIES if 1 in boxes else {}
    atoms = {name: atom for name, choose in families.items() if (atom := choose(op, job, warps, boxes)) is not None}
    applied_first = op.lhs_scale is not None and choose_atom(kernel_target(op, job), op) is None
    if not atoms and (
        applied_first or not all(_suits_fragments(op, index, found, job) for index, found in boxes.items())
    ):
        return
    for load, _, box in boxes.values():
        load.tma, load.swizzle = True, WIDE if box.swizzle == WIDE else None
    for name, atom in atoms.items():
        op.set_value(name, atom.name)


def _keep_left_operands(func: Operation, job: Job) -> None:
    """Those that stay in shared memory, where warpgroups make all products that read them."""
    for op in [row(op) for op in walk(func) if op.name == DOT and row(op).warpgroup is not None]:
        held = resident_operand(op, job)
        if held is not None and all(reader.warpgroup is not None for reader in readers_of(op)):
            load, _, box = held
            load.tma, load.swizzle, op.resident = True, WIDE if box.swizzle == WIDE else None, True


def _suits_fragments(op: TableOperation, index: int, found: Found, job: Job) -> bool:
    """Whether warps read their fragments of an operand well from TMA's placement.

    ldmatrix does, if the memory's fastest dimension is k or elements have the 16 bits that it transposes. Other
    transposed elements are read one by one: those of 32 bits in two wavefronts, for smaller ones PipelineLoads chooses a
    placement.
    """
    _, chain, box = found
    shape = op.lhs.type.get_shape()
    if box.placement.element_bits in TRANSPOSED_BITS or choose_atom(job.target, op) is None:
        return True
    placement = given(placement_after(chain, box.placement, renames_only=False))
    k_dim = len(shape) - 1 - index
    return unpack(placement.bases[0], placement.shape)[k_dim] != 0


def _warpgroup_atom(op: TableOperation, job: Job, warps: int, boxes: dict[int, Any]) -> WarpgroupAtom | None:
    """The wgmma row for a product whose operands lie as the row wants them."""
    atom = warpgroup_row(op, job)
    if atom is None:
        return None
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    tiling = warpgroup_tiling(m, n, k, ELEMENT_BITS[atom.a_type], warps)
    if tiling is None:
        return None
    words = m * n * element_of(op.result.type).bits // 32
    if not sums_fit(words, kernel_of(op), job, warps):
        return None
    in_shared = readable(op, boxes, atom)
    if not in_shared and not _readable_through_registers(boxes, atom):
        return None
    partial = None
    if atom.partial_k:
        shared = in_shared and (0 in boxes or stays_in_shared(op, job))
        words += 0 if shared else tiling.groups_n * m * k * tiling.element_bits // 32
        partial = _partial_sums(tiling, max(atom.partial_k, job.fp8_sum_k), words, kernel_of(op), job)
        if partial is None:
            return None
    op.scattered_rows, op.partial_sums = not in_shared, partial
    return atom


def _partial_sums(
    tiling: WarpgroupTiling, partial_k: int, words: int, kernel: Operation, job: Job
) -> PartialSums | None:
    """The partial sums for which threads have registers beside so many other ``words`` of the product.

    Wide ones first, which read the left operand less often; then two, of which one is added while the other is under way.
    """
    warps = WARPS * tiling.groups_m * tiling.groups_n
    columns = tiling.columns
    while columns >= min(LEAST_COLUMNS, tiling.columns):
        parts = tiling.m_tiles * (tiling.group_n // columns) * -(-tiling.k // partial_k)
        for number in (2, 1):
            if number <= parts and sums_fit(words + number * ROWS * columns * warps // WARPS, kernel, job, warps):
                return PartialSums(columns, number, partial_k)
        columns //= 2
    return None


def _readable_through_registers(boxes: dict[int, Any], atom: WarpgroupAtom) -> bool:
    """Whether the instruction reads the right operand, and threads the left one without bank conflicts."""
    bits = ELEMENT_BITS[atom.a_type]
    return 0 in boxes and is_canonical(boxes[1], 0, atom) and is_scattered(boxes[0], 1, bits)


def _tensor_memory_atom(op: TableOperation, job: Job, warps: int, boxes: dict[int, Any]) -> TensorMemoryAtom | None:
    """The tcgen05 row for such a product whose accumulators, and left operand unless it is fetched, fit in tensor memory."""
    scaled = op.lhs_scale is not None
    atom = scaled_tensor_atom(kernel_target(op, job), op) if scaled else unscaled_atom(op, job)
    if atom is None or len(op.lhs.type.get_shape()) != 2 or not readable(op, boxes, atom):
        return None
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    bits = ELEMENT_BITS[atom.a_type]
    unit = COLUMN_UNIT.get(min(m, LANES))
    if unit is None or n % unit or k < atom.k or scaled and (0 not in boxes or m < LANES or n > MOST_COLUMNS):
        return None
    tiles = [tensor_memory_tile(m, n, COLUMN_BITS, warps)]
    tiles += [] if 0 in boxes else [tensor_memory_tile(m, k, bits, warps)]
    stages = min(most_stages(op), job.target.max_shared_memory // sum(box.tile_bytes for _, _, box in boxes.values()))
    scales = [stages * columns.words for columns in scale_columns(op, warps)] if scaled else []
    held = [tile.total_words for tile in tiles if tile is not None]
    if len(held) < len(tiles):
        return None
    words = sum(held) + sum(scales)
    if words + _taken_by_others(op, atom, boxes) > ALL_COLUMNS:
        return None
    op.tensor_words = words
    return atom


def unscaled_atom(op: TableOperation, job: Job) -> TensorMemoryAtom | None:
    """The tcgen05 row for the types of a product; None where there is none."""
    a, b, sums = element_types(op)
    return job.target.tensor_memory_atom(a, b, sums)


def _taken_by_others(op: TableOperation, atom: TensorMemoryAtom, boxes: dict[int, Any]) -> int:
    """Columns of the kernel's products that have tensor memory already; those that this one shares do not count."""
    dots = (row(other) for other in walk(kernel_of(op)) if other.name == op.name)
    others = [other for other in dots if other.tensor_words is not None]
    op.tensor_memory = atom.name
    *keys, own = ring_keys([*((other, _fetched_indices(other)) for other in others), (op, boxes)])
    op.tensor_memory = None
    words = {key: other.tensor_words for key, other in zip(keys, others) if key != own}
    return sum(words.values())


def _fetched_indices(op: TableOperation) -> list[int]:
    return [index for index in (0, 1) if is_fetched(op, index)]


def readable(op: TableOperation, boxes: dict[int, Any], atom: Any) -> bool:
    """Whether what is fetched lies as the instruction reads it, and a left operand that is not is computed, not loaded.

    ``boxes`` become those in which it does.
    """
    if 0 not in boxes and source_load(op, 0) is not None:
        return False
    found = {index: as_read(boxes[index], 1 - index, atom) for index in boxes}
    if None in found.values():
        return False
    boxes.update(found)
    return True


# What a product is marked with -> who chooses its row; a target has one family at most.
FAMILIES = {"warpgroup": _warpgroup_atom, "tensor_memory": _tensor_memory_atom}
