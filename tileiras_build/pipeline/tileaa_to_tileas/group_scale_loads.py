"""Load the block scales of several iterations at once, as many as fit in one L2 sector.

In:    counted loops with a dot in tensor memory whose scales are loaded in each iteration, a few bytes of each line.
Out:   each load has the scales of ``steps`` iterations: a sector of a line, or half of one. The dot has the same
       attribute and selects the scales of its iteration. All iterations of a group load the same tile; specialize_warps
       and software_pipeline_loads then load it once per group. Views and indices that no iteration changes are before the loop.
After: expand_block_scales (dots keep their scales). Before: assign_layouts, specialize_warps, software_pipeline_loads.
Sound: the loop counts from 0 in steps of 1 and nothing in it writes memory, so a load may move to another iteration.
       Each tile starts at the tile of its group's first iteration; the elements that an iteration reads are in bounds,
       or padding, as before.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.casting import as_op, defining_table_op, parent_block, tile_type, unwrap, view_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS, BarrierOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import has_side_effects
from ...ir.layouts.tmem_layout import ALL_COLUMNS, SCALES_PER_REGISTER, WARPS, allocated_columns
from ..analysis.enclosing_control_flow import enclosing_kernel
from ..analysis.op_queries import is_outside, is_pure, may_divide_by_zero
from ..analysis.resource_model import estimated_ctas_per_sm, max_stages
from ..analysis.scale_lines import FIRST_SCALE, is_tiled_without_gaps, lines_are_vectors
from ..analysis.scale_stage_counts import is_canonical_loop, tmem_scale_groups
from ..common.llvm_element_types import element_of
from ..job import Job
from ..mma.tmem_tiles import scale_columns, tmem_tiles
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter
from .op_insertion import group_index, insert_before, insertion_before
from .software_pipelining.async_stage_copies import erase_dead

BlockTileOp, TiledLoadOp, PermuteOp, DotOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("block_tile", "tiled_load", "permute", "dot")
)
GROUP_BYTES = (32, 16)  # of a line: a sector of L2, or half of one where tensor memory is too small


@dataclass
class _Scale:
    """The load of one operand's scales, the permute between it and the dot if there is one, and the dimension of the
    load along k.
    """

    load: TableOp
    permute: TableOp | None
    dim: int

    @property
    def count(self) -> int:
        """Scales of a line for one iteration."""
        return self.load.view.type.tile[self.dim]


def _group(rewriter: Rewriter, op: TableOp) -> None:
    if op.lhs_scale is None or op.mma is None:
        return
    found = [_scale(op, FIRST_SCALE + side) for side in (0, 1)]
    scales = [scale for scale in found if scale is not None]
    if len(scales) < len(found) or not _is_plain(op.parent_op()):
        return
    block = parent_block(op)
    found_steps = (
        steps for size in GROUP_BYTES if (steps := size // scales[0].count) > 1 and _fits(op, steps, rewriter.job)
    )
    steps = next(found_steps, 1)
    for value in (value for scale in scales for value in (scale.load.view, *scale.load.coords)):
        _move_before_loop(value, block)
    if steps == 1 or not all(_may_be_widened(scale, block) for scale in scales):
        return
    wide = [_widened(scale, steps, block) for scale in scales]
    regs = _scale_registers(op, steps)
    dot = DotOp.make([op.lhs, op.rhs, op.acc, *wide], [op.result.type], op.attributes, scale_steps=steps)
    dot.tmem_columns = regs
    insert_before(dot, op)
    op.result.replace_all_uses_with(dot.result)
    erase_dead(op, *(one for scale in scales for one in (scale.permute, scale.load) if one is not None))


def _is_plain(loop: Operation | None) -> bool:
    """Whether a loop is counted from 0 in steps of 1, and nothing in it writes memory or waits for another thread."""
    if loop is None or not is_canonical_loop(loop):
        return False
    return not any(has_side_effects(op) or isinstance(op, BarrierOp) for op in walk(loop))


def _move_before_loop(value: SSAValue, block: Block) -> bool:
    """Compute a value before the loop with this body if no iteration changes it, as the part of a tile that a CTA has; whether it is
    outside of the loop then.
    """
    if is_outside(value, block):
        return True
    op = value.owner
    if (
        not isinstance(op, Operation)
        or op.parent is not block
        or op.regions
        or not is_pure(op)
        or may_divide_by_zero(op)
    ):
        return False
    if not all([_move_before_loop(operand, block) for operand in op.operands]):
        return False
    op.detach()
    insertion_before(unwrap(block.parent_op()))(op)
    return True


def _scale(op: TableOp, index: int) -> _Scale | None:
    """The scales of an operand if they are loaded for it alone; None otherwise."""
    value, permute = op.operands[index], None
    dim = 1 if index == FIRST_SCALE else 0
    if isinstance(new_op := value.owner, Operation) and new_op.name == PermuteOp.name and _single(value):
        permute, dim, value = as_op(new_op), as_op(new_op).permutation[dim], new_op.operands[0]
    new_op = value.owner
    if not isinstance(new_op, Operation) or new_op.name != TiledLoadOp.name or not _single(value):
        return None
    return _Scale(as_op(new_op), permute, dim)


def _single(value: SSAValue) -> bool:
    return len(list(value.uses)) == 1


def _may_be_widened(scale: _Scale, block: Block) -> bool:
    """Whether the lines of scales are contiguous, made of vectors of 16 bytes, and each iteration reads whole 32-bit
    words.
    """
    load, dim, type = scale.load, scale.dim, scale.load.view.type
    others = [coord for at, coord in enumerate(load.coords) if at != dim]
    if load.parent is not block or load.coords[dim] is not block.args[0] or not is_outside(load.view, block):
        return False
    if not all(is_outside(coord, block) for coord in others) or not is_tiled_without_gaps(type):
        return False
    if type.padding.data not in ("none", "zero"):
        return False
    if load.mem_semantic != "weak" or element_of(load.value.type).bits != 8 or scale.count % SCALES_PER_REGISTER:
        return False
    return lines_are_vectors(load, dim)


# ---- tensor memory -------------------------------------------------------------------------------------
def _scale_registers(op: TableOp, steps: int) -> int:
    """Tensor memory columns of a dot whose scales are grouped, for any number of warps."""
    acc_columns = tmem_tiles(op, WARPS)[1].total_tmem_columns
    columns = sum(one.tmem_columns for one in scale_columns(op, WARPS))
    return acc_columns + tmem_scale_groups(steps, max_stages(op)) * steps * columns


def _fits(op: TableOp, steps: int, job: Job) -> bool:
    """Whether tensor memory has columns for it in each CTA of an SM, or the kernel allocates no more than before."""
    kernel = enclosing_kernel(op)
    dots = (as_op(other) for other in walk(kernel) if other.name == op.name)
    before = sum(dot.tmem_columns or 0 for dot in dots)
    after = before - op.tmem_columns + _scale_registers(op, steps)
    most = max(allocated_columns(before), ALL_COLUMNS // estimated_ctas_per_sm(kernel, job))
    return allocated_columns(after) <= min(most, ALL_COLUMNS)


# ---- the tiles of a group ------------------------------------------------------------------------------
def _widened(scale: _Scale, steps: int, block: Block) -> SSAValue:
    load, dim = scale.load, scale.dim
    coords = list(load.coords)
    coords[dim] = group_index(block.args[0], steps, insertion_before(load))
    tile = _wide(load.value, dim, steps)
    types: list[Attribute] = [tile, *(result.type for result in load.results[1:])]
    attributes = dict(load.attributes)
    new_op = TiledLoadOp.make([_wide_view(load.view, dim, steps), coords, load.token], types, attributes, steps=steps)
    insert_before(new_op, load)
    for old, new in zip(load.results[1:], new_op.results[1:]):
        old.replace_all_uses_with(new)
    if (permute := scale.permute) is None:
        return new_op.results[0]
    turned = TensorType(tile.element_type, [tile.get_shape()[at] for at in permute.permutation])
    return insert_before(PermuteOp.make([new_op.results[0]], [turned], dict(permute.attributes)), permute)


def _wide(value: SSAValue, dim: int, steps: int) -> TensorType:
    shape = list(tile_type(value).get_shape())
    shape[dim] *= steps
    return TensorType(tile_type(value).element_type, shape)


def _wide_view(view: SSAValue, dim: int, steps: int) -> SSAValue:
    """The view of the same memory in tiles ``steps`` times as long along ``dim``."""
    block, type = defining_table_op(view), view_type(view)
    tile, step = ([n * steps if at == dim else n for at, n in enumerate(n)] for n in (type.tile, type.steps))
    new_type = TiledViewType.of(type.kind.data, type.source, tile, type.dim_map, step, padding=type.padding.data)
    wide = BlockTileOp.make([block.operands[0]], [new_type], dict(block.attributes))
    parent_block(block).insert_op_after(wide, block)
    return wide.results[0]


class GroupScaleLoads(EdgePass):
    """One load for the scales of several iterations."""

    name = "tileas-group-scale-loads"
    rules = RuleTable({"nv_tileas.dot": _group})
