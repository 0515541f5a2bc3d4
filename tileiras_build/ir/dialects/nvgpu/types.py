"""Types of the ``nvgpu`` dialect, in MLIR's text form."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, IntegerAttr, MemRefType, StringAttr, VectorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..gpu_ext import AddressSpace, AddressSpaceAttr


@irdl_attr_definition
class DeviceAsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """The token of an asynchronous copy of sm_80."""

    name = "nvgpu.device.async.token"


@irdl_attr_definition
class MBarrierTokenType(ParametrizedAttribute, TypeAttribute):
    """The phase observed by an arrival at an mbarrier."""

    name = "nvgpu.mbarrier.token"


def _parse_fields(parser: AttrParser, names: Sequence[str], read: dict) -> dict:
    """``<name = value, ...>`` in this order; ``read`` has the parsers of values that are not keywords."""
    found = {}
    with parser.in_angle_brackets():
        for position, name in enumerate(names):
            if position and not parser.parse_optional_punctuation(","):
                break
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            found[name] = read.get(name, parser.parse_identifier)()
    return found


@irdl_attr_definition
class MBarrierGroupType(ParametrizedAttribute, TypeAttribute):
    """One or more mbarrier objects: ``!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>``."""

    name = "nvgpu.mbarrier.group"
    memory_space: Attribute
    num_barriers: IntAttr

    @property
    def is_shared(self) -> bool:
        """Whether the barriers are in shared memory."""
        return address_space(self.memory_space) == SHARED

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        read = {"memorySpace": parser.parse_attribute, "num_barriers": parser.parse_integer}
        found = _parse_fields(parser, ("memorySpace", "num_barriers"), read)
        return [found["memorySpace"], IntAttr(found.get("num_barriers", 1))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("memorySpace = ")
            printer.print_attribute(self.memory_space)
            if self.num_barriers.data != 1:
                printer.print_string(f", num_barriers = {self.num_barriers.data}")


SWIZZLE_BYTES = {"none": 0, "swizzle_32b": 32, "swizzle_64b": 64, "swizzle_128b": 128}


# Values of the CUtensorMap enumerations (CUDA driver API, cuTensorMapEncodeTiled).
SWIZZLE = {"none": 0, "swizzle_32b": 1, "swizzle_64b": 2, "swizzle_128b": 3}


L2_PROMOTION = {"none": 0, "l2promo_64b": 1, "l2promo_128b": 2, "l2promo_256b": 3}


OUT_OF_BOUNDS = {"zero": 0, "nan": 1}


INTERLEAVE = {"none": 0, "interleave_16b": 1, "interleave_32b": 2}


_TENSOR_MAP_FIELDS = {"swizzle": SWIZZLE, "l2promo": L2_PROMOTION, "oob": OUT_OF_BOUNDS, "interleave": INTERLEAVE}


@irdl_attr_definition
class TensorMapDescriptorType(ParametrizedAttribute, TypeAttribute):
    """A tensor map: the box of one copy, and its layout in shared memory."""

    name = "nvgpu.tensormap.descriptor"
    tensor: MemRefType
    swizzle: StringAttr
    l2promo: StringAttr
    oob: StringAttr
    interleave: StringAttr

    def verify(self) -> None:
        for name, valid in _TENSOR_MAP_FIELDS.items():
            value = getattr(self, name).data
            if value not in valid:
                raise VerifyException(f"{name} {value!r} of a tensor map must be one of {', '.join(valid)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        names = ("tensor", *_TENSOR_MAP_FIELDS)
        found = _parse_fields(parser, names, {"tensor": parser.parse_type})
        if missing := [name for name in names if name not in found]:
            parser.raise_error(f"expected {missing[0]}")
        return [found["tensor"], *(StringAttr(found[name]) for name in _TENSOR_MAP_FIELDS)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("tensor = ")
            printer.print_attribute(self.tensor)
            for name in _TENSOR_MAP_FIELDS:
                printer.print_string(f", {name} = {getattr(self, name).data}")


class _OneField(ParametrizedAttribute, TypeAttribute):
    """A type with one parameter, printed ``<field = value>``."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        field = cls.get_irdl_definition().parameters[0][0]
        return [_parse_fields(parser, (field,), {field: parser.parse_type})[field]]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            field = type(self).get_irdl_definition().parameters[0][0]
            printer.print_string(f"{field} = ")
            printer.print_attribute(self.parameters[0])


@irdl_attr_definition
class WarpgroupDescriptorType(_OneField):
    """A matrix in shared memory as wgmma reads it."""

    name = "nvgpu.warpgroup.descriptor"
    tensor: MemRefType


@irdl_attr_definition
class WarpgroupAccumulatorType(_OneField):
    """The accumulator tile of a warpgroup, distributed over its threads."""

    name = "nvgpu.warpgroup.accumulator"
    fragmented: VectorType


SHARED, CLUSTER = 3, 7  # of the CTA, of its cluster


_SPACES = {AddressSpace.GLOBAL: 1, AddressSpace.WORKGROUP: SHARED, AddressSpace.PRIVATE: 5}


def address_space(attribute: Attribute) -> int:
    """The LLVM address space of a memory-space attribute (0 for an absent or unknown one)."""
    if isinstance(attribute, IntegerAttr):
        return attribute.value.data
    if isinstance(attribute, AddressSpaceAttr):
        return _SPACES[attribute.data]
    return 0
