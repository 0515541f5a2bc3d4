"""The ``vector`` dialect: xDSL's operations and ``vector.from_elements``, which it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.dialects.vector import Vector as XDSL_VECTOR
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class FromElementsOp(IRDLOperation):
    """A vector from its elements in row-major order."""

    name = "vector.from_elements"
    elements = var_operand_def()
    result = result_def(VectorType)
    traits = traits_def(Pure())

    def __init__(self, elements: Sequence[SSAValue], result_type: VectorType):
        super().__init__(operands=[elements], result_types=[result_type])

    def verify_(self) -> None:
        type = self.result.type
        if len(self.elements) != type.element_count():
            raise VerifyException(f"{type} has {type.element_count()} elements, got {len(self.elements)}")
        if any(element.type != type.element_type for element in self.elements):
            raise VerifyException(f"the elements of {type} must be of type {type.element_type}")

    @classmethod
    def parse(cls, parser: Parser) -> FromElementsOp:
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, VectorType):
            parser.raise_error("expected a vector type")
        elements = [parser.resolve_operand(name, type.element_type) for name in names or ()]
        return cls.create(operands=elements, result_types=[type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.elements, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


Vector = Dialect("vector", [*XDSL_VECTOR.operations, FromElementsOp], list(XDSL_VECTOR.attributes))
