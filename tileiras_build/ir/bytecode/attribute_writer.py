"""The tables of a bytecode file under construction, and types, debug attributes and attributes as entries of them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute

from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode.existing_tables import Tables
from tileiras_build.ir.bytecode.float_bits import float_bits
from tileiras_build.ir.bytecode.opcodes import (
    POINTER_ATTRIBUTES,
    SINCE,
    V13_3,
    V13_4,
    Version,
    version_text,
)
from tileiras_build.ir.bytecode.type_table import DYNAMIC, PLAIN_TYPES
from tileiras_build.ir.bytecode.varint_encoding import Table, integers, signed_varint, varint
from tileiras_build.ir.bytecode.version_guards import type_since
from tileiras_build.ir.dialects.checked_cast import Kind, cast
from tileiras_build.ir.dialects.cuda_tile.attrs import (
    BoundedAttr,
    DenseConstantAttr,
    DivByAttr,
    HintValue,
    OptimizationHintsAttr,
    SameElementsAttr,
)
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS
from tileiras_build.ir.dialects.cuda_tile.enums import EnumAttr, PaddingValue
from tileiras_build.ir.dialects.cuda_tile.location import (
    UNKNOWN,
    CallSiteLocAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DILocAttr,
    DISubprogramAttr,
    UnknownLocAttr,
)
from tileiras_build.ir.dialects.cuda_tile.types import PointerType, TensorViewType, TileType
from tileiras_build.ir.dialects.cuda_tile.view_types import GatherScatterViewType, PartitionViewType, StridedViewType

PLAIN_TAGS: dict[Attribute, int] = {type: tag for tag, (_, type) in PLAIN_TYPES.items()}


class AttributeWriter:
    """Encodes types, constants, locations and attributes; each gets an index in its table on first use."""

    def __init__(self, version: Version, like: Tables | None):
        self.version = version
        self.strings = Table(like.strings if like else ())
        self.types = Table(like.types if like else ())
        self.constants = Table(like.constants if like else ())
        self.debug = Table(like.debug if like else ())
        self.known_types: dict[Attribute, int] = {}
        self.known_locations: dict[Attribute, int] = {}

    # Tables

    def string(self, text: str) -> bytes:
        return varint(self.strings.add(text.encode()))

    def type(self, type: Attribute) -> bytes:
        """The index of a type; its component types precede it."""
        if type not in self.known_types:
            self._require(f"the type {str(type).replace('!cuda_tile.', '')}", type_since(type))
            tag = PLAIN_TAGS.get(type)
            self.known_types[type] = self.types.add(
                varint(tag) if tag is not None else TYPE_WRITERS[_class(type, TYPE_WRITERS)](self, type)
            )
        return varint(self.known_types[type])

    def constant(self, value: DenseConstantAttr) -> bytes:
        raw = value.raw
        entry = varint(len(raw)) + raw
        if entry not in self.constants.index and value.is_splat:
            full = self._expanded(value)
            entry = full if full in self.constants.index else entry
        return varint(self.constants.add(entry))

    def _expanded(self, value: DenseConstantAttr) -> bytes:
        """A splat, expanded as by writers without splats."""
        count = value.type.num_elements
        raw = value.raw * count
        if value.type.element_type == i1:
            bits = (1 << count) - 1 if value.raw != b"\x00" else 0
            raw = bits.to_bytes((count + 7) // 8, "little")
        return varint(len(raw)) + raw

    def location(self, location: Attribute | None) -> int:
        """The index of a debug attribute; 0 is "unknown"."""
        if location is None or location == UNKNOWN:
            return 0
        if location not in self.known_locations:
            encode = DEBUG_WRITERS[_class(location, DEBUG_WRITERS)]
            self.known_locations[location] = self.debug.add(encode(self, location)) + 1
        return self.known_locations[location]

    def scope(self, attribute: Attribute) -> bytes:
        return varint(self.location(attribute))

    # Types

    def _require(self, what: str, since: Version) -> None:
        if self.version < since:
            raise InvalidInput(
                "bytecode-version",
                f"{what} needs bytecode {version_text(since)}, not {version_text(self.version)}",
                remedy=f"write bytecode {version_text(since)} or newer",
            )

    def _ptr_attr(self, name: str | None) -> bytes:
        if name is None:
            return b""
        self._require(f"the pointer attribute '{name}'", POINTER_ATTRIBUTES[name])
        return varint(list(POINTER_ATTRIBUTES).index(name))

    def _flag(self, present: bool, since: Version) -> bytes:
        return varint(int(present)) if self.version >= since else b""

    def _padding(self, padding: PaddingValue | None) -> bytes:
        present = b"" if self.version >= V13_3 else bytes([padding is not None])
        return present + (b"" if padding is None else varint(list(PaddingValue).index(padding)))

    def pointer(self, type: PointerType) -> bytes:
        flag = self._flag(type.ptr_attr is not None, V13_4)
        return varint(12) + flag + self.type(type.pointee_type) + self._ptr_attr(type.ptr_attr)

    def tile(self, type: TileType) -> bytes:
        return varint(13) + self.type(type.element_type) + integers(type.shape, 8)

    def tensor_view(self, type: TensorViewType) -> bytes:
        shape, strides = ([DYNAMIC if dim is None else dim for dim in dims] for dims in (type.shape, type.strides))
        flag = self._flag(type.ptr_attr is not None, V13_4)
        return (
            varint(14)
            + flag
            + self.type(type.element_type)
            + integers(shape, 8)
            + integers(strides, 8)
            + self._ptr_attr(type.ptr_attr)
        )

    def partition_view(self, type: PartitionViewType) -> bytes:
        return (
            varint(15)
            + self._flag(type.padding_value is not None, V13_3)
            + integers(type.tile_shape, 4)
            + self.type(type.tensor_view)
            + integers(type.dim_map, 4)
            + self._padding(type.padding_value)
        )

    def gather_scatter_view(self, type: GatherScatterViewType) -> bytes:
        return (
            varint(20)
            + self._flag(type.padding_value is not None, V13_3)
            + integers(type.tile_shape, 4)
            + self.type(type.tensor_view)
            + varint(type.sparse_dim)
            + self._padding(type.padding_value)
        )

    def strided_view(self, type: StridedViewType) -> bytes:
        return (
            varint(21)
            + self._flag(type.padding_value is not None, V13_3)
            + integers(type.tile_shape, 4)
            + integers(type.traversal_strides, 4)
            + self.type(type.tensor_view)
            + integers(type.dim_map, 4)
            + self._padding(type.padding_value)
        )

    def function_type(self, type: FunctionType) -> bytes:
        return varint(16) + b"".join(
            varint(len(group)) + b"".join(map(self.type, group)) for group in (type.inputs.data, type.outputs.data)
        )

    # Debug attributes

    def debug_file(self, value: DIFileAttr) -> bytes:
        return b"\x02" + self.string(value.file_name) + self.string(value.directory)

    def lexical_block(self, value: DILexicalBlockAttr) -> bytes:
        return b"\x03" + self.scope(value.scope) + self.scope(value.file) + varint(value.line) + varint(value.column)

    def lexical_location(self, value: DILocAttr) -> bytes:
        return b"\x04" + self.scope(value.scope) + self.string(value.file) + varint(value.line) + varint(value.column)

    def subprogram(self, value: DISubprogramAttr) -> bytes:
        known = (
            b"\x05"
            + self.scope(value.file)
            + varint(value.line)
            + self.string(value.function_name)
            + self.string(value.linkage_name)
            + self.scope(value.compile_unit)
            + varint(value.scope_line)
        )
        if value.declaration:
            self._require("a declaration as a debug scope", SINCE["subprogram.flags"])
        return known + self._flag(value.declaration, SINCE["subprogram.flags"])

    def call_site(self, location: CallSiteLocAttr) -> bytes:
        *inner, outer = location.data
        index = self.location(outer)
        for callee in reversed(inner[1:]):  # chains can be long: no recursion
            index = self.debug.add(varint(6) + self.scope(callee) + varint(index)) + 1
        return varint(6) + self.scope(inner[0]) + varint(index)

    # Attributes

    def tagged(self, value: Attribute) -> bytes:
        """An attribute with the tag of its kind."""
        if isinstance(value, TypeAttribute):
            return b"\x04" + self.type(value)
        return TAGGED_WRITERS[_class(value, TAGGED_WRITERS)](self, value)

    def tagged_integer(self, value: IntegerAttr) -> bytes:
        width = cast(IntegerType, value.type).width.data
        bits = value.value.data & (1 << width) - 1
        return b"\x01" + self.type(value.type) + (bytes([bits]) if width == 1 else varint(bits))

    def tagged_float(self, value: FloatAttr) -> bytes:
        width, bits = BITS[value.type], float_bits(value.value.data, value.type)
        if width == 64 and bits >> 63:
            bits -= 1 << 64
        return b"\x02" + self.type(value.type) + (bytes([bits]) if width <= 8 else signed_varint(bits))

    def div_by(self, value: DivByAttr) -> bytes:
        flags = (value.every is not None) | (value.along is not None) << 1
        present = [field for field in (value.every, value.along) if field is not None]
        return b"\x08" + varint(value.divisor) + bytes([flags]) + b"".join(map(signed_varint, present))

    def bounded(self, value: BoundedAttr) -> bytes:
        flags = (value.lb is not None) | (value.ub is not None) << 1
        return b"\x0c" + bytes([flags]) + b"".join(signed_varint(bound) for bound in value.data if bound is not None)

    def dictionary(self, entries: dict[str, Attribute]) -> bytes:
        return varint(len(entries)) + b"".join(self.string(key) + self.tagged(value) for key, value in entries.items())

    def hints(self, value: OptimizationHintsAttr) -> bytes:
        return varint(len(value.data)) + b"".join(
            self.string(target) + b"\x0a" + self.dictionary({key: _hint(hint) for key, hint in hints})
            for target, hints in value.data
        )

    def attribute(self, kind: str, value: Attribute | None, rank: int = 0) -> bytes:
        """A property of an operation; ``rank`` is the length of an absent array of flags, which are then 0."""
        if value is None:
            assert kind == "bools", f"an attribute of kind {kind} is missing"
            return integers([0] * rank, 1)
        if isinstance(value, EnumAttr):
            return varint(type(value).instances.index(value))
        return ATTRIBUTE_WRITERS[kind](self, value)


Encode = Callable[["AttributeWriter", Attribute], bytes]


def _of(kind: type[Kind], encode: Callable[[AttributeWriter, Kind], bytes]) -> Encode:
    """``encode`` for a table whose rows accept attributes of different classes."""
    return lambda writer, value: encode(writer, cast(kind, value))


def _attribute_row(kind: type[Kind], encode: Callable[[AttributeWriter, Kind], bytes]) -> tuple[type, Encode]:
    """A row of a table by class."""
    return kind, _of(kind, encode)


def _class(value: Attribute, table: dict[type, Encode]) -> type:
    kind = type(value)
    if kind not in table:
        raise InvalidInput("bytecode-unwritable", f"{value} cannot be written as Tile IR bytecode")
    return kind


def _hint(value: HintValue) -> Attribute:
    if isinstance(value, Attribute):
        return value
    if isinstance(value, str):
        return StringAttr(value)
    fits = -(1 << 31) <= value < 1 << 31
    return IntegerAttr(int(value), i1 if isinstance(value, bool) else i32 if fits else i64)


def _array(writer: AttributeWriter, value: ArrayAttr) -> bytes:
    return varint(len(value.data)) + b"".join(map(writer.tagged, value.data))


def _boolean_or_integer(writer: AttributeWriter, value: IntegerAttr) -> bytes:
    return b"\x03" + bytes([value.value.data & 1]) if value.type == i1 else writer.tagged_integer(value)


ATTRIBUTE_WRITERS: dict[str, Encode] = {
    "i32": _of(IntegerAttr, lambda _, value: varint(value.value.data & (1 << 32) - 1)),
    "i64": _of(IntegerAttr, lambda _, value: varint(value.value.data & (1 << 64) - 1)),
    "bool": _of(IntegerAttr, lambda _, value: bytes([value.value.data & 1])),
    "string": _of(StringAttr, lambda writer, value: writer.string(value.data)),
    "symbol": _of(SymbolRefAttr, lambda writer, value: writer.string(value.root_reference.data)),
    "dense": _of(DenseConstantAttr, AttributeWriter.constant),
    "i32s": _of(DenseArrayBase, lambda _, value: integers(value.get_values(), 4)),
    "bools": _of(DenseArrayBase, lambda _, value: integers([int(flag != 0) for flag in value.get_values()], 1)),
    "array": _of(ArrayAttr, _array),
    "predicate": AttributeWriter.tagged,
    "hints": _of(OptimizationHintsAttr, AttributeWriter.hints),
}

TYPE_WRITERS: dict[type, Encode] = dict(
    (
        _attribute_row(PointerType, AttributeWriter.pointer),
        _attribute_row(TileType, AttributeWriter.tile),
        _attribute_row(TensorViewType, AttributeWriter.tensor_view),
        _attribute_row(PartitionViewType, AttributeWriter.partition_view),
        _attribute_row(FunctionType, AttributeWriter.function_type),
        _attribute_row(GatherScatterViewType, AttributeWriter.gather_scatter_view),
        _attribute_row(StridedViewType, AttributeWriter.strided_view),
    )
)

# Attribute -> its encoder; the first byte is the tag (Tile IR BytecodeAttrOpcodes.td).
TAGGED_WRITERS: dict[type, Encode] = dict(
    (
        _attribute_row(IntegerAttr, _boolean_or_integer),
        _attribute_row(FloatAttr, AttributeWriter.tagged_float),
        _attribute_row(StringAttr, lambda writer, value: b"\x05" + writer.string(value.data)),
        _attribute_row(ArrayAttr, lambda writer, value: b"\x06" + _array(writer, value)),
        _attribute_row(
            DenseConstantAttr, lambda writer, value: b"\x07" + writer.type(value.type) + writer.constant(value)
        ),
        _attribute_row(DivByAttr, AttributeWriter.div_by),
        _attribute_row(SameElementsAttr, lambda _, value: b"\x09" + integers(value.values, 8)),
        _attribute_row(DictionaryAttr, lambda writer, value: b"\x0a" + writer.dictionary(dict(value.data))),
        _attribute_row(OptimizationHintsAttr, lambda writer, value: b"\x0b" + writer.hints(value)),
        _attribute_row(BoundedAttr, AttributeWriter.bounded),
        _attribute_row(UnitAttr, lambda *_: b"\x03\x01"),
    )
)

DEBUG_WRITERS: dict[type, Encode] = dict(
    (
        _attribute_row(DICompileUnitAttr, lambda writer, value: b"\x01" + writer.scope(value.file)),
        _attribute_row(DIFileAttr, AttributeWriter.debug_file),
        _attribute_row(DILexicalBlockAttr, AttributeWriter.lexical_block),
        _attribute_row(DILocAttr, AttributeWriter.lexical_location),
        _attribute_row(DISubprogramAttr, AttributeWriter.subprogram),
        _attribute_row(CallSiteLocAttr, AttributeWriter.call_site),
        _attribute_row(UnknownLocAttr, lambda *_: b"\x00"),
    )
)
