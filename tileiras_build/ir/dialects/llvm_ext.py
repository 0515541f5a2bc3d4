"""The ``llvm`` dialect: xDSL's operations, and the attributes and casts that our passes need and xDSL lacks."""

from __future__ import annotations

from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerType, StringAttr, SymbolRefAttr, UnitAttr, i32, i64
from xdsl.dialects.llvm import LLVM as XDSL_LLVM
from xdsl.dialects.llvm import GenericCastOp, LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .debuginfo import DEBUG_ATTRS
from .debuginfo import LLVM_OPERATIONS as DEBUG_OPERATIONS
from .debuginfo.ops import ExtractElementOp as ExtractElementOp
from .fast_xdsl import create, integer_attr, segments

# Attribute of a conditional branch: how often it goes to each of its blocks, as MLIR names it.
BRANCH_WEIGHTS = "branch_weights"


@irdl_attr_definition
class ConstantRangeAttr(ParametrizedAttribute):
    """The half-open range ``[lower, upper)`` of an integer: ``#llvm.constant_range<i32, 0, 64>``."""

    name = "llvm.constant_range"

    type: IntegerType
    lower: IntAttr
    upper: IntAttr

    def verify(self) -> None:
        if self.lower.data >= self.upper.data:
            raise VerifyException(f"range [{self.lower.data}, {self.upper.data}) is empty")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list:
        with parser.in_angle_brackets():
            type = parser.parse_type()
            parser.parse_punctuation(",")
            lower = parser.parse_integer()
            parser.parse_punctuation(",")
            return [type, IntAttr(lower), IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.type)
            printer.print_string(f", {self.lower.data}, {self.upper.data}")


@irdl_op_definition
class AddrSpaceCastOp(IRDLOperation):
    """A pointer in another address space."""

    name = "llvm.addrspacecast"
    arg = operand_def(LLVMPointerType)
    res = result_def(LLVMPointerType)
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def __init__(self, arg: SSAValue, result_type: LLVMPointerType):
        super().__init__(operands=[arg], result_types=[result_type])


@irdl_op_definition
class UIToFPOp(GenericCastOp):
    """An unsigned integer as a floating-point value."""

    name = "llvm.uitofp"


@irdl_op_definition
class FPToSIOp(GenericCastOp):
    """A floating-point value as a signed integer, truncated."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(GenericCastOp):
    """A floating-point value as an unsigned integer, truncated."""

    name = "llvm.fptoui"


# The LLVM IR keyword of a binary instruction, and of a conversion -> its operation.
BINARY: dict[str, type[Operation]] = {
    "add": llvm.AddOp, "sub": llvm.SubOp, "mul": llvm.MulOp, "udiv": llvm.UDivOp, "sdiv": llvm.SDivOp,
    "urem": llvm.URemOp, "srem": llvm.SRemOp, "and": llvm.AndOp, "or": llvm.OrOp, "xor": llvm.XOrOp,
    "shl": llvm.ShlOp, "lshr": llvm.LShrOp, "ashr": llvm.AShrOp, "fadd": llvm.FAddOp, "fsub": llvm.FSubOp,
    "fmul": llvm.FMulOp, "fdiv": llvm.FDivOp, "frem": llvm.FRemOp,
}  # fmt: skip
CASTS: dict[str, type[Operation]] = {
    "zext": llvm.ZExtOp, "sext": llvm.SExtOp, "trunc": llvm.TruncOp, "fpext": llvm.FPExtOp, "fptrunc": llvm.FPTruncOp,
    "bitcast": llvm.BitcastOp, "ptrtoint": llvm.PtrToIntOp, "inttoptr": llvm.IntToPtrOp, "sitofp": llvm.SIToFPOp,
    "uitofp": UIToFPOp, "fptosi": FPToSIOp, "fptoui": FPToUIOp, "addrspacecast": AddrSpaceCastOp,
}  # fmt: skip

# Attributes of functions, globals and calls, cached: creating one costs a third of an operation.
_cached_linkage = cache(llvm.LinkageAttr)
_symbol = cache(SymbolRefAttr)
_C_CONVENTION = llvm.CallingConventionAttr("ccc")
_NO_TAIL_CALL = llvm.TailCallKindAttr(llvm.TailCallKind.NONE)
_NO_BUNDLES: Attribute = DenseArrayBase.from_list(i32, [])
NO_FAST_MATH: Attribute = llvm.FastMathAttr(None)


def call_properties(symbol: str, operands: int) -> dict[str, Attribute]:
    """The properties of ``llvm.call`` with ``operands`` operands."""
    return {
        "callee": _symbol(symbol),
        "fastmathFlags": NO_FAST_MATH,
        "CConv": _C_CONVENTION,
        "op_bundle_sizes": _NO_BUNDLES,
        "TailCallKind": _NO_TAIL_CALL,
        "operandSegmentSizes": segments(operands, 0),
    }


def make_function(name: str, type: llvm.LLVMFunctionType, body: Region | None = None) -> llvm.FuncOp:
    """An external ``llvm.func``; a declaration if it has no body."""
    properties = {
        "sym_name": StringAttr(name),
        "function_type": type,
        "CConv": _C_CONVENTION,
        "linkage": _cached_linkage("external"),
        "visibility_": integer_attr(0, i64),
    }
    return create(llvm.FuncOp, (), (), properties, regions=(body or Region(),))


def make_global(
    type: Attribute,
    name: str,
    linkage: str,
    space: int = 0,
    *,
    constant: bool = False,
    value: Attribute | None = None,
    alignment: int | None = None,
) -> llvm.GlobalOp:
    """``llvm.mlir.global``."""
    properties = {"global_type": type, "sym_name": StringAttr(name), "linkage": _cached_linkage(linkage)}
    properties["addr_space"] = integer_attr(space, i32)
    if constant:
        properties["constant"] = UnitAttr()
    if value is not None:
        properties["value"] = value
    if alignment is not None:
        properties["alignment"] = integer_attr(alignment, i64)
    return create(llvm.GlobalOp, (), (), properties, regions=(Region(),))


LLVM = Dialect(
    "llvm",
    [*XDSL_LLVM.operations, AddrSpaceCastOp, UIToFPOp, FPToSIOp, FPToUIOp, *DEBUG_OPERATIONS],
    [*XDSL_LLVM.attributes, ConstantRangeAttr, *DEBUG_ATTRS],
)
