"""Compute scalar integers from constants, and make extents and strides that are constants part of their memory reference's type.

In:    nv_tileas memory references with extents and strides that are computed, also from constants alone: layouts of CUDA C++ count
       their modes by comparisons.
Out:   constants in place of integers that are computed from constants, and operands in place of their multiplication by 1 and their
       addition to 0, in kernels with dots also 0 in place of their multiplication by 0; memory references whose types have all known extents and strides, so that TMA, vectors and bounds checks
       depend on their values, however they are written.
After: convert_tileaa_to_tileas. Before: hoist_views, and all passes that ask memory references for extents and strides.
Sound: arithmetic wraps at the width of its type; a division by zero stays as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, cast, unwrap, view_type
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import set_type
from ...ir.dialects.nv_tileaa.types import MemRefType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.op_queries import has_dots
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter
from .op_insertion import insert_before

MakeMemRefOp, BlockTileOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("make_memref", "block_tile"))
# Functions of signed values, and of these modulo 2^width; both give numbers that wrap at the width of the result.
SIGNED: dict[str, Callable[..., int]] = {
    "arith.extsi": operator.pos,
    "arith.trunci": operator.pos,
    "nv_tileas.assume": operator.pos,
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.maxsi": max,
    "arith.minsi": min,
}
UNSIGNED: dict[str, Callable[..., int]] = {"arith.extui": operator.pos, "arith.maxui": max, "arith.minui": min}
COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
FOLDED = ("arith.cmpi", *SIGNED, *UNSIGNED)
NEUTRAL = {"arith.addi": 0, "arith.muli": 1}
ABSORBING = {"arith.muli": 0, "arith.andi": 0}


def _constant(value: SSAValue) -> int | None:
    """The value of a scalar integer constant."""
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return None
    held = value.owner.properties["value"]
    return held.value.data if isinstance(held, IntegerAttr) and isinstance(held.type, IntegerType) else None


def _folding(op: Operation) -> tuple[Callable[..., int], bool]:
    """What an operation computes from its operands, and whether from unsigned ones."""
    if op.name == "arith.cmpi":
        predicate = as_op(op).predicate
        return COMPARISONS[predicate[-2:]], predicate.startswith("u")
    return (SIGNED[op.name], False) if op.name in SIGNED else (UNSIGNED[op.name], True)


def _fold(rewriter: Rewriter, op: Operation) -> None:
    """Replace an operation on constants by its result, one with its neutral element by the other operand, and one with its absorbing
    element by that.
    """
    type, values = op.results[0].type, [_constant(operand) for operand in op.operands]
    if not isinstance(type, IntegerType):
        return
    if None not in values:
        found = _result(op, type, values)
    elif op.name in NEUTRAL and NEUTRAL[op.name] in values:
        found = op.operands[1 - values.index(NEUTRAL[op.name])]
    elif op.name in ABSORBING and ABSORBING[op.name] in values and _has_dots(op):
        found = op.operands[values.index(ABSORBING[op.name])]
    else:
        return
    op.results[0].replace_all_uses_with(found)
    op.detach()
    op.erase()


def _has_dots(op: Operation) -> bool:
    """Whether the kernel of an operation multiplies. Others have no TMA to gain, and with fewer compares ptxas spends more instructions on
    bounds: a recurrent delta rule takes a quarter more time by ``estimate``.
    """
    parent = op.parent_op()
    while parent is not None and not is_function(parent):
        parent = parent.parent_op()
    return parent is not None and has_dots(parent)


def _result(op: Operation, type: IntegerType, values: Sequence[int | None]) -> SSAValue:
    """The constant that an operation on ``values`` computes."""
    function, unsigned = _folding(op)
    width = cast(IntegerType, op.operands[0].type).width.data
    result = int(function(*(unwrap(value) % (1 << width) if unsigned else unwrap(value) for value in values)))
    half = 1 << type.width.data - 1
    wrapped = (result + half) % (2 * half) - half
    constant = arith.ConstantOp.create(result_types=[type], properties={"value": IntegerAttr(wrapped, type)})
    return insert_before(constant, op)


def _make_static(rewriter: Rewriter, op: TableOp) -> None:
    if not any((_constant(value) or 0) > 0 for value in op.operands[1:]):
        return
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


class FoldConstantShapes(EdgePass):
    """Memory references with the extents and strides that are known."""

    name = "tileas-fold-constant-shapes"
    rules = RuleTable(dict.fromkeys(FOLDED, _fold), {MakeMemRefOp.name: _make_static})
