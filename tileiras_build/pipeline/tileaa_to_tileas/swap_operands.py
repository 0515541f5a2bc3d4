"""Exchange the operands of products whose right one lies in memory as no warpgroup instruction reads it.

In:    nv_tileas products in counted loops, without layouts.
Out:   C = A B is summed as the transpose of B' A', where wgmma wants both operands along k, A is so and B is not:
       what was the right operand is now the left one, which may come through registers: tf32 one by one, bytes in
       pairs. The loop carries the transpose of C, and what it starts from and leaves is permuted.
After: legalize_dot (operand types are the target's). Before: select_async (which chooses the instruction).
Sound: element (j, i) of B' A' is the sum over k of B[k, j] A[i, k], the same products in the same order; the loop does
       nothing else with the sum.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ...ir.casting import block_of, parent, row, tile_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_entry
from ...ir.layouts import warpgroup_tiling
from ...ir.layouts.wgmma_layout import SCATTERED_SWIZZLES
from ...target.targets import ELEMENT_BITS
from ..analysis.axis_info import AxisAnalysis
from ..analysis.resource_model import LEAST_WARPS, choose_warps
from ..analysis.tma_operands import fetched, is_canonical, is_scattered, may_fetch, may_run_ahead, warpgroup_row
from ..analysis.view_chains import only_accumulates
from ..job import Job
from ..pass_manager import EdgePass

SWAP = (1, 0)
SWAP = (1, 0)
FIRST_INITIAL = 3  # operand of a loop, after its bounds and its step
EXCHANGED = {"signedness_lhs": "signedness_rhs", "signedness_rhs": "signedness_lhs"}
PermuteOp, DotOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("permute", "dot"))


class ExchangeOperands(EdgePass):
    """Products as the transposes of others."""

    name = "tileas-exchange-operands"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.target.has("wgmma"):
            return
        for func in module.body.block.ops:
            if is_entry(func) and may_fetch(func):
                _exchange_in(row(func), job)


def _exchange_in(func: TableOperation, job: Job) -> None:
    if (warps := choose_warps(func, job)) < LEAST_WARPS:
        return
    for op in [row(op) for op in walk(func) if op.name == "nv_tileas.dot"]:
        if _wants_it(op, job, warps):
            _exchange(op)
            warps = choose_warps(func, job)


def _wants_it(op: TableOperation, job: Job, warps: int) -> bool:
    atom = warpgroup_row(op, job)
    if atom is None or (bits := ELEMENT_BITS[atom.a_type]) not in SCATTERED_SWIZZLES:
        return False
    if not may_run_ahead(op) or not only_accumulates(op):
        return False
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    analysis = AxisAnalysis()
    left, right = (fetched(op, index, job, analysis) for index in (0, 1))
    if left is None or right is None or is_canonical(right, 0, atom) or not is_canonical(left, 1, atom):
        return False
    return is_scattered(right, 0, bits) and warpgroup_tiling(n, m, k, bits, warps) is not None


def _exchange(op: TableOperation) -> None:
    block, index = block_of(op), op.acc.index - 1
    loop = row(parent(op))
    turned = _turned_type(op.acc.type)
    operands = [_turned(op, op.rhs), _turned(op, op.lhs), op.acc, None, None]
    attributes = {EXCHANGED.get(key, key): value for key, value in op.attributes.items()}
    product = DotOp.make(operands, [turned], attributes)
    block.insert_op_before(product, op)
    op.result.replace_all_uses_with(product.result)
    op.detach()
    op.erase()
    initial, result = loop.initial[index], loop.results[index]
    loop.operands[FIRST_INITIAL + index] = _turned(loop, initial)
    block.args[1 + index]._type = turned
    uses = list(result.uses)
    result._type = turned
    back = PermuteOp.make([result], [_turned_type(turned)], permutation=SWAP)
    block_of(loop).insert_op_after(back, loop)
    for use in uses:
        use.operation.operands[use.index] = back.results[0]


def _turned_type(type: TensorType) -> TensorType:
    return TensorType(type.element_type, type.get_shape()[::-1])


def _turned(place: Operation, value: SSAValue) -> SSAValue:
    permute = PermuteOp.make([value], [_turned_type(tile_type(value))], permutation=SWAP)
    block_of(place).insert_op_before(permute, place)
    return permute.results[0]
