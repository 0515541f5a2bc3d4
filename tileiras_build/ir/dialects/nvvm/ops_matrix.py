"""MMA and packed arithmetic of ``nvvm``."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..checked_cast import cast
from .attrs import (
    MatrixElementAttr,
    MatrixShapeAttr,
    MmaIntOverflowAttr,
    MmaLayoutAttr,
    MmaTypeAttr,
    ShapeAttr,
    WgmmaScaleInAttr,
    WgmmaScaleOutAttr,
    WgmmaTypeAttr,
    parse_elided,
    print_elided,
)


@irdl_op_definition
class WgmmaFenceAlignedOp(IRDLOperation):
    """Order earlier register and shared memory accesses before the MMAs."""

    name = "nvvm.wgmma.fence.aligned"
    assembly_format = "attr-dict"


@irdl_op_definition
class WgmmaCommitGroupOp(IRDLOperation):
    """Commit the MMAs since the last group as one group."""

    name = "nvvm.wgmma.commit.group.sync.aligned"
    assembly_format = "attr-dict"


@irdl_op_definition
class WgmmaWaitGroupOp(IRDLOperation):
    """Wait until at most ``group`` groups are in flight."""

    name = "nvvm.wgmma.wait.group.sync.aligned"
    group = prop_def(IntegerAttr.constr(type=i64))
    assembly_format = "$group attr-dict"


@irdl_op_definition
class WgmmaMmaAsyncOp(IRDLOperation):
    """One wgmma, its accumulator a struct of registers."""

    name = "nvvm.wgmma.mma_async"
    inouts = operand_def(LLVMStructType)
    descriptorA = operand_def(i64)
    descriptorB = operand_def(i64)
    shape = prop_def(ShapeAttr)
    typeA = prop_def(WgmmaTypeAttr)
    typeB = prop_def(WgmmaTypeAttr)
    typeD = prop_def(WgmmaTypeAttr)
    scaleD = prop_def(WgmmaScaleOutAttr)
    scaleA = prop_def(WgmmaScaleInAttr)
    scaleB = prop_def(WgmmaScaleInAttr)
    layoutA = prop_def(MmaLayoutAttr)
    layoutB = prop_def(MmaLayoutAttr)
    satfinite = opt_prop_def(MmaIntOverflowAttr)
    results_ = result_def(LLVMStructType)

    def verify_(self) -> None:
        m, n, _ = self.shape.sizes
        if m != 64 or n % 8 or not 8 <= n <= 256:
            raise VerifyException(f"'{self.name}' op shape must have m = 64 and n a multiple of 8 up to 256")
        if self.inouts.type != self.results_.type:
            raise VerifyException(f"'{self.name}' op result must have the type of the accumulator")

    @classmethod
    def parse(cls, parser: Parser) -> WgmmaMmaAsyncOp:
        read = parser.parse_optional_unresolved_operand
        found = parser.parse_comma_separated_list(parser.Delimiter.NONE, read)
        # The list ends in the comma before the shape.
        properties: dict[str, Attribute] = {"shape": parse_elided(parser, ShapeAttr)}
        for letter, fields in _GROUPS.items():
            parser.parse_punctuation(",")
            parser.parse_keyword(letter)
            properties |= cls._parse_group(parser, fields)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        inouts = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        a, b, c = parser.resolve_operands([name for name in found[:3] if name], [i64, i64, inouts], parser.pos)
        return cls.create(operands=[c, a, b], result_types=[result], properties=properties, attributes=attributes)

    @staticmethod
    def _parse_group(parser: Parser, fields: dict[str, type]) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        with parser.in_square_brackets():
            for position, (name, attribute) in enumerate(fields.items()):
                if position and not parser.parse_optional_punctuation(","):
                    break
                found[name] = parse_elided(parser, attribute)
        return found

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.descriptorA, self.descriptorB, self.inouts), printer.print_ssa_value)
        printer.print_string(", ")
        print_elided(printer, self.shape)
        for letter, fields in _GROUPS.items():
            printer.print_string(f", {letter}")
            present = [cast(ParametrizedAttribute, self.properties[name]) for name in fields if name in self.properties]
            with printer.in_square_brackets():
                printer.print_list(present, lambda entry: print_elided(printer, entry))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.inouts.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.results_.type)


_GROUPS: dict[str, dict[str, type]] = {
    "D": {"typeD": WgmmaTypeAttr, "scaleD": WgmmaScaleOutAttr, "satfinite": MmaIntOverflowAttr},
    "A": {"typeA": WgmmaTypeAttr, "scaleA": WgmmaScaleInAttr, "layoutA": MmaLayoutAttr},
    "B": {"typeB": WgmmaTypeAttr, "scaleB": WgmmaScaleInAttr, "layoutB": MmaLayoutAttr},
}


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """One MMA of a warp: ``nvvm.mma.sync A[...] B[...] C[...] {...} : (types of A, B, C) -> struct``."""

    name = "nvvm.mma.sync"
    operandA = var_operand_def()
    operandB = var_operand_def()
    operandC = var_operand_def()
    shape = prop_def(ShapeAttr)
    layoutA = prop_def(MmaLayoutAttr)
    layoutB = prop_def(MmaLayoutAttr)
    multiplicandAPtxType = opt_prop_def(MmaTypeAttr)
    multiplicandBPtxType = opt_prop_def(MmaTypeAttr)
    intOverflowBehavior = opt_prop_def(MmaIntOverflowAttr)
    res = result_def()
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @classmethod
    def parse(cls, parser: Parser) -> MmaSyncOp:
        groups = []
        for letter in "ABC":
            parser.parse_keyword(letter)
            groups.append(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand))
        properties = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        signature = parser.parse_function_type()
        # One type per group: all registers of an operand have the same type.
        operands = [
            parser.resolve_operands(names, [type] * len(names), parser.pos)
            for names, type in zip(groups, signature.inputs.data, strict=True)
        ]
        return cls.build(operands=operands, result_types=signature.outputs.data, properties=properties)

    def print(self, printer: Printer) -> None:
        for letter, values in zip("ABC", (self.operandA, self.operandB, self.operandC), strict=True):
            printer.print_string(f" {letter}")
            with printer.in_square_brackets():
                printer.print_list(values, printer.print_ssa_value)
        shown = {name: value for name, value in self.properties.items() if name != "operandSegmentSizes"}
        printer.print_op_attributes(dict(sorted(shown.items())) | self.attributes)
        printer.print_string(" : ")
        inputs = [self.operandA[0].type, self.operandB[0].type, self.operandC[0].type]
        printer.print_function_type(inputs, [self.res.type])


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """ldmatrix: one 32-bit register, or 2 or 4 in a struct."""

    name = "nvvm.ldmatrix"
    ptr = operand_def(LLVMPointerType)
    num = prop_def(IntegerAttr.constr(type=i32))
    layout = prop_def(MmaLayoutAttr)
    shape = opt_prop_def(MatrixShapeAttr)
    eltType = opt_prop_def(MatrixElementAttr)
    res = result_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ptr attr-dict `:` functional-type($ptr, $res)"

    def verify_(self) -> None:
        if self.num.value.data not in (1, 2, 4):
            raise VerifyException(f"'{self.name}' op expected num attribute to be 1, 2 or 4")
