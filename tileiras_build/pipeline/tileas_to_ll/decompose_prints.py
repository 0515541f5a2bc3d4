"""Convert the operands of prints to C varargs types.

In:    nv_tileas.print of tiles and scalars of any element type.
Out:   nv_tileas.print of i32, i64 and f64 elements only, with conversions before it.
After: layouts are assigned. Before: buffers are analyzed: the size of a print's arguments depends on their types.
Sound: a conversion preserves its operand's shape and layout; every value is represented exactly.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import as_op, parent_block, str_attr
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..common.llvm_element_types import POINTER, element_of
from ..job import Job
from ..pass_manager import EdgePass

# vprintf takes C varargs: narrow integers as i32, floats as double (CUDA Programming Guide, "Formatted Output").
_FORMAT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t)?([diouxXeEfFgGaAcsp%])")
_UNSIGNED = frozenset("ouxX")
VARARGS = (i32, i64, f64)
PrintOp = COUNTERPARTS["nv_tileaa.print"]
FpToFpOp, PtrToIntOp = COUNTERPARTS["nv_tileaa.fp_to_fp"], COUNTERPARTS["nv_tileaa.ptr_to_int"]


class DecomposePrints(EdgePass):
    """Convert print operands to C's argument types."""

    name = "tileas-decompose-prints"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if op.__class__ is PrintOp:
                decompose(op)


def decompose(op: Operation) -> None:
    """Convert the operands of one print in place."""
    kinds = conversions_of(str_attr(op, "format"), len(as_op(op).values))
    for index, (value, kind) in enumerate(zip(as_op(op).values, kinds)):
        op.operands[index] = _promoted(op, value, kind in _UNSIGNED)


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


def _promoted(op: Operation, value: SSAValue, unsigned: bool) -> SSAValue:
    element = element_of(value.type)
    if element is POINTER:
        return _converted(op, PtrToIntOp, value, i64)
    if element.is_float or element.name.startswith("f"):
        single = value if element.name in ("f32", "f64") else _converted(op, FpToFpOp, value, f32)
        return value if element.name == "f64" else _converted(op, FpToFpOp, single, f64)
    if element.bits >= 32:
        return value
    widen = arith.ExtUIOp if unsigned or element.name == "i1" else arith.ExtSIOp
    return _converted(op, widen, value, i32)


def _converted(before: Operation, kind: type[TableOp], value: SSAValue, element: Attribute) -> SSAValue:
    type = value.type
    result = TensorType(element, type.get_shape(), type.encoding) if isinstance(type, TensorType) else element
    location = {key: before.attributes[key] for key in ("loc",) if key in before.attributes}
    made = kind.make([value], [result], location)
    parent_block(before).insert_op_before(made, before)
    return made.results[0]


def _element_type(type: Attribute) -> Attribute:
    return type.element_type if isinstance(type, TensorType) else type
