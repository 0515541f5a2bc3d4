"""``gpu.launch_func``, a launch from host code, in MLIR's own text form.

gpu.launch_func <%stream : !llvm.ptr> @kernels::@scale clusters in (%two, %one, %one)
    blocks in (%grid, %one, %one) threads in (%block, %one, %one) : i32
    dynamic_shared_memory_size %bytes args(%x : f32, %a : memref<64xf32>)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, SymbolRefAttr, i32, i64
from xdsl.dialects.gpu import AsyncTokenType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
    opt_result_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

SIZES = (IndexType(), i32, i64)


@irdl_op_definition
class LaunchFuncOp(IRDLOperation):
    """Launch a kernel of a gpu.module on a grid: three block counts, three thread counts, and an optional cluster
    shape.
    """

    name = "gpu.launch_func"
    asyncDependencies = var_operand_def(AsyncTokenType)
    gridSizes = var_operand_def()
    blockSizes = var_operand_def()
    clusterSizes = var_operand_def()
    dynamicSharedMemorySize = opt_operand_def(i32)
    kernelOperands = var_operand_def()
    asyncObject = opt_operand_def()
    asyncToken = opt_result_def(AsyncTokenType)
    kernel = prop_def(SymbolRefAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        if (len(self.gridSizes), len(self.blockSizes)) != (3, 3) or len(self.clusterSizes) not in (0, 3):
            raise VerifyException("a launch has three sizes of the grid, of blocks, and of clusters if any")
        types = {value.type for value in (*self.gridSizes, *self.blockSizes, *self.clusterSizes)}
        if len(types) != 1 or not types < set(SIZES):
            raise VerifyException("the sizes of a launch have one type: index, i32 or i64")
        if len(self.kernel.nested_references) != 1:
            raise VerifyException("a kernel is named by its module and itself: @module::@kernel")

    @classmethod
    def parse(cls, parser: Parser) -> LaunchFuncOp:
        token, dependencies = _parse_async(parser)
        stream = _parse_stream(parser)
        kernel = parser.parse_attribute()
        clusters = _parse_sizes(parser, "clusters")
        grid, block = _parse_sizes(parser, "blocks"), _parse_sizes(parser, "threads")
        type = parser.parse_type() if parser.parse_optional_punctuation(":") else IndexType()
        shared: Sequence[SSAValue] = []
        if parser.parse_optional_keyword("dynamic_shared_memory_size"):
            shared = parser.resolve_operands([parser.parse_unresolved_operand()], [i32], parser.pos)
        arguments = _parse_arguments(parser)
        attributes = parser.parse_optional_attr_dict()
        sizes = [parser.resolve_operands(names, [type] * len(names), parser.pos) for names in (grid, block, clusters)]
        if not isinstance(kernel, SymbolRefAttr):
            parser.raise_error("expected the name of a kernel: @module::@kernel")
        return cls.build(
            operands=[dependencies, *sizes, shared, arguments, stream],
            result_types=[[AsyncTokenType()] if token else []],
            properties={"kernel": kernel},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        _print_async(printer, self)
        if self.asyncObject is not None:
            printer.print_string(" <")
            _print_typed(printer, self.asyncObject)
            printer.print_string(">")
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        for keyword, values in (
            ("clusters", self.clusterSizes),
            ("blocks", self.gridSizes),
            ("threads", self.blockSizes),
        ):
            if values:
                printer.print_string(f" {keyword} in ")
                with printer.in_parens():
                    printer.print_list(values, printer.print_ssa_value)
        if self.gridSizes[0].type != IndexType():
            printer.print_string(" : ")
            printer.print_attribute(self.gridSizes[0].type)
        if self.dynamicSharedMemorySize is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_ssa_value(self.dynamicSharedMemorySize)
        if self.kernelOperands:
            printer.print_string(" args")
            with printer.in_parens():
                printer.print_list(self.kernelOperands, lambda value: _print_typed(printer, value))
        printer.print_op_attributes(self.attributes)


def _parse_async(parser: Parser) -> tuple[bool, Sequence[SSAValue]]:
    token = parser.parse_optional_keyword("async") is not None
    names = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand) or []
    return token, parser.resolve_operands(names, [AsyncTokenType()] * len(names), parser.pos)


def _parse_stream(parser: Parser) -> Sequence[SSAValue]:
    if not parser.parse_optional_punctuation("<"):
        return []
    stream = _parse_typed(parser)
    parser.parse_punctuation(">")
    return [stream]


def _parse_typed(parser: Parser) -> SSAValue:
    name = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(name, parser.parse_type())


def _parse_sizes(parser: Parser, keyword: str) -> list[UnresolvedOperand]:
    if keyword == "clusters":
        if not parser.parse_optional_keyword(keyword):
            return []
    else:
        parser.parse_keyword(keyword)
    parser.parse_keyword("in")
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)


def _parse_arguments(parser: Parser) -> Sequence[SSAValue]:
    if not parser.parse_optional_keyword("args"):
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_typed(parser))


def _print_async(printer: Printer, op: LaunchFuncOp) -> None:
    if op.asyncToken is not None:
        printer.print_string(" async")
    if op.asyncDependencies:
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(op.asyncDependencies, printer.print_ssa_value)


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    type: Attribute = value.type
    printer.print_attribute(type)
