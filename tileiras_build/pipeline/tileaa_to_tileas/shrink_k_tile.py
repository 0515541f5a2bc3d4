"""Shrink the k tile of dots if two stages of their operands do not fit in shared memory.

In:    counted loops that load the tiles of one dot and their block scales, at the induction variable along k, and
       accumulate it into a loop-carried accumulator.
Out:   if two stages exceed the target's shared memory, the loop runs a power of two times as often over tiles that are
       shorter along k by that factor: two stages then fit, so copies overlap the dot. In a loop over output tiles, TMA
       refills the stages while results are stored, so the scratch of the store is counted, too.
       In other counted loops whose dots load more per iteration than shared memory holds, each dot becomes a loop over
       k with as many steps as two stages of all operands need, or nearly. An operand that was loaded before the loop is
       loaded again in each step; a computed operand is sliced. So does a dot that no loop accumulates, of which two stages
       do not fit, and whose block loads both operands right before it.
After: legalize_dot (operand types are final), loop_over_tile_slices (tiles have their rows). Before: insert_token_barriers, and
       all passes that choose copies.
Sound: iteration i of the old loop is iterations i f to i f + f - 1 of the new one, which load the same elements in
       order of k, and a dot accumulates over k in that order. Nothing else in the loop depends on its index, writes
       memory or changes loop-carried values. Loads in a loop over k execute later, but not after a write: neither their
       loop nor the operations between it and an earlier load write, and no token orders the load after anything.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, is_int_constant, parent_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import has_side_effects, is_counted_loop, is_function
from ..analysis.convert_layout_op_plans import DEFAULT_CHUNK_BYTES
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.enclosing_control_flow import has_no_early_exit, is_accumulation_loop
from ..analysis.op_queries import DOT
from ..analysis.resource_model import two_stages_fit
from ..analysis.scalar_slice import TOKEN
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass
from .k_tiled_operands import FACTORS, SCALES, KTiledOperand, k_tiled_operand
from .op_insertion import insertion_before
from .software_pipelining.tile_k_loop import MIN_LINE_BYTES, tile_k_loops, tile_k_of_dot

UPPER = 1  # operand of a loop, after its lower bound


class ShrinkKTile(EdgePass):
    """Shorter k tiles, in more iterations."""

    name = "tileas-shrink-k-tile"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if op.name == DOT and (operands := _operands(as_op(op))) is not None:
                factor = _shrink_factor(as_op(op), operands, job)
                if factor > 1:
                    _shrink(as_op(op), operands, factor)
        for loop in [op for op in walk(module) if is_counted_loop(op)]:
            tile_k_loops(loop, job)
        for dot in [as_op(op) for op in walk(module) if op.name == DOT and as_op(op).lhs_scale is None]:
            tile_k_of_dot(dot, job)


def _operands(dot: TableOp) -> list[KTiledOperand] | None:
    """Both operands of a dot, and their scales, if its loop may use a shorter k tile."""
    loop = dot.parent_op()
    if loop is None or not is_counted_loop(loop) or not _only_accumulates(dot, loop):
        return None
    places = FACTORS if dot.lhs_scale is None else (*FACTORS, *SCALES)
    found = [operand for index in places if (operand := _operand(dot, index)) is not None]
    if len(found) < len(places) or not _only_loop_sets_k(loop, found):
        return None
    return found


def _only_accumulates(dot: TableOp, loop: TableOp) -> bool:
    """Whether a loop with step 1 only updates the accumulator, and orders no memory access."""
    if not has_no_early_exit(loop) or not is_accumulation_loop(dot) or not is_int_constant(loop.step, 1):
        return False
    carried = [value for value in loop.initial if value.type.name != TOKEN]
    return len(carried) == 1 and not any(op.regions or has_side_effects(op) for op in loop.regions[0].blocks[0].ops)


def _operand(dot: TableOp, index: int) -> KTiledOperand | None:
    found = dot_operand_load(dot, index)
    return None if found is None else k_tiled_operand(dot, index, *found)


def _only_loop_sets_k(loop: TableOp, operands: list[KTiledOperand]) -> bool:
    """Whether the loop's index alone is the coordinate of the tiles along k."""
    index = loop.regions[0].blocks[0].args[0]
    if any(operand.load.coords[operand.k_dim] is not index for operand in operands):
        return False
    return len(list(index.uses)) == len(operands)


def _shrink_factor(dot: TableOp, operands: list[KTiledOperand], job: Job) -> int:
    """The factor by which the k tile must shrink for two stages to fit; 1 where it need not or cannot."""
    other_sizes = (
        [0] if is_function(parent_op(parent_op(dot))) or not job.target.has("tma") else [DEFAULT_CHUNK_BYTES, 0]
    )
    return next(
        (factor for other_size in other_sizes if (factor := _largest_fitting_k(dot, operands, other_size, job))), 1
    )


def _largest_fitting_k(dot: TableOp, operands: list[KTiledOperand], other_operands: int, job: Job) -> int | None:
    """The same beside ``other_operands`` bytes of shared memory; None where no factor fits."""
    size, factor = sum(operand.bytes for operand in operands[: len(FACTORS)]), 1
    k = dot.lhs.type.get_shape()[-1]
    line = min(k * element_of(operand.load.value.type).bits // 8 for operand in operands[: len(FACTORS)])
    while not two_stages_fit(size, job, factor, other_operands):
        factor *= 2
        if line // factor < MIN_LINE_BYTES:
            return None
    return factor


# ---- rewriting -----------------------------------------------------------------------------------
def _shrink(dot: TableOp, operands: list[KTiledOperand], factor: int) -> None:
    loop = parent_op(dot)
    for operand in operands:
        operand.split_k(factor)
    for index in (0, UPPER):
        loop.operands[index] = _times(loop, loop.operands[index], factor)


def _times(loop: Operation, value: SSAValue, factor: int) -> SSAValue:
    before = insertion_before(loop)
    return before.binary("mul", value, factor)
