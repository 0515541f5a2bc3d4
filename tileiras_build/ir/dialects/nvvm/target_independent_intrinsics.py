"""Rows of LLVM's target-independent intrinsics: ``llvm.smin.i32``, ``llvm.fma.f32``.

Their names end in the type of the first operand, as in LLVM's LangRef. LLVM folds them like its instructions.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute

from ..fast_xdsl import item, operands_of
from ..op_definition import TableOp
from .intrinsic_or_inline_asm import ALL, Intrinsic, define_instruction


@cache
def suffix(type: Attribute) -> str:
    """``i32``, ``bf16``, ``v2f32``: MLIR's names of scalars are those of LLVM's overloads."""
    return f"v{type.element_count()}{type.element_type}" if isinstance(type, VectorType) else str(type)


def _overloaded(name: str, operands: str, meaning: str) -> type[TableOp]:
    """The operation of ``llvm.<name>.<type>``, named after MLIR's ``llvm.intr.<name>``."""
    row = Intrinsic(lambda op: f"llvm.{name}.{suffix(item(operands_of(op), 0).type)}")
    return define_instruction(f"intr.{name}", operands, "result", meaning, row)


SMinOp = _overloaded("smin", "lhs rhs", "the smaller of two signed integers")
SMaxOp = _overloaded("smax", "lhs rhs", "the larger of two signed integers")
UMinOp = _overloaded("umin", "lhs rhs", "the smaller of two unsigned integers")
UMaxOp = _overloaded("umax", "lhs rhs", "the larger of two unsigned integers")
CtPopOp = _overloaded("ctpop", "value", "how many bits are set")
# The second operand is a constant i1: whether the result for the smallest integer is poison.
AbsOp = _overloaded("abs", "value is_int_min_poison", "the absolute value of a signed integer")
FAbsOp = _overloaded("fabs", "value", "the absolute value of a floating-point number")
FMAOp = _overloaded("fma", "a b c", "a * b + c, rounded once to nearest even")
MinNumOp = _overloaded("minnum", "lhs rhs", "the smaller number; the other operand where one is NaN")
MaxNumOp = _overloaded("maxnum", "lhs rhs", "the larger number; the other operand where one is NaN")
MinimumOp = _overloaded("minimum", "lhs rhs", "the smaller number; NaN where one is NaN")
MaximumOp = _overloaded("maximum", "lhs rhs", "the larger number; NaN where one is NaN")
FloorOp = _overloaded("floor", "value", "rounded down to an integer")
CeilOp = _overloaded("ceil", "value", "rounded up to an integer")
TrapOp = define_instruction("intr.trap", "", "", "end the kernel with an error", Intrinsic("llvm.trap", ALL))
