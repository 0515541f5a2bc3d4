"""Let pairs of the CTAs of a cluster compute one MMA in tensor memory (tcgen05, cta_group::2).

In:    a kernel sharded over an even number of CTAs by the rows of its only dot, which is marked ``pair``: its
       accumulator starts from zero and stays in tensor memory during a loop; each CTA loads its rows of the left operand
       and all of the right one.
Out:   each CTA loads half of the columns of the right operand. ``pair`` on the pipeline, the dot and the tensor memory:
       once the stages of both CTAs are full, the first CTA of a pair, whose rank is even, issues dots of twice the rows, which read the stages and
       write the accumulators of both CTAs; their commit releases both stages. ``ctas`` on the accumulator's pipeline,
       which completes in both CTAs at once; if the loop runs again, umma_acquire waits until the warps of both have
       released the accumulator. Of block scales each CTA loads those of its rows,
       and of all columns: once the scale loaders of both have written a stage of them, one copy puts both to tensor memory.
After: specialize_warps. Before: multicast_loads (no replicated tile remains), allocate_shared_memory.
Sound: the accumulator of a CTA has its rows and all columns, as before (PTX ISA 9.0, section 9.7.16.10.5, Layout A; B where
       a CTA has 64 rows).
       Loops and coordinates do not depend on the rank except for the rows, so the n-th stages, and accumulators, of
       both CTAs correspond.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...ir.casting import as_op, unwrap
from ...ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AsyncTiledTmaLoadOp,
    CreateTmemOp,
    CtaRankOp,
    MakeTiledTmaDescOp,
    is_written_by_pair,
)
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, traits_of
from ...ir.layouts import SharedLayout
from ...ir.layouts.matrix_descriptor import WIDE
from ...ir.layouts.tmem_layout import PAIR
from ..analysis.enclosing_control_flow import enclosing_kernel
from ..analysis.integer_ranges import BoundsCheck
from ..analysis.tensor_windows import tile_order
from ..analysis.tma_tensor_maps import MapBox
from ..job import Job
from ..mma.dots import accumulates_in_tmem
from ..mma.family import tmem_mma_ops
from ..mma.halved_operands import half_of, halved
from ..pass_manager import EdgePass
from .op_insertion import Inserter, insert_before, insertion_before
from .subtile_indices import clamped_index, relax_checks_past_end, scaled_index

BlockTileOp = COUNTERPARTS["nv_tileaa.block_tile"]


class UseTwoCtaMma(EdgePass):
    """Two-CTA MMAs."""

    name = "tileas-use-two-cta-mma"
    knob = "two_cta_mma"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        dot = next((as_op(op) for op in walk(func) if accumulates_in_tmem(op) and as_op(op).pair), None)
        if dot is None or not job.target.has("tma_cta_group"):
            return False
        _make_cta_pair(func, dot)
        return True


def _load_of(buffer: SSAValue) -> TableOp:
    return as_op(next(use.operation for use in buffer.uses if use.operation.name == AsyncTiledTmaLoadOp.name))


def _half(op: TableOp) -> tuple[int, SharedLayout, SharedLayout]:
    """``half_of`` for the right operand."""
    load = _load_of(op.rhs)
    return unwrap(half_of(load.view.type, _box_of(load), load.buffer.type.placement.data, op.rhs_placement))


def _box_of(load: TableOp) -> MapBox:
    descriptor = load.desc.owner
    return MapBox(tuple(descriptor.dims), tuple(descriptor.box), descriptor.swizzle_mode, descriptor.rounds)


def _order(load: TableOp) -> list[int]:
    """The tile's dimensions, fastest in memory first."""
    return tile_order(load.view.type, load.desc.owner.dims)


# ---- rewriting -------------------------------------------------------------------------------
def _make_cta_pair(func: Operation, op: TableOp) -> None:
    if not _is_written(op.rhs):
        _halve_right_operand(op)
    op.pipeline.owner.pair = True
    _share_scales(func, op)
    for other in walk(func):
        if other.name == CreateTmemOp.name:
            as_op(other).pair = True
    [commit] = (as_op(one) for one in walk(func) if MmaRole.COMMIT in traits_of(one).mma)
    commit.ready.owner.ctas = PAIR


def _share_scales(func: Operation, dot: TableOp) -> None:
    """Let the first CTA wait for the block scales that the scale loaders of both CTAs have written. Operands that their threads write
    have a pipeline of the pair already.
    """
    kind = tmem_mma_ops(dot).release
    for created in [as_op(op).pipeline.owner for op in walk(func) if isinstance(op, kind)]:
        if not is_written_by_pair(created.results[0]):
            created.pair, created.writers = True, created.producers


def _halve_right_operand(op: TableOp) -> None:
    """Let each CTA load half of the right operand; where threads copy it, they copy that half already."""
    columns, half, seen = _half(op)
    _load_half(_load_of(op.rhs), columns, half)
    whole = op.rhs.type
    smaller = BufferType(whole.element_type, whole.stages, SharedLayoutAttr(half))
    Rewriter.replace_value_with_new_type(op.rhs, smaller)
    op.pipeline.owner.bytes -= whole.stage_bytes - smaller.stage_bytes
    op.rhs_placement = seen


def _load_half(load: TableOp, dim: int, half: SharedLayout) -> None:
    """The CTA's half of the columns: a smaller tile, whose coordinate is offset by the rank."""
    old, descriptor = load.view.type, load.desc.owner
    tile, steps, box = halved(old.tile, dim), list(old.steps), list(descriptor.box)
    steps[dim] = tile[dim]
    insert = insertion_before(load)
    index = [name for name, _ in load.operand_groups].index("coords") + dim
    scaled = scaled_index(clamped_index(load, dim, insert), old.steps[dim] // tile[dim], insert)
    load.operands[index] = insert.binary("add", scaled, _rank_in_pair(load, insert))
    relax_checks_past_end(load, [dim], replaced_check=BoundsCheck.ANY)
    position = _order(load).index(dim)
    box[position] = min(box[position], tile[dim])
    swizzle = WIDE if descriptor.swizzle_mode == WIDE else f"{box[0] * half.element_bits // 8}B"
    operands, types = list(descriptor.operands), [descriptor.result.type]
    new_descriptor = MakeTiledTmaDescOp.make(operands, types, descriptor.attributes, box=box, swizzle_mode=swizzle)
    type_ = TiledViewType.of(old.kind.data, old.source, tile, old.dim_map, steps, padding=old.padding.data)
    view = BlockTileOp.make([load.view.owner.operands[0]], [type_])
    load.operands[0] = insert_before(view, load.view.owner)
    load.operands[1] = insert_before(new_descriptor, descriptor)
    if not list(descriptor.results[0].uses):
        descriptor.detach()
        descriptor.erase()


def _rank_in_pair(load: Operation, insert: Inserter) -> SSAValue:
    kernel = as_op(enclosing_kernel(load))
    rank = next(op for op in walk(kernel) if op.name == CtaRankOp.name).results[0]
    return rank if kernel.num_ctas == PAIR else insert.binary("and", rank, PAIR - 1)


def _is_written(buffer: SSAValue) -> bool:
    """Whether threads write an operand."""
    return not any(use.operation.name == AsyncTiledTmaLoadOp.name for use in buffer.uses)
