"""Debug values of source variables, in the form of producers, and in the form of LLVM's dialect.

    debuginfo.value %v, #debuginfo.variable<name = "x", line = 3>, #llvm.di_expression : !debuginfo.value<f32>
    debuginfo.value %p, @x, #llvm.di_expression {kind = "declare"} : !debuginfo.value<!llvm.ptr>
    debuginfo.variable @x <name = "x", line = 3>

become

    %pinned = llvm.nvvm.move %v : f32
    llvm.intr.dbg.value #llvm.di_local_variable<…> #llvm.di_expression<[…]> = %pinned : f32
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, StringAttr, SymbolNameConstraint, SymbolRefAttr, VectorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .attrs import DIExpression, DILocalVariable, Field, Node


@irdl_attr_definition
class VariableAttr(Node):
    """A source variable before its scope is known; ``arg`` counts parameters from 1, ``type`` is the debugger's type
    where the types of its values are ambiguous."""

    name = "debuginfo.variable"
    FIELDS = (
        Field("name", "string"),
        Field("line", "number", optional=True),
        Field("arg", "number", optional=True),
        Field("type", "node", optional=True),
    )


@irdl_attr_definition
class ValueType(ParametrizedAttribute, TypeAttribute):
    """The value of a variable of type ``inner``: ``!debuginfo.value<f32>``."""

    name = "debuginfo.value"
    inner: Attribute


@irdl_op_definition
class ValueOp(IRDLOperation):
    """From here on a variable has this value (kind value), or is at this address (kinds declare and addr)."""

    name = "debuginfo.value"
    value = operand_def()
    variable = prop_def(AnyOf((BaseAttr(VariableAttr), BaseAttr(SymbolRefAttr))))
    expression = prop_def(DIExpression)
    kind = opt_prop_def(StringAttr)

    def __init__(self, value: SSAValue, variable: Attribute, expression: DIExpression, kind: str = "value"):
        properties = {"variable": variable, "expression": expression, "kind": StringAttr(kind)}
        super().__init__(operands=[value], properties=properties)

    @property
    def kind_name(self) -> str:
        """The kind: value, declare or addr."""
        return self.kind.data if self.kind is not None else "value"

    @classmethod
    def parse(cls, parser: Parser) -> ValueOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        variable = parser.parse_attribute()
        parser.parse_punctuation(",")
        expression = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, ValueType) or not isinstance(expression, DIExpression):
            parser.raise_error("expected an expression and a !debuginfo.value type")
        kind = attributes.pop("kind", StringAttr("value"))
        if not isinstance(kind, StringAttr):
            parser.raise_error(f"expected a string as the kind, got {kind}")
        op = cls(parser.resolve_operand(operand, type.inner), variable, expression, kind.data)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        for attribute in (self.variable, self.expression):
            printer.print_string(", ")
            printer.print_attribute(attribute)
        kind = {} if self.kind is None or self.kind_name == "value" else {"kind": self.kind}
        printer.print_op_attributes({**kind, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(ValueType(self.value.type))


@irdl_op_definition
class VariableOp(IRDLOperation):
    """A variable that debug values name by symbol."""

    name = "debuginfo.variable"
    sym_name = prop_def(SymbolNameConstraint())
    variable = prop_def(VariableAttr)
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name $variable attr-dict"


@irdl_op_definition
class PlaceholderOp(IRDLOperation):
    """Replaces a debug operand that could not be resolved, for ``reason``. It never reaches LLVM."""

    name = "debuginfo.placeholder"
    reason = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, reason: str, type: Attribute):
        super().__init__(properties={"reason": StringAttr(reason)}, result_types=[type])


# ---- operations of the LLVM dialect ------------------------------------------------------------------------
@irdl_op_definition
class MoveOp(IRDLOperation):
    """The same value, opaque to the optimizer: a debugger can read it."""

    name = "llvm.nvvm.move"
    T: ClassVar = VarConstraint("T", AnyAttr())
    source = operand_def(T)
    result = result_def(T)
    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue):
        super().__init__(operands=[source], result_types=[source.type])


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One lane of a vector: ``llvm.extractelement %v[%i : i32] : vector<4xf32>``."""

    name = "llvm.extractelement"
    T: ClassVar = VarConstraint("T", AnyAttr())
    vector = operand_def(VectorType.constr(T))
    position = operand_def(IntegerType)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"

    def __init__(self, vector: SSAValue, position: SSAValue):
        if not isinstance(vector.type, VectorType):
            raise VerifyException(f"llvm.extractelement takes a lane of a vector, got {vector.type}")
        super().__init__(operands=[vector, position], result_types=[vector.type.element_type])


class DebugIntrinsic(IRDLOperation):
    """``llvm.intr.dbg.value #variable #expression = %v : f32``; an empty expression is not printed."""

    value = operand_def(AnyAttr())
    varInfo = prop_def(DILocalVariable)
    locationExpr = opt_prop_def(DIExpression)

    def __init__(self, value: SSAValue, variable: DILocalVariable, expression: DIExpression):
        properties = {"varInfo": variable, "locationExpr": expression if expression.data else None}
        super().__init__(operands=[value], properties=properties)

    @property
    def expression(self) -> DIExpression:
        """The steps from the value to the variable."""
        return self.locationExpr if self.locationExpr is not None else DIExpression(())

    @classmethod
    def parse(cls, parser: Parser):
        variable = parser.parse_attribute()
        expression = parser.parse_optional_attribute() or DIExpression(())
        if not isinstance(variable, DILocalVariable) or not isinstance(expression, DIExpression):
            parser.raise_error("expected a variable, and an expression where there is one")
        parser.parse_punctuation("=")
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(name, parser.parse_type())
        attributes = parser.parse_optional_attr_dict()
        op = cls(value, variable, expression)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.varInfo)
        if self.locationExpr is not None:
            printer.print_string(" ")
            printer.print_attribute(self.locationExpr)
        printer.print_string(" = ")
        printer.print_ssa_value(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class DbgValueOp(DebugIntrinsic):
    """A variable has this value from here on."""

    name = "llvm.intr.dbg.value"


@irdl_op_definition
class DbgDeclareOp(DebugIntrinsic):
    """A variable is at this address for all of its lifetime."""

    name = "llvm.intr.dbg.declare"


@irdl_op_definition
class DbgAddrOp(DebugIntrinsic):
    """A variable is at this address from here on."""

    name = "llvm.intr.dbg.addr"


DEBUGINFO_OPERATIONS = (ValueOp, VariableOp, PlaceholderOp)
LLVM_OPERATIONS = (MoveOp, ExtractElementOp, DbgValueOp, DbgDeclareOp, DbgAddrOp)
