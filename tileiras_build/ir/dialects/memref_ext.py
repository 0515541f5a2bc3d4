"""The ``memref`` dialect: xDSL's operations, and MLIR's text form of those that lack it in xDSL."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    UnitAttr,
    UnrankedMemRefType,
)
from xdsl.dialects.memref import MemRef as XDSL_MEMREF
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    IRDLOperation,
    base,
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

UNINITIALIZED = "uninitialized"


@irdl_op_definition
class CastOp(IRDLOperation):
    """The same memory with a type of a more or less static shape."""

    name = "memref.cast"
    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    dest = result_def(base(MemRefType) | base(UnrankedMemRefType))
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"


@irdl_op_definition
class MemorySpaceCastOp(IRDLOperation):
    """The same memory, addressed in another address space."""

    name = "memref.memory_space_cast"
    source = operand_def(MemRefType)
    dest = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"


@irdl_op_definition
class ExtractAlignedPointerAsIndexOp(IRDLOperation):
    """The base address of offset and strides."""

    name = "memref.extract_aligned_pointer_as_index"
    source = operand_def(MemRefType)
    aligned_pointer = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($aligned_pointer)"


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """A variable of a module; without a value it is a declaration."""

    name = "memref.global"
    sym_name = prop_def(SymbolNameConstraint())
    sym_visibility = opt_prop_def(StringAttr)
    type = prop_def(MemRefType)
    initial_value = opt_prop_def(base(UnitAttr) | base(DenseIntOrFPElementsAttr))
    constant = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(IntegerAttr)
    traits = traits_def(SymbolOpInterface())

    def verify_(self) -> None:
        if not self.type.has_static_shape():
            raise VerifyException(f"'{self.name}' op type should be static shaped memref, but got '{self.type}'")

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        properties: dict[str, Attribute] = {}
        if (visibility := parser.parse_optional_str_literal()) is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        if parser.parse_optional_keyword("constant") is not None:
            properties["constant"] = UnitAttr()
        properties["sym_name"] = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        properties["type"] = type = parser.parse_type()
        if not isinstance(type, MemRefType):
            parser.raise_error("expected a memref type")
        if parser.parse_optional_punctuation("=") is not None:
            properties["initial_value"] = _parse_value(parser, type)
        attributes = parser.parse_optional_attr_dict()
        if "alignment" in attributes:
            properties["alignment"] = attributes.pop("alignment")
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(" ")
            printer.print_string_literal(self.sym_visibility.data)
        printer.print_string(" constant " if self.constant is not None else " ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        if isinstance(self.initial_value, UnitAttr):
            printer.print_string(f" = {UNINITIALIZED}")
        elif self.initial_value is not None:
            printer.print_string(" = ")
            self.initial_value.print_without_type(printer)
        aligned = {} if self.alignment is None else {"alignment": self.alignment}
        printer.print_op_attributes(aligned | self.attributes)


def _parse_value(parser: Parser, type: MemRefType) -> Attribute:
    if parser.parse_optional_keyword(UNINITIALIZED) is not None:
        return UnitAttr()
    parser.parse_keyword("dense")
    element = type.element_type
    if not isinstance(element, IntegerType | IndexType | AnyFloat):
        parser.raise_error(f"a memref of {element} has no dense value")
    return parser.parse_dense_int_or_fp_elements_attr(TensorType(element, type.get_shape()))


_OURS: list[type[Operation]] = [CastOp, MemorySpaceCastOp, ExtractAlignedPointerAsIndexOp, GlobalOp]
_NAMES = {kind.name for kind in _OURS}
MemRef = Dialect(
    "memref",
    [*(kind for kind in XDSL_MEMREF.operations if kind.name not in _NAMES), *_OURS],
    list(XDSL_MEMREF.attributes),
)
