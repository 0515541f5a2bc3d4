"""The building blocks of elementwise rules.

A rule reads an operation once, and returns a function from the scalars of one element to the scalar result.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.dialects.op_definition import TableOp
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import BFLOAT, FLOAT, HALF
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from .float_conversions import ROUNDING_SUFFIX, convert_float

Scalar = Callable[..., Value]
Rule = Callable[[KernelEmitter, Operation], Scalar]


def option_text(op: Operation, key: str, default: str) -> str:
    attribute = op.attributes.get(key)
    return attribute.data if isinstance(attribute, StringAttr) else default


def is_to_nearest(op: Operation) -> bool:
    return option_text(op, "rounding_mode", "nearest_even") == "nearest_even"


def rounded_half(op: Operation) -> Attribute | None:
    """The 16-bit type to which an operation rounds floats to nearest; None for other operations."""
    if op.name != "nv_tileas.fp_to_fp" or not is_to_nearest(op):
        return None
    type = register_type(op.results[0])
    return type if type in (HALF, BFLOAT) else None


def flushes(op: Operation) -> bool:
    return "flush_to_zero" in op.attributes


def register_type(value: SSAValue) -> Attribute:
    """The type of a tile's or scalar's elements in registers."""
    return element_of(value.type).type


def in_f32(e: KernelEmitter, element: Element, scalar: Scalar, mode: str = "nearest_even") -> Scalar:
    """``scalar`` computed in f32 for the half precisions, and rounded to them with ``mode``."""
    if element.type not in (HALF, BFLOAT):
        return scalar
    narrow = convert_float(e, "f32", element.name, mode if mode in ROUNDING_SUFFIX else "nearest_even")

    def widened(*arguments: Value) -> Value:
        wide = [e.b.cast("fpext", argument, FLOAT) for argument in arguments]
        return narrow(scalar(*wide))

    return widened


def binary(b: InstructionBuilder, op: Operation, instruction: str) -> Scalar:
    type = register_type(op.results[0])
    return lambda x, y: b.binary(instruction, x, y, type)


def issued(b: InstructionBuilder, kind: type[TableOp], type: Attribute, **attributes: bool | str) -> Scalar:
    """An instruction whose operands have the type of its result."""
    return lambda *values: b.issue(kind, *[b.of(value, type) for value in values], type=type, **attributes)
