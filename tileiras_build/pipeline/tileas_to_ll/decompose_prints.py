"""Convert the operands of prints to C varargs types.

In:    nv_tileas.print of tiles and scalars of any element type.
Out:   nv_tileas.print of i32, i64 and f64 elements only, with conversions before it.
After: layouts are assigned. Before: buffers are analyzed: the size of a print's arguments depends on their types.
Sound: a conversion preserves its operand's shape and layout; every value is represented exactly.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import as_op, str_attr
from ...ir.dialects import arith
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..common.llvm_element_types import POINTER, element_of
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter

# vprintf takes C varargs: narrow integers as i32, floats as double (CUDA Programming Guide, "Formatted Output").
_FORMAT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t)?([diouxXeEfFgGaAcsp%])")
_UNSIGNED = frozenset("ouxX")
VARARGS = (i32, i64, f64)
PrintOp = COUNTERPARTS["nv_tileaa.print"]
FpToFpOp, PtrToIntOp = COUNTERPARTS["nv_tileaa.fp_to_fp"], COUNTERPARTS["nv_tileaa.ptr_to_int"]


def format_pieces_of(text: str) -> list[tuple[str, str]]:
    """A format as (text, conversion) pairs, in order; the conversion of the last is empty."""
    parts, end = [], 0
    for match in _FORMAT.finditer(text):
        if match[1] != "%":
            parts.append((text[end : match.start()], match[0]))
            end = match.end()
    return [*parts, (text[end:], "")]


def conversions_of(text: str, count: int) -> list[str]:
    """The letters of a format's conversions, one for each of ``count`` arguments; "d" where the format has too few."""
    letters = [match[1] for match in _FORMAT.finditer(text) if match[1] != "%"]
    return (letters + ["d"] * count)[:count]


def is_decomposed(op: Operation) -> bool:
    """Whether all operands of a print have types of C's varargs."""
    return all(_element_type(value.type) in VARARGS for value in as_op(op).values)


def _promoted(rewriter: Rewriter, value: SSAValue, unsigned: bool) -> SSAValue:
    element = element_of(value.type)
    if element is POINTER:
        return _converted(rewriter, PtrToIntOp, value, i64)
    if element.is_float or element.name.startswith("f"):
        single = value if element.name in ("f32", "f64") else _converted(rewriter, FpToFpOp, value, f32)
        return value if element.name == "f64" else _converted(rewriter, FpToFpOp, single, f64)
    if element.bits >= 32:
        return value
    widen = arith.ExtUIOp if unsigned or element.name == "i1" else arith.ExtSIOp
    return _converted(rewriter, widen, value, i32)


def _converted(rewriter: Rewriter, kind: type[TableOp], value: SSAValue, element: Attribute) -> SSAValue:
    type = value.type
    result = TensorType(element, type.get_shape(), type.encoding) if isinstance(type, TensorType) else element
    return rewriter.insert(kind.make([value], [result]))


def _element_type(type: Attribute) -> Attribute:
    return type.element_type if isinstance(type, TensorType) else type


def _decompose(rewriter: Rewriter, op: TableOp) -> None:
    kinds = conversions_of(str_attr(op, "format"), len(op.values))
    for index, (value, kind) in enumerate(zip(op.values, kinds)):
        op.operands[index] = _promoted(rewriter, value, kind in _UNSIGNED)


class DecomposePrints(EdgePass):
    """Convert print operands to C's argument types."""

    name = "tileas-decompose-prints"
    rules = RuleTable({PrintOp.name: _decompose})
