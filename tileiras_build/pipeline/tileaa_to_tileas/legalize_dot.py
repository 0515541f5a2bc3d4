"""Rewrite matrix products for which the GPU has no instruction into ones that it has.

In:    nv_tileas.dot of any types, with or without block scales.
Out:   no dot has scales but those that the target multiplies by in its products: other operands are multiplied by them in
       bf16 first. fp8 operands are f16 where there is no fp8 product.
After: convert_tileaa_to_tileas. Before: layouts are assigned.
Sound: f16 holds every fp8 value, and bf16 every product of an fp4 or fp8 value and a scale (4 + 4 significant bits and
       an f32's exponents) but those under its smallest number; the sums are f32 sums as before.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, bf16, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.nv_tileas.ops import COUNTERPARTS
from ..analysis.dot_atoms import scaled_atom, scaled_tensor_atom
from ..contracts import EdgePass
from ..job import Job

FP8 = ("f8E4M3FN", "f8E5M2")
FpToFpOp, MulFOp, ViewOp, BroadcastOp, DotOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("fp_to_fp", "mulf", "view", "broadcast", "dot")
)


class LegalizeDot(EdgePass):
    """Operand types that the target's rows cover."""

    name = "tileas-legalize-dot"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if op.name == "nv_tileas.dot":
                _legalize(op, job)


class ApplyScales(EdgePass):
    """Scales are applied first where the product that could take them is not made in tensor memory."""

    name = "tileas-apply-scales"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if op.name != "nv_tileas.dot" or op.lhs_scale is None or "tensor_memory" in op.attributes:
                continue
            if scaled_atom(job.target, op) is None:
                _apply_scales(op)


def _legalize(op: Any, job: Job) -> None:
    if op.lhs_scale is not None:
        if scaled_atom(job.target, op) is None and scaled_tensor_atom(job.target, op) is None:
            _apply_scales(op)
        return
    types = [str(value.type.element_type) for value in (op.lhs, op.rhs, op.result)]
    if types[0] in FP8 and not job.target.mma_atoms(*types):
        for index, value in enumerate((op.lhs, op.rhs)):
            op.operands[index] = _converted(op, value, f16)


def _insert(before: Operation, new: Operation) -> SSAValue:
    if "loc" in before.attributes:
        new.attributes["loc"] = before.attributes["loc"]
    before.parent.insert_op_before(new, before)
    return new.results[0]


def _converted(op: Operation, value: SSAValue, element: Attribute) -> SSAValue:
    type = TensorType(element, value.type.get_shape())
    return _insert(op, FpToFpOp.make([value], [type], {"rounding_mode": StringAttr("nearest_even")}))


def _apply_scales(op: Any) -> None:
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
    factors = _spread(op, _converted(op, scale, f32), tuple(value.type.get_shape()), k_dim)
    wide = _converted(op, value, f32)
    product = MulFOp.make([wide, factors], [wide.type], {"rounding_mode": StringAttr("nearest_even")})
    return _converted(op, _insert(op, product), bf16)


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
