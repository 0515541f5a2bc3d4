"""Reductions of the ``gpu`` dialect: over the lanes of a warp, and over a block."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Region, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


class ReduceKind(StrEnum):
    """The combining operation of a reduction."""

    ADD = "add"
    MUL = "mul"
    MINUI = "minui"
    MINSI = "minsi"
    MINNUMF = "minnumf"
    MAXUI = "maxui"
    MAXSI = "maxsi"
    MAXNUMF = "maxnumf"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MINIMUMF = "minimumf"
    MAXIMUMF = "maximumf"


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """``#gpu<all_reduce_op add>``"""

    name = "gpu.all_reduce_op"


@irdl_op_definition
class SubgroupReduceOp(IRDLOperation):
    """Combine a value over the lanes of a warp, or over clusters of lanes."""

    name = "gpu.subgroup_reduce"
    value = operand_def()
    op = prop_def(ReduceKindAttr)
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(IntegerAttr.constr(type=i32))
    cluster_stride = opt_prop_def(IntegerAttr.constr(type=i32))
    result = result_def()
    assembly_format = (
        "$op $value (`uniform` $uniform^)?"
        " (`cluster` `(` `size` `=` $cluster_size^ (`,` `stride` `=` $cluster_stride^)? `)`)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        for name, value in (("cluster_size", self.cluster_size), ("cluster_stride", self.cluster_stride)):
            if value is not None and (value.value.data < 1 or value.value.data & (value.value.data - 1)):
                raise VerifyException(f"{name} {value.value.data} must be a power of two")
        if self.cluster_stride is not None and self.cluster_size is None:
            raise VerifyException("cluster_stride needs cluster_size")


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """Combine a value over the block, by a named operation or a region."""

    name = "gpu.all_reduce"
    value = operand_def()
    op = opt_prop_def(ReduceKindAttr)
    uniform = opt_prop_def(UnitAttr)
    body = region_def()
    result = result_def()

    def verify_(self) -> None:
        if (self.op is None) == (not self.body.blocks):
            raise VerifyException("expected either an op attribute or a non-empty body")
        if self.value.type != self.result.type:
            raise VerifyException(f"the result must have the value's type '{self.value.type}'")
        if self.body.blocks:
            _check_reduction(self.body, self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllReduceOp:
        properties: dict[str, Attribute] = {}
        if (kind := parser.parse_optional_str_enum(ReduceKind)) is not None:
            properties["op"] = ReduceKindAttr(kind)
        value = parser.parse_unresolved_operand()
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands([value], type.inputs.data, parser.pos)
        return cls.create(
            operands=operands, result_types=type.outputs.data, properties=properties, attributes=attributes,
            regions=[body],
        )  # fmt: skip

    def print(self, printer: Printer) -> None:
        if self.op is not None:
            printer.print_string(f" {self.op.data.value}")
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(" uniform " if self.uniform is not None else " ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)


def _check_reduction(body: Region, type: Attribute) -> None:
    entry, last = body.blocks[0], body.blocks[-1].last_op
    if entry.arg_types != (type, type):
        raise VerifyException(f"the body takes two values of type '{type}'")
    if not isinstance(last, YieldOp) or tuple(value.type for value in last.operands) != (type,):
        raise VerifyException(f"the body yields one value of type '{type}'")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The result of the body of a reduction."""

    name = "gpu.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"
