"""Swap the operands of dots whose right operand has a memory order that wgmma cannot read, or whose columns a CTA pair divides.

In:    nv_tileas dots in counted loops, without layouts.
Out:   C = A B is computed as the transpose of B' A' if wgmma needs both operands contiguous along k, and A is, but B is
       not: the right operand becomes the left one, which may pass through registers (tf32 one by one, bytes in pairs).
       Likewise where two CTAs with MMAs of pairs divide the columns, which become the rows of one MMA.
       The loop carries the transpose of C; its initial value and its result are permuted.
After: legalize_dot (operand types are final). Before: select_mma_and_tma (which selects the instruction).
Sound: element (j, i) of B' A' accumulates B[k, j] A[i, k] over k, the same terms in the same order; the loop has no
       other use of the accumulator.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, parent_block, parent_op, tile_type
from ...ir.dialects.fast_xdsl import set_type
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..analysis.op_queries import dots_in, has_dots
from ..analysis.resource_model import MIN_WARPS, choose_warps
from ..analysis.tma_operands import tma_loads_allowed
from ..job import Job
from ..mma.family import fastest_family
from ..pass_manager import EdgePass

SWAP = (1, 0)
FIRST_INITIAL = 3  # operand of a loop, after its bounds and its step
SWAPPED_ATTRIBUTES = {"signedness_lhs": "signedness_rhs", "signedness_rhs": "signedness_lhs"}
PermuteOp, DotOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("permute", "dot"))


class SwapOperands(EdgePass):
    """Dots replaced by their transposes."""

    name = "tileas-swap-operands"
    knob = "swap_operands"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        return has_dots(func) and tma_loads_allowed(func) and _swap_in(func, job)


def _swap_in(func: TableOp, job: Job) -> bool:
    """Swap the operands of dots that are faster so; whether there are any."""
    family, swaps = fastest_family(job.target), False
    if (warps := choose_warps(func, job)) < MIN_WARPS:
        return False
    for op in dots_in(func):
        if family.prefers_swapped(op, job, warps):
            _swap(op)
            warps, swaps = choose_warps(func, job), True
    return swaps


def _swap(op: TableOp) -> None:
    block, index = parent_block(op), op.acc.index - 1
    loop = as_op(parent_op(op))
    turned = _transposed_type(op.acc.type)
    operands = [_transposed(op, op.rhs), _transposed(op, op.lhs), op.acc, None, None]
    attributes = {SWAPPED_ATTRIBUTES.get(key, key): value for key, value in op.attributes.items()}
    dot = DotOp.make(operands, [turned], attributes)
    block.insert_op_before(dot, op)
    op.result.replace_all_uses_with(dot.result)
    op.detach()
    op.erase()
    initial, result = loop.initial[index], loop.results[index]
    loop.operands[FIRST_INITIAL + index] = _transposed(loop, initial)
    set_type(block.args[1 + index], turned)
    uses = list(result.uses)
    set_type(result, turned)
    back = PermuteOp.make([result], [_transposed_type(turned)], permutation=SWAP)
    parent_block(loop).insert_op_after(back, loop)
    for use in uses:
        use.operation.operands[use.index] = back.results[0]


def _transposed_type(type: TensorType) -> TensorType:
    return TensorType(type.element_type, type.get_shape()[::-1])


def _transposed(place: Operation, value: SSAValue) -> SSAValue:
    permute = PermuteOp.make([value], [_transposed_type(tile_type(value))], permutation=SWAP)
    parent_block(place).insert_op_before(permute, place)
    return permute.results[0]
