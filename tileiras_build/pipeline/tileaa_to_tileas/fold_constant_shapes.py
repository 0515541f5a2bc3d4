"""Compute scalar integers from constants, and make extents and strides that are constants part of their memory reference's type.

In:    nv_tileas memory references with extents and strides that are computed, also from constants alone.
Out:   constants in place of integers that are computed from constants; memory references whose types have all known extents and
       strides, so that TMA, vectors and bounds checks depend on their values, however they are written.
After: convert_tileaa_to_tileas. Before: hoist_views, and all passes that ask memory references for extents and strides.
Sound: arithmetic wraps at the width of its type; a division by zero stays as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, view_type
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import set_type, walk
from ...ir.dialects.nv_tileaa.types import MemRefType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..job import Job
from ..pass_manager import EdgePass
from .op_insertion import insert_before

MakeMemRefOp, BlockTileOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("make_memref", "block_tile"))
SAME = ("arith.extsi", "nv_tileas.assume")
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.maxsi": max,
    "arith.minsi": min,
}


class FoldConstantShapes(EdgePass):
    """Memory references with the extents and strides that are known."""

    name = "tileas-fold-constant-shapes"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(walk(module)):
            if op.name in ARITHMETIC or op.name in SAME:
                _fold(op)
            elif op.__class__ is MakeMemRefOp and any((_constant(value) or 0) > 0 for value in op.operands[1:]):
                _make_static(as_op(op))


def _constant(value: SSAValue) -> int | None:
    """The value of a scalar integer constant."""
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return None
    held = value.owner.properties["value"]
    return held.value.data if isinstance(held, IntegerAttr) and isinstance(held.type, IntegerType) else None


def _fold(op: Operation) -> None:
    """Replace an operation on constants by its result."""
    type, values = op.results[0].type, [_constant(operand) for operand in op.operands]
    known = [value for value in values if value is not None]
    if not isinstance(type, IntegerType) or len(known) < len(values):
        return
    result = known[0] if op.name in SAME else ARITHMETIC[op.name](*known)
    half = 1 << type.width.data - 1
    wrapped = (result + half) % (2 * half) - half
    constant = arith.ConstantOp.create(result_types=[type], properties={"value": IntegerAttr(wrapped, type)})
    op.results[0].replace_all_uses_with(insert_before(constant, op))
    op.detach()
    op.erase()


def _make_static(op: TableOp) -> None:
    sizes, dynamic_sizes = _merged(op.result.type.shape, list(op.sizes))
    strides, dynamic_strides = _merged(op.result.type.strides, list(op.strides))
    type = MemRefType.of(op.result.type.element_type, sizes, strides)
    new_op = MakeMemRefOp.make([op.base, dynamic_sizes, dynamic_strides], [type], dict(op.attributes))
    op.result.replace_all_uses_with(insert_before(new_op, op))
    op.detach()
    op.erase()
    for use in new_op.results[0].uses:
        if use.operation.__class__ is BlockTileOp:
            view = use.operation.results[0]
            set_type(view, view_type(view).over(type))


def _merged(static: tuple[int | None, ...], dynamic: list[SSAValue]) -> tuple[list[int | None], list[SSAValue]]:
    """The static extents or strides of a type with the constants among those that it lacks, and the values of the others."""
    statics: list[int | None] = []
    kept: list[SSAValue] = []
    for number in static:
        value = dynamic.pop(0) if number is None else None
        constant = None if value is None else _constant(value)
        known = constant if constant is not None and constant > 0 else None
        statics.append(number if value is None else known)
        if value is not None and known is None:
            kept.append(value)
    return statics, kept
