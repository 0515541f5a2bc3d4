"""Asynchronous copies of sm_80, and packed arithmetic of ``nvgpu``."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    UnitAttr,
    i1,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..checked_cast import type_as
from .types import SHARED, DeviceAsyncTokenType, address_space

SIZES = (4, 8, 16)  # bytes of a copy (PTX ISA 9.0, section 9.7.9.25.3.1)


@irdl_op_definition
class DeviceAsyncCopyOp(IRDLOperation):
    """Copy ``dstElements`` elements from global to shared memory; elements past ``srcElements``, or all of a copy that is
    ``ignored``, become zero. Without effect where ``predicate`` is false."""

    name = "nvgpu.device_async_copy"
    dst = operand_def(MemRefType)
    dstIndices = var_operand_def(IndexType())
    src = operand_def(MemRefType)
    srcIndices = var_operand_def(IndexType())
    srcElements = opt_operand_def(IndexType())
    ignored = opt_operand_def(i1)
    predicate = opt_operand_def(i1)
    dstElements = prop_def(IntegerAttr.constr(type=IndexType()))
    bypassL1 = opt_prop_def(UnitAttr)
    asyncToken = result_def(DeviceAsyncTokenType())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$src `[` $srcIndices `]` `,` $dst `[` $dstIndices `]` `,` $dstElements (`,` $srcElements^)?"
        " (`ignored` `=` $ignored^)? (`predicate` `=` $predicate^)? attr-dict `:` type($src) `to` type($dst)"
    )

    def verify_(self) -> None:
        source, destination = type_as(self.src, MemRefType), type_as(self.dst, MemRefType)
        if address_space(destination.memory_space) != SHARED:
            raise VerifyException(
                f"'{self.name}' op destination memref must be in shared memory, but got '{destination}'"
            )
        if destination.element_type != source.element_type:
            raise VerifyException(f"'{self.name}' op source and destination must have the same element type")
        if self.srcElements is not None and self.ignored is not None:
            raise VerifyException(f"'{self.name}' op has srcElements or is ignored, not both")
        for side, indices, type in (
            ("source", self.srcIndices, source),
            ("destination", self.dstIndices, destination),
        ):
            if len(indices) != len(type.get_shape()):
                raise VerifyException(f"'{self.name}' op expected {len(type.get_shape())} {side} indices")
            if not _is_contiguous(type):
                raise VerifyException(f"'{self.name}' op {side} memref most minor dim must have unit stride")
        self._check_size(source)

    def _check_size(self, type: MemRefType) -> None:
        """Check that a copy has 4, 8 or 16 bytes, and that only 16 bytes bypass the L1 cache."""
        bits = type.element_type.bitwidth if isinstance(type.element_type, FixedBitwidthType) else 0
        count = self.dstElements.value.data
        allowed = [size * 8 // bits for size in SIZES if bits and size * 8 % bits == 0]
        if count not in allowed:
            counts = ", ".join(map(str, allowed))
            raise VerifyException(
                f"'{self.name}' op copies {count} elements of {bits} bits, but can copy {counts or 'none'}"
            )
        if self.bypassL1 is not None and count * bits != 8 * SIZES[-1]:
            raise VerifyException(
                f"'{self.name}' op bypassL1 needs {8 * SIZES[-1] // bits} elements of '{type.element_type}', got {count}"
            )


def _is_contiguous(type: MemRefType) -> bool:
    """Whether the last dimension is contiguous according to the type."""
    if isinstance(type.layout, AffineMapAttr):
        layout, rank = type.layout.data, len(type.shape)
        start, next_one = ([0] * rank, [0] * (rank - 1) + [1])
        return layout.num_symbols > 0 or layout.eval(next_one, [])[-1] - layout.eval(start, [])[-1] == 1
    strides = None if isinstance(type.layout, NoneAttr) else type.get_strides()
    return not strides or strides[-1] in (1, None, DYNAMIC_INDEX)


@irdl_op_definition
class DeviceAsyncCreateGroupOp(IRDLOperation):
    """Commit the copies since the last group as one group."""

    name = "nvgpu.device_async_create_group"
    inputTokens = var_operand_def(DeviceAsyncTokenType())
    asyncToken = result_def(DeviceAsyncTokenType())

    @classmethod
    def parse(cls, parser: Parser) -> DeviceAsyncCreateGroupOp:
        token = DeviceAsyncTokenType()
        names = []
        # A group of no tokens ends with its line: the next one may begin with a value too.
        before = parser.lexer.input.content[: parser.pos]
        if "\n" not in before[len(before.rstrip()) :]:
            read = parser.parse_optional_undelimited_comma_separated_list
            names = read(parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand) or []
        attributes = parser.parse_optional_attr_dict()
        operands = [parser.resolve_operand(name, token) for name in names]
        return cls.create(operands=operands, result_types=[token], attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.inputTokens:
            printer.print_string(" ")
            printer.print_list(self.inputTokens, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class DeviceAsyncWaitOp(IRDLOperation):
    """Wait until at most ``numGroups`` (default 0) groups are in flight."""

    name = "nvgpu.device_async_wait"
    asyncDependencies = operand_def(DeviceAsyncTokenType())
    numGroups = opt_prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$asyncDependencies attr-dict"
