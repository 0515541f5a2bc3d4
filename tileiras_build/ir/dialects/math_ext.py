"""The ``math`` dialect: xDSL's operations, ``math.erfc`` and the float classifications, which it lacks."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType, i1
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.dialects.math import Math as XDSL_MATH
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SameOperandsAndResultType


@irdl_op_definition
class ErfcOp(FloatingPointLikeUnaryMathOperation):
    """The complementary error function."""

    name = "math.erfc"
    traits = traits_def(Pure(), SameOperandsAndResultType())


def predicate_type(type: Attribute) -> Attribute:
    """i1, or a vector of i1 of the same shape."""
    return VectorType(i1, type.shape, type.scalable_dims) if isinstance(type, VectorType) else i1


class FloatClassOperation(IRDLOperation):
    """A test of one float: ``math.isnan %x : f32`` gives an i1."""

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[predicate_type(operand.type)])

    @classmethod
    def parse(cls, parser: Parser):
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operation = cls(parser.resolve_operand(name, type))
        operation.attributes |= attributes
        return operation

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)


@irdl_op_definition
class IsNaNOp(FloatClassOperation):
    """Whether a float is a NaN."""

    name = "math.isnan"


@irdl_op_definition
class IsInfOp(FloatClassOperation):
    """Whether a float is an infinity."""

    name = "math.isinf"


@irdl_op_definition
class IsFiniteOp(FloatClassOperation):
    """Whether a float is neither a NaN nor an infinity."""

    name = "math.isfinite"


Math = Dialect("math", [*XDSL_MATH.operations, ErfcOp, IsNaNOp, IsInfOp, IsFiniteOp], list(XDSL_MATH.attributes))
