"""Multiply the operands of products by their block scales where no instruction does.

In:    nv_tileas products, some with block scales, some of these in tensor memory.
Out:   the products with scales are those in tensor memory and those of an mma.sync row that scales. Operands of others
       are multiplied by their scales in f32 and rounded to bf16.
After: select_async (which says what tensor memory holds). Before: assign_layouts.
Sound: bf16 holds every product of an fp4 or fp8 value and a scale (4 + 4 significant bits and an f32's exponents) but
       those under its smallest number; the sums are f32 sums as before.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.nv_tileas.ops import COUNTERPARTS
from ..analysis.dot_atoms import scaled_atom
from ..contracts import EdgePass
from ..job import Job

FpToFpOp, MulFOp, ViewOp, BroadcastOp, DotOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("fp_to_fp", "mulf", "view", "broadcast", "dot")
)


class ApplyScales(EdgePass):
    """Scales are applied first where the product that could take them is not made in tensor memory."""

    name = "tileas-apply-scales"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if op.name != "nv_tileas.dot" or op.lhs_scale is None or "tensor_memory" in op.attributes:
                continue
            if scaled_atom(job.target, op) is None:
                apply_scales(op)


def _insert(before: Operation, new: Operation) -> SSAValue:
    if "loc" in before.attributes:
        new.attributes["loc"] = before.attributes["loc"]
    before.parent.insert_op_before(new, before)
    return new.results[0]


def converted(op: Operation, value: SSAValue, element: Attribute) -> SSAValue:
    """A tile as another element type, before ``op``."""
    type = TensorType(element, value.type.get_shape())
    return _insert(op, FpToFpOp.make([value], [type], {"rounding_mode": StringAttr("nearest_even")}))


def apply_scales(op: Any) -> None:
    """lhs[i, k] * lhs_scale[i, k / V] and rhs[k, j] * rhs_scale[k / V, j], V elements to a block."""
    rank = len(op.lhs.type.get_shape())
    operands = [
        _scaled(op, op.lhs, op.lhs_scale, rank - 1),
        _scaled(op, op.rhs, op.rhs_scale, rank - 2),
        op.acc,
        None,
        None,
    ]
    product = DotOp.make(operands, [op.result.type], dict(op.attributes))
    op.result.replace_all_uses_with(_insert(op, product))
    op.detach()
    op.erase()


def _scaled(op: Any, value: SSAValue, scale: SSAValue, k_dim: int) -> SSAValue:
    factors = _spread(op, converted(op, scale, f32), tuple(value.type.get_shape()), k_dim)
    wide = converted(op, value, f32)
    product = MulFOp.make([wide, factors], [wide.type], {"rounding_mode": StringAttr("nearest_even")})
    return converted(op, _insert(op, product), bf16)


def _spread(op: Any, scale: SSAValue, shape: tuple[int, ...], k_dim: int) -> SSAValue:
    """Each scale repeated for the elements of its block: a dimension of the block's length is added and merged."""
    blocks = scale.type.get_shape()[k_dim]
    if blocks == shape[k_dim]:
        return scale
    split = [*shape[:k_dim], blocks, shape[k_dim] // blocks, *shape[k_dim + 1 :]]
    single = [*split[: k_dim + 1], 1, *split[k_dim + 2 :]]
    apart = _insert(op, ViewOp.make([scale], [TensorType(f32, single)]))
    repeated = _insert(op, BroadcastOp.make([apart], [TensorType(f32, split)]))
    return _insert(op, ViewOp.make([repeated], [TensorType(f32, shape)]))
