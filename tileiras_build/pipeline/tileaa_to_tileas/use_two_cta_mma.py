"""Let the two CTAs of a cluster compute one MMA in tensor memory (tcgen05, cta_group::2).

In:    a kernel sharded over two CTAs by the rows of its only dot, whose accumulator starts from zero and stays in
       tensor memory during a loop: each CTA loads its rows of the left operand and all of the right one.
Out:   each CTA loads half of the columns of the right operand. ``pair`` on the pipeline, the dot and the tensor memory:
       once the stages of both CTAs are full, the CTA of rank 0 issues dots of twice the rows, which read the stages and
       write the accumulators of both CTAs; their commit releases both stages. ``ctas`` on the accumulator's pipeline,
       which completes in both CTAs at once; if the loop runs again, umma_acquire waits until the warps of both have
       released the accumulator. The pipeline has more stages, as they are smaller.
After: specialize_warps. Before: multicast_loads (no replicated tile remains), allocate_shared_memory.
Sound: the accumulator of a CTA has its rows and all columns, as before (PTX ISA 9.0, section 9.7.16.10.5, Layout A).
       Loops and coordinates do not depend on the rank except for the rows, so the n-th stages, and accumulators, of
       both CTAs correspond.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...ir.casting import as_op, parent_op, unwrap
from ...ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AsyncTiledTmaLoadOp,
    CreateTmemOp,
    CtaRankOp,
    MakeTiledTmaDescOp,
    TmemStoreOp,
)
from ...ir.dialects.nv_tileas.types import BufferType, PipelineType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, is_counted_loop, is_function, traits_of
from ...ir.layouts import SharedLayout, matrix_operand
from ...ir.layouts.matrix_descriptor import WIDE, WIDE_CHUNK
from ...ir.layouts.tmem_layout import MAX_TMEM_COLUMNS, PAIR, PAIR_COLUMN_UNIT, ROWS
from ..analysis.access_vectorization import VECTOR_BYTES
from ..analysis.cluster_uniformity import is_rank_dependent
from ..analysis.enclosing_control_flow import enclosing_kernel
from ..analysis.integer_ranges import BoundsCheck
from ..analysis.resource_model import max_stages
from ..analysis.tma_tensor_maps import LONGEST_LINE, PATTERN_LINES, SHORTEST_SWIZZLED_LINE
from ..job import Job
from ..mma.dots import accumulates_in_tmem
from ..pass_manager import EdgePass
from ..schedule.choose import Candidate, hear, is_declined
from ..schedule.schedule_attribute import set_knobs
from ..schedule.schedule_file import requested
from .op_insertion import insert_before, insertion_before
from .subtile_indices import clamped_index, relax_checks_past_end, scaled_index

BlockTileOp = COUNTERPARTS["nv_tileaa.block_tile"]


class UseTwoCtaMma(EdgePass):
    """Two-CTA MMAs."""

    name = "tileas-use-two-cta-mma"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.target.has("tma_cta_group"):
            return
        for func in module.body.block.ops:
            if not is_function(func) or as_op(func).num_ctas != PAIR or is_declined(func, "two_cta_mma"):
                continue
            if (dot := _only_dot(func)) is not None:
                _make_cta_pair(func, dot, job)


# ---- matching --------------------------------------------------------------------------------
def _only_dot(func: Operation) -> TableOp | None:
    """The dot that a CTA pair can compute; None if there is none."""
    found = [op for op in walk(func) if accumulates_in_tmem(op)]
    if len(found) != 1 or any(isinstance(op, TmemStoreOp) and op.enabled is None for op in walk(func)):
        return None
    [op] = found
    if _is_overwritten(func):
        return None
    m, n, _ = op.shape
    fits = m % ROWS == 0 and n % PAIR_COLUMN_UNIT == 0 and n <= MAX_TMEM_COLUMNS
    if not fits or op.lhs_stage is None or op.ready is not None or op.lhs_scale is not None:
        return None
    if not all(_is_loaded_by_tma(buffer) for buffer in (op.lhs, op.rhs)):
        return None
    return op if _is_row_sharded(op) and _half(op) is not None else None


def _is_loaded_by_tma(buffer: SSAValue) -> bool:
    return any(use.operation.name == AsyncTiledTmaLoadOp.name for use in buffer.uses)


def _is_overwritten(func: Operation) -> bool:
    """Whether an accumulator is overwritten repeatedly, with a barrier of one CTA in between."""
    again = any(is_counted_loop(parent_op(op)) for op in _with_role(func, MmaRole.COMMIT))
    return again and not _with_role(func, MmaRole.ACQUIRE)


def _with_role(func: Operation, role: MmaRole) -> list[TableOp]:
    return [as_op(op) for op in walk(func) if role in traits_of(op).mma]


def _load_of(buffer: SSAValue) -> TableOp:
    return as_op(next(use.operation for use in buffer.uses if use.operation.name == AsyncTiledTmaLoadOp.name))


def _is_row_sharded(op: TableOp) -> bool:
    return is_rank_dependent(_load_of(op.lhs)) and not is_rank_dependent(_load_of(op.rhs))


def _half(op: TableOp) -> tuple[int, SharedLayout, SharedLayout] | None:
    """(dimension of the loaded tile that is the columns, placement of half of it, the same in the dot's dimensions)."""
    load, old = _load_of(op.rhs), op.rhs_placement
    whole = load.buffer.type.placement.data
    for columns, permutation in ((1, [0, 1]), (0, [1, 0])):
        if len(whole.shape) == 2 and whole.permute_dims(permutation) == old:
            half = _placed(load, columns)
            if half is None:
                continue
            seen = half.permute_dims(permutation)
            if _majorness(seen) == _majorness(old) is not None:
                return columns, half, seen
    return None


def _majorness(placement: SharedLayout) -> bool | None:
    operand = matrix_operand(placement, 0)
    return None if operand is None else operand.k_major


def _placed(load: TableOp, dim: int) -> SharedLayout | None:
    """Half a tile as TMA puts it into shared memory; None where TMA cannot."""
    tile, order, bytes = _halved(load, dim), _order(load), load.buffer.type.placement.data.element_bits // 8
    line, wide = min(LONGEST_LINE, tile[order[0]] * bytes), _is_wide(load)
    if line < (LONGEST_LINE if wide else SHORTEST_SWIZZLED_LINE) or tile[0] * tile[1] * bytes % (line * PATTERN_LINES):
        return None
    return SharedLayout.boxed(tile, order, 8 * bytes, line, WIDE_CHUNK if wide else VECTOR_BYTES)


def _is_wide(load: TableOp) -> bool:
    return load.desc.owner.swizzle_mode == WIDE


def _halved(load: TableOp, dim: int) -> list[int]:
    return [extent // PAIR if index == dim else extent for index, extent in enumerate(load.view.type.tile)]


def _order(load: TableOp) -> list[int]:
    """The tile's dimensions, fastest in memory first."""
    return [load.view.type.dim_map.index(dim) for dim in load.desc.owner.dims]


# ---- rewriting -------------------------------------------------------------------------------
def _make_cta_pair(func: Operation, op: TableOp, job: Job) -> None:
    columns, half, seen = unwrap(_half(op))
    load = _load_of(op.rhs)
    _load_half(load, columns, half)
    op.pair, op.rhs_placement = True, seen
    set_knobs(func, two_cta_mma=True, num_stages=_resize(op, half, requested(job).num_stages))
    for other in walk(func):
        if other.name == CreateTmemOp.name:
            as_op(other).pair = True
    [commit] = _with_role(func, MmaRole.COMMIT)
    commit.ready.owner.ctas = PAIR


def _load_half(load: TableOp, dim: int, half: SharedLayout) -> None:
    """The CTA's half of the columns: a smaller tile, whose coordinate is offset by the rank."""
    old, descriptor = load.view.type, load.desc.owner
    tile, steps, box = _halved(load, dim), list(old.steps), list(descriptor.box)
    steps[dim] = tile[dim]
    insert = insertion_before(load)
    index = [name for name, _ in load.operand_groups].index("coords") + dim
    scaled = scaled_index(clamped_index(load, dim, insert), old.steps[dim] // tile[dim], insert)
    load.operands[index] = insert.binary("add", scaled, _rank(load))
    relax_checks_past_end(load, [dim], replaced_check=BoundsCheck.ANY)
    position = _order(load).index(dim)
    box[position] = min(box[position], tile[dim])
    swizzle = WIDE if _is_wide(load) else f"{box[0] * half.element_bits // 8}B"
    operands, types = list(descriptor.operands), [descriptor.result.type]
    new_descriptor = MakeTiledTmaDescOp.make(operands, types, descriptor.attributes, box=box, swizzle_mode=swizzle)
    type_ = TiledViewType.of(old.kind.data, old.source, tile, old.dim_map, steps, padding=old.padding.data)
    view = BlockTileOp.make([load.view.owner.operands[0]], [type_])
    load.operands[0] = insert_before(view, descriptor)
    load.operands[1] = insert_before(new_descriptor, descriptor)
    if not list(descriptor.results[0].uses):
        descriptor.detach()
        descriptor.erase()


def _rank(load: Operation) -> SSAValue:
    return next(op for op in walk(enclosing_kernel(load)) if op.name == CtaRankOp.name).results[0]


def _resize(op: TableOp, half: SharedLayout, wanted: int | None) -> int:
    """As many stages as the memory of the old ones holds, each with half of the right operand; or the requested ones."""
    pipeline, stages = op.pipeline, op.pipeline.type.stages.data
    left, right = op.lhs.type, op.rhs.type
    available = (left.stage_bytes + right.stage_bytes) * stages
    types = [left, BufferType(right.element_type, right.stages, SharedLayoutAttr(half))]
    size = sum(type.stage_bytes for type in types)
    fitting = max(stages, min(max_stages(op), available // size))
    chosen = min(fitting, wanted or fitting)
    hear(enclosing_kernel(op), "num_stages", chosen, [Candidate(number) for number in range(fitting, 0, -1)])
    count = IntAttr(chosen)
    for buffer, type in zip((op.lhs, op.rhs), types):
        Rewriter.replace_value_with_new_type(buffer, BufferType(type.element_type, count, type.placement))
    pipeline.owner.pair, pipeline.owner.bytes = True, size
    Rewriter.replace_value_with_new_type(pipeline, PipelineType(count))
    return chosen
