"""Multiply the operands of products by their block scales where no instruction does.

In:    nv_tileas products, some with block scales, some of these in tensor memory.
Out:   the products with scales are those in tensor memory and those of an mma.sync row that scales. Operands of others
       are multiplied by their scales in f32 and rounded to bf16; what was packed in pairs for an instruction that is not
       used is taken apart.
After: pack_fp4, select_async (which says what tensor memory holds). Before: assign_layouts.
Sound: bf16 holds every product of an fp4 or fp8 value and a scale (4 + 4 significant bits and an f32's exponents) but
       those under its smallest number; the sums are f32 sums as before.
"""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float4E2M1FNType,
    ModuleOp,
    StringAttr,
    TensorType,
    bf16,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.nv_tileas.ops import COUNTERPARTS
from ..analysis.dot_atoms import scaled_atom
from ..contracts import EdgePass
from ..job import Job

FpToFpOp, MulFOp, ViewOp, BroadcastOp, PermuteOp, ReinterpretOp, DotOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"]
    for name in ("fp_to_fp", "mulf", "view", "broadcast", "permute", "reinterpret", "dot")
)
fp4 = Float4E2M1FNType()


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
    sides = ((op.lhs, op.lhs_scale, rank - 1), (op.rhs, op.rhs_scale, rank - 2))
    if "packed" in op.attributes:
        sides = tuple((_unpacked(op, value, k_dim), scale, k_dim) for value, scale, k_dim in sides)
    operands = [*(_scaled(op, *side) for side in sides), op.acc, None, None]
    kept = {key: value for key, value in op.attributes.items() if key != "packed"}
    product = DotOp.make(operands, [op.result.type], kept)
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


def _unpacked(op: Any, value: SSAValue, k_dim: int) -> SSAValue:
    """The elements of bytes that hold two neighbors along k."""
    rows = _with_last(op, value, k_dim)
    *outer, bytes = rows.type.get_shape()
    flat = _insert(op, ViewOp.make([rows], [TensorType(value.type.element_type, [prod(outer) * bytes])]))
    elements = _insert(op, ReinterpretOp.make([flat], [TensorType(fp4, [2 * prod(outer) * bytes])]))
    tile = _insert(op, ViewOp.make([elements], [TensorType(fp4, [*outer, 2 * bytes])]))
    return _with_last(op, tile, k_dim)


def _with_last(op: Any, value: SSAValue, dim: int) -> SSAValue:
    """A tile with the dimension ``dim`` and the last one exchanged."""
    shape = value.type.get_shape()
    order = list(range(len(shape)))
    order[dim], order[-1] = order[-1], dim
    if order == sorted(order):
        return value
    turned = TensorType(value.type.element_type, [shape[at] for at in order])
    return _insert(op, PermuteOp.make([value], [turned], {"permutation": DenseArrayBase.from_list(i32, order)}))
