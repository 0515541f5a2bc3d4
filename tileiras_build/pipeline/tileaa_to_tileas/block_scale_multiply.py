"""Multiply the operands of a dot by its block scales, as separate operations.

Operands are multiplied by their scales in f32 and rounded to bf16. Packed fp4 operands are unpacked first.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import Float4E2M1FNType, TensorType, bf16, f32
from xdsl.ir import Attribute, SSAValue

from ...ir.casting import tile_type
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..rewriting.rewriter import Rewriter

FpToFpOp, MulFOp, ViewOp, BroadcastOp, PermuteOp, ReinterpretOp, DotOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"]
    for name in ("fp_to_fp", "mulf", "view", "broadcast", "permute", "reinterpret", "dot")
)
fp4 = Float4E2M1FNType()


def converted(rewriter: Rewriter, value: SSAValue, element: Attribute) -> SSAValue:
    """Convert a tile to another element type, before the root."""
    type = TensorType(element, tile_type(value).get_shape())
    return rewriter.insert(FpToFpOp.make([value], [type], rounding_mode="nearest_even"))


def apply_scales(rewriter: Rewriter, op: TableOp) -> None:
    """Compute lhs[i, k] * lhs_scale[i, k / V] and rhs[k, j] * rhs_scale[k / V, j], with V elements per block."""
    rank = len(op.lhs.type.get_shape())
    sides = ((op.lhs, op.lhs_scale, rank - 1), (op.rhs, op.rhs_scale, rank - 2))
    tiles = [_unpacked_fp4(rewriter, value, k_dim) if op.packed else value for value, _, k_dim in sides]
    scaled = [_scaled(rewriter, tile, scale, k_dim) for tile, (_, scale, k_dim) in zip(tiles, sides)]
    operands = [*scaled, op.acc, None, None]
    attributes = {key: value for key, value in op.attributes.items() if key != "packed"}
    dot = DotOp.make(operands, [op.result.type], attributes)
    rewriter.replace(dot)


def _scaled(rewriter: Rewriter, value: SSAValue, scale: SSAValue, k_dim: int) -> SSAValue:
    factors = _broadcast_scale(rewriter, converted(rewriter, scale, f32), tuple(tile_type(value).get_shape()), k_dim)
    wide = converted(rewriter, value, f32)
    dot = MulFOp.make([wide, factors], [wide.type], rounding_mode="nearest_even")
    return converted(rewriter, rewriter.insert(dot), bf16)


def _broadcast_scale(rewriter: Rewriter, scale: SSAValue, shape: tuple[int, ...], k_dim: int) -> SSAValue:
    """Repeat each scale for the elements of its block: insert a dimension of the block's length, and merge it."""
    blocks = tile_type(scale).get_shape()[k_dim]
    if blocks == shape[k_dim]:
        return scale
    split = [*shape[:k_dim], blocks, shape[k_dim] // blocks, *shape[k_dim + 1 :]]
    single = [*split[: k_dim + 1], 1, *split[k_dim + 2 :]]
    expanded = rewriter.insert(ViewOp.make([scale], [TensorType(f32, single)]))
    repeated = rewriter.insert(BroadcastOp.make([expanded], [TensorType(f32, split)]))
    return rewriter.insert(ViewOp.make([repeated], [TensorType(f32, shape)]))


def _unpacked_fp4(rewriter: Rewriter, value: SSAValue, k_dim: int) -> SSAValue:
    """Unpack bytes of two elements each, which are neighbors along k."""
    rows = _with_last_dim(rewriter, value, k_dim)
    *outer, bytes = tile_type(rows).get_shape()
    flat = rewriter.insert(ViewOp.make([rows], [TensorType(tile_type(value).element_type, [prod(outer) * bytes])]))
    elements = rewriter.insert(ReinterpretOp.make([flat], [TensorType(fp4, [2 * prod(outer) * bytes])]))
    tile = rewriter.insert(ViewOp.make([elements], [TensorType(fp4, [*outer, 2 * bytes])]))
    return _with_last_dim(rewriter, tile, k_dim)


def _with_last_dim(rewriter: Rewriter, value: SSAValue, dim: int) -> SSAValue:
    """Swap dimension ``dim`` of a tile with its last one."""
    shape = tile_type(value).get_shape()
    order = list(range(len(shape)))
    order[dim], order[-1] = order[-1], dim
    if order == sorted(order):
        return value
    turned = TensorType(tile_type(value).element_type, [shape[at] for at in order])
    return rewriter.insert(PermuteOp.make([value], [turned], permutation=order))
