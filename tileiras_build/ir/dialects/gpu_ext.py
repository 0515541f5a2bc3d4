"""The ``gpu`` dialect in MLIR's own text form.

xDSL has most of the operations, without their formats. Operations of kernel bodies are defined here; host-side
operations are xDSL's. The workgroup and private buffers of ``gpu.func`` are trailing arguments of its entry block, as
in MLIR: ``workgroup_attributions`` is the number of the former.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import gpu as xdsl_gpu
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.dialects.gpu import DimensionAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
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
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .checked_cast import cast
from .gpu_launch_func import LaunchFuncOp
from .gpu_reductions import AllReduceOp, ReduceKindAttr, SubgroupReduceOp, YieldOp


class AddressSpace(StrEnum):
    """The address space of a buffer of a GPU function."""

    GLOBAL = "global"
    WORKGROUP = "workgroup"
    PRIVATE = "private"


@irdl_attr_definition
class AddressSpaceAttr(EnumAttribute[AddressSpace]):
    """``#gpu.address_space<workgroup>``, the memory space of a memref."""

    name = "gpu.address_space"

    @classmethod
    def parse_parameter(cls, parser):
        with parser.in_angle_brackets():
            return super().parse_parameter(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            super().print_parameter(printer)


class ShuffleMode(StrEnum):
    """Which lane a shuffle reads from."""

    XOR = "xor"
    UP = "up"
    DOWN = "down"
    IDX = "idx"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """``#gpu<shuffle_mode xor>``"""

    name = "gpu.shuffle_mode"


class _IndexQuery(IRDLOperation):
    """A query with an optional bound; the trailing ``: index`` may be omitted."""

    @classmethod
    def parse(cls, parser: Parser):
        properties: dict[str, Attribute] = {}
        if "dimension" in cls.get_irdl_definition().properties:
            properties["dimension"] = DimensionAttr(DimensionAttr.parse_parameter(parser))
        if parser.parse_optional_keyword("upper_bound"):
            properties["upper_bound"] = IntegerAttr(parser.parse_integer(), IndexType())
            if parser.parse_optional_punctuation(":"):
                parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        if parser.parse_optional_punctuation(":"):
            parser.parse_type()
        return cls.create(result_types=[IndexType()], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if dimension := self.properties.get("dimension"):
            printer.print_string(f" {cast(DimensionAttr, dimension).data}")
        if bound := self.properties.get("upper_bound"):
            printer.print_string(f" upper_bound {cast(IntegerAttr, bound).value.data}")
        printer.print_op_attributes(self.attributes)
        if self.name in _PRINTS_TYPE:
            printer.print_string(" : index")


_PRINTS_TYPE = ("gpu.subgroup_size",)  # the only query whose result type MLIR prints


def _query(name: str, meaning: str, *, dimension: bool = True) -> type[_IndexQuery]:
    body: dict[str, object] = {
        "__doc__": meaning,
        "__module__": __name__,
        "name": f"gpu.{name}",
        "upper_bound": opt_prop_def(IntegerAttr.constr(type=IndexType())),
        "result": result_def(IndexType()),
    }
    if dimension:
        body["dimension"] = prop_def(DimensionAttr)
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Op"
    return irdl_op_definition(type(class_name, (_IndexQuery,), body))


ThreadIdOp = _query("thread_id", "Position of the thread in its block.")
BlockIdOp = _query("block_id", "Position of the block in the grid.")
BlockDimOp = _query("block_dim", "Threads per block.")
GridDimOp = _query("grid_dim", "Blocks per grid.")
GlobalIdOp = _query("global_id", "Position of the thread in the grid.")
ClusterIdOp = _query("cluster_id", "Position of the cluster in the grid.")
ClusterDimOp = _query("cluster_dim", "Clusters per grid.")
ClusterBlockIdOp = _query("cluster_block_id", "Position of the block in its cluster.")
SubgroupSizeOp = _query("subgroup_size", "Threads per warp.", dimension=False)
LaneIdOp = _query("lane_id", "Position of the thread in its warp.", dimension=False)


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Wait for all threads of the block."""

    name = "gpu.barrier"
    assembly_format = "attr-dict"

    def __init__(self):
        super().__init__()


@irdl_op_definition
class PrintfOp(IRDLOperation):
    """Device printf: ``gpu.printf "x = %f\\n", %x : f32``."""

    name = "gpu.printf"
    args = var_operand_def()
    format = prop_def(StringAttr)
    assembly_format = "$format attr-dict (`,` $args^ `:` type($args))?"

    def __init__(self, format: str, args: Sequence[SSAValue]):
        super().__init__(operands=[args], properties={"format": StringAttr(format)})


@irdl_op_definition
class DynamicSharedMemoryOp(IRDLOperation):
    """The shared memory whose size the launch sets."""

    name = "gpu.dynamic_shared_memory"
    result = result_def(MemRefType)
    assembly_format = "attr-dict `:` type($result)"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """Read another lane's value; the second result is whether that lane participates."""

    name = "gpu.shuffle"
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    result = result_def(T)
    valid = result_def(i1)
    assembly_format = "$mode $value `,` $offset `,` $width attr-dict `:` type($value)"


@irdl_op_definition
class GPUModuleOp(IRDLOperation):
    """A module of device code; ``targets`` are its serialization targets."""

    name = "gpu.module"
    body = region_def("single_block")
    sym_name = prop_def(SymbolNameConstraint())
    targets = opt_prop_def(ArrayAttr)
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    def __init__(self, name: str, body: Region):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> GPUModuleOp:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        targets = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        if targets:
            properties["targets"] = ArrayAttr(targets)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(
            properties=properties, attributes=dict(attributes.data) if attributes else {}, regions=[region]
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.targets is not None:
            printer.print_string(" ")
            printer.print_attribute(self.targets)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_block_terminators=True)


@irdl_op_definition
class GPUFuncOp(IRDLOperation):
    """A function of device code; ``kernel`` marks an entry point."""

    name = "gpu.func"
    body = region_def()
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    kernel = opt_prop_def(UnitAttr)
    workgroup_attributions = opt_prop_def(IntegerAttr)
    arg_attrs = opt_prop_def(ArrayAttr)
    traits = traits_def(IsolatedFromAbove(), HasParent(GPUModuleOp), SymbolOpInterface())

    @property
    def workgroup_count(self) -> int:
        """The number of workgroup buffers, which follow the function's own arguments in the entry block."""
        return self.workgroup_attributions.value.data if self.workgroup_attributions else 0

    def verify_(self) -> None:
        entry = self.body.blocks.first
        if entry is None:
            raise VerifyException("gpu.func must have a body")
        inputs = self.function_type.inputs.data
        if entry.arg_types[: len(inputs)] != inputs:
            raise VerifyException("entry block arguments must have the types of the function's inputs")
        if len(entry.args) < len(inputs) + self.workgroup_count:
            raise VerifyException(f"expected {self.workgroup_count} workgroup attributions")
        if self.kernel is not None and self.function_type.outputs.data:
            raise VerifyException("Expected void return type for kernel function")

    @classmethod
    def parse(cls, parser: Parser) -> GPUFuncOp:
        name = parser.parse_symbol_name()
        arguments, argument_attributes = _parse_arguments(parser)
        outputs = _parse_outputs(parser)
        workgroup = _parse_buffers(parser, "workgroup")
        private = _parse_buffers(parser, "private")
        properties: dict[str, Attribute] = {"sym_name": name}
        properties["function_type"] = FunctionType.from_lists([a.type for a in arguments], outputs)
        if workgroup:
            properties["workgroup_attributions"] = IntegerAttr(len(workgroup), i64)
        if parser.parse_optional_keyword("kernel"):
            properties["kernel"] = UnitAttr()
        if any(entry.data for entry in argument_attributes):
            properties["arg_attrs"] = ArrayAttr(argument_attributes)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region([*arguments, *workgroup, *private])
        return cls.create(
            properties=properties, attributes=dict(attributes.data) if attributes else {}, regions=[region]
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        entry, count = self.body.blocks[0], len(self.function_type.inputs.data)
        with printer.in_parens():
            printer.print_list(range(count), lambda index: self._print_argument(printer, entry, index))
        if self.function_type.outputs.data:
            printer.print_string(" -> ")
            self._print_outputs(printer)
        middle = count + self.workgroup_count
        _print_buffers(printer, "workgroup", entry.args[count:middle])
        _print_buffers(printer, "private", entry.args[middle:])
        if self.kernel is not None:
            printer.print_string(" kernel")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def _print_outputs(self, printer: Printer) -> None:
        types = self.function_type.outputs.data
        if len(types) == 1:
            printer.print_attribute(types[0])
            return
        with printer.in_parens():
            printer.print_list(types, printer.print_attribute)

    def _print_argument(self, printer: Printer, entry: Block, index: int) -> None:
        printer.print_block_argument(entry.args[index])
        if self.arg_attrs and self.arg_attrs.data[index].data:
            printer.print_op_attributes(self.arg_attrs.data[index].data)


def _parse_arguments(parser: Parser) -> tuple[list[Parser.Argument], list[DictionaryAttr]]:
    def entry():
        argument = parser.parse_argument()
        return argument, DictionaryAttr(parser.parse_optional_attr_dict())

    pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, entry)
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _parse_outputs(parser: Parser) -> list[Attribute]:
    if not parser.parse_optional_punctuation("->"):
        return []
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else [*types]


def _parse_buffers(parser: Parser, keyword: str) -> list[Parser.Argument]:
    if not parser.parse_optional_keyword(keyword):
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)


def _print_buffers(printer: Printer, keyword: str, buffers: Sequence[BlockArgument]) -> None:
    if not buffers:
        return
    printer.print_string(f" {keyword}")
    with printer.in_parens():
        printer.print_list(buffers, printer.print_block_argument)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Leave a gpu.func."""

    name = "gpu.return"
    args = var_operand_def()
    traits = traits_def(IsTerminator(), HasParent(GPUFuncOp))
    assembly_format = "attr-dict ($args^ `:` type($args))?"

    def __init__(self, *args: SSAValue | Operation):
        super().__init__(operands=[list(args)])


_OURS: list[type[Operation]] = [
    ThreadIdOp, BlockIdOp, BlockDimOp, GridDimOp, GlobalIdOp, ClusterIdOp, ClusterDimOp, ClusterBlockIdOp,
    SubgroupSizeOp, LaneIdOp, BarrierOp, PrintfOp, DynamicSharedMemoryOp, ShuffleOp, SubgroupReduceOp, AllReduceOp, YieldOp,
    GPUModuleOp, GPUFuncOp, ReturnOp, LaunchFuncOp,
]  # fmt: skip
_OUR_NAMES = {operation.name for operation in _OURS}
_OUR_ATTRIBUTES: list[type[Attribute]] = [AddressSpaceAttr, ShuffleModeAttr, ReduceKindAttr]
_OUR_ATTRIBUTE_NAMES = {attribute.name for attribute in _OUR_ATTRIBUTES}

GPU = Dialect(
    "gpu",
    [*_OURS, *(entry for entry in xdsl_gpu.GPU.operations if entry.name not in _OUR_NAMES)],
    [*_OUR_ATTRIBUTES, *(entry for entry in xdsl_gpu.GPU.attributes if entry.name not in _OUR_ATTRIBUTE_NAMES)],
)
