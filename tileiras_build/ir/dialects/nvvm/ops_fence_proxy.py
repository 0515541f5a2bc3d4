"""Proxy fences of tensor maps, and their prefetch (``nvvm.fence.proxy``, ``nvvm.prefetch.tensormap``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i1, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from .attrs import Keyword, MemScopeAttr, parse_elided


class _Scoped(IRDLOperation):
    """An operation whose text begins with a memory scope, in full or starting at its ``<``."""

    if TYPE_CHECKING:
        scope: Keyword

    @classmethod
    def parse(cls, parser: Parser):
        scope = parse_elided(parser, MemScopeAttr)
        has_operands = bool(cls.get_irdl_definition().operands)
        read = parser.parse_unresolved_operand
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, read) if has_operands else []
        attributes = parser.parse_optional_attr_dict()
        types = [LLVMPointerType(), i32][: len(names)]
        operands = parser.resolve_operands(names, types, parser.pos)
        return cls.create(operands=operands, properties={"scope": scope}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.scope)
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class FenceProxyAcquireOp(_Scoped):
    """Make generic writes to a tensor map visible to the copies after it."""

    name = "nvvm.fence.proxy.acquire"
    addr = operand_def(LLVMPointerType())
    size = operand_def(i32)
    scope = prop_def(MemScopeAttr)


@irdl_op_definition
class FenceProxyReleaseOp(_Scoped):
    """Order earlier generic writes to a tensor map before later operations."""

    name = "nvvm.fence.proxy.release"
    scope = prop_def(MemScopeAttr)


@irdl_op_definition
class PrefetchTensorMapOp(IRDLOperation):
    """prefetch.tensormap"""

    name = "nvvm.prefetch.tensormap"
    tmaDescriptor = operand_def(LLVMPointerType)
    predicate = opt_operand_def(i1)
    assembly_format = "$tmaDescriptor (`,` `predicate` `=` $predicate^)? attr-dict `:` type($tmaDescriptor)"
