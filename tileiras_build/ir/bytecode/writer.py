"""Write the cuda_tile dialect as CUDA Tile IR bytecode 13.1 to 13.5: the inverse of ``reader.py``.

In:    an xDSL ``builtin.module`` as ``read_module`` gives it.
Out:   the bytes of a .tilebc file.
Sound: ``read_module(write_module(m))`` equals ``m``. Indices of strings, types, constants and debug attributes are
       free: they are given in the order of first use, unless ``like`` holds a file whose tables are to be kept. A file
       of a writer that shares equal entries is then reproduced byte by byte.

Operations are written as OPCODES says; the sections are those of Tile IR's BytecodeReader.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import builtin
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
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute

from tileiras_build.core.errors import InvalidInput, Location
from tileiras_build.ir.bytecode.float_bits import float_bits
from tileiras_build.ir.bytecode.opcodes import (
    DEFAULT_VERSION,
    OPCODES,
    POINTER_ATTRIBUTES,
    SINCE,
    V13_3,
    V13_4,
    Opcode,
    Version,
)
from tileiras_build.ir.bytecode.reader import (
    CONSTANTS,
    DEBUG,
    FUNCTIONS,
    GLOBALS,
    HAS_HINTS,
    KERNEL,
    MAGIC,
    PRODUCER,
    SECTION_ALIGNMENT,
    STRINGS,
    TYPES,
    Reader,
)
from tileiras_build.ir.bytecode.type_table import DYNAMIC, PLAIN_TYPES
from tileiras_build.ir.bytecode.version_guards import guards_above, operand_groups, type_since
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
from tileiras_build.ir.dialects.cuda_tile.enums import EnumAttr, PaddingValue, SymbolVisibility
from tileiras_build.ir.dialects.cuda_tile.location import (
    LOC,
    UNKNOWN,
    CallSiteLocAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DILocAttr,
    DISubprogramAttr,
    UnknownLocAttr,
    source_location,
)
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GlobalOp, ModuleOp
from tileiras_build.ir.dialects.cuda_tile.types import PointerType, TensorViewType, TileType
from tileiras_build.ir.dialects.cuda_tile.view_types import GatherScatterViewType, PartitionViewType, StridedViewType

PADDING = b"\xcb"
OPCODES_BY_NAME: dict[str, Opcode] = {row.name: row for row in OPCODES.values()}
PLAIN_TAGS: dict[Attribute, int] = {type: tag for tag, (_, type) in PLAIN_TYPES.items()}
# The order in which cuTile Python writes the sections, which keeps the tables after what fills them.
ORDER = (FUNCTIONS, GLOBALS, CONSTANTS, DEBUG, TYPES, STRINGS, PRODUCER)


def varint(value: int) -> bytes:
    """An unsigned number, 7 bits per byte, lowest first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed_varint(value: int) -> bytes:
    """A signed 64-bit number in zigzag encoding."""
    return varint((value << 1) ^ (value >> 63) if value >= 0 else ((-value) << 1) - 1)


def integers(values: Sequence[int], width: int) -> bytes:
    """A count and that many signed little-endian integers of ``width`` bytes."""
    return varint(len(values)) + b"".join(value.to_bytes(width, "little", signed=True) for value in values)


def pad(data: bytearray, alignment: int) -> None:
    """Fill up to a multiple of ``alignment``."""
    data += PADDING * (-len(data) % alignment)


class Table:
    """Encoded entries, each once, in the order in which they were first asked for."""

    def __init__(self, entries: Sequence[bytes] = ()):
        self.entries = list(entries)
        self.index: dict[bytes, int] = {}
        for number, entry in enumerate(self.entries):
            self.index.setdefault(entry, number)

    def add(self, entry: bytes) -> int:
        """The index of an entry."""
        if entry not in self.index:
            self.index[entry] = len(self.entries)
            self.entries.append(entry)
        return self.index[entry]

    def encode(self, width: int) -> bytes:
        """A count, padding, the offset of each entry in ``width`` bytes, the entries."""
        out = bytearray(varint(len(self.entries)))
        pad(out, width)
        offset = 0
        for entry in self.entries:
            out += offset.to_bytes(width, "little")
            offset += len(entry)
        return bytes(out) + b"".join(self.entries)


class Tables:
    """The tables of an existing file, to be kept: ``like`` of ``write_module``."""

    def __init__(self, data: bytes):
        reader = Reader(bytes(data), None)
        self.version = reader.version
        self.order = tuple(reader.sections)
        self.has_debug = bool(reader.debug.function_starts)
        self.strings = self._entries(data, reader.strings.places)
        self.types = self._entries(data, reader.types.entries)
        self.constants = self._entries(data, reader.constants)
        self.debug = self._entries(data, reader.debug.entries)

    @staticmethod
    def _entries(data: bytes, bounds: Sequence[tuple[int, int]]) -> list[bytes]:
        return [data[start:end] for start, end in bounds]


class Writer:
    """Writes one module."""

    def __init__(self, version: Version, like: Tables | None):
        self.version, self.like = version, like
        self.strings = Table(like.strings if like else ())
        self.types = Table(like.types if like else ())
        self.constants = Table(like.constants if like else ())
        self.debug = Table(like.debug if like else ())
        self.known_types: dict[Attribute, int] = {}
        self.known_locations: dict[Attribute, int] = {}
        self.locations: list[list[int]] = []
        self.values: dict[SSAValue, int] = {}
        self.guards = guards_above(version)
        self.current: Operation | None = None

    # Tables

    def string(self, text: str) -> bytes:
        return varint(self.strings.add(text.encode()))

    def type(self, type: Attribute) -> bytes:
        """The index of a type; what it is made of comes first."""
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
        """A splat as writers that do not know splats hold it."""
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
                f"{what} needs bytecode {_text(since)}, not {_text(self.version)}",
                remedy=f"write bytecode {_text(since)} or newer",
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
        """An attribute with the tag that says what it is."""
        if isinstance(value, TypeAttribute):
            return b"\x04" + self.type(value)
        return TAGGED_WRITERS[_class(value, TAGGED_WRITERS)](self, value)

    def tagged_integer(self, value: IntegerAttr) -> bytes:
        width = cast(IntegerType, value.type).width.data
        number = value.value.data & (1 << width) - 1
        return b"\x01" + self.type(value.type) + (bytes([number]) if width == 1 else varint(number))

    def tagged_float(self, value: FloatAttr) -> bytes:
        width, bits = BITS[value.type], float_bits(value.value.data, value.type)
        if width == 64 and bits >> 63:
            bits -= 1 << 64
        return b"\x02" + self.type(value.type) + (bytes([bits]) if width <= 8 else signed_varint(bits))

    def div_by(self, value: DivByAttr) -> bytes:
        flags = (value.every is not None) | (value.along is not None) << 1
        given = [number for number in (value.every, value.along) if number is not None]
        return b"\x08" + varint(value.divisor) + bytes([flags]) + b"".join(map(signed_varint, given))

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
        """A property of an operation; ``rank`` is the number of flags that an absent array of them stands for."""
        if value is None:
            assert kind == "bools", f"an attribute of kind {kind} is missing"
            return integers([0] * rank, 1)
        if isinstance(value, EnumAttr):
            return varint(type(value).instances.index(value))
        return ATTRIBUTE_WRITERS[kind](self, value)

    # Operations

    def operation(self, op: Operation) -> bytes:
        row = OPCODES_BY_NAME[op.name.removeprefix("cuda_tile.")]
        self.current = op
        for guard in self.guards.get(row.name, ()):
            if guard.used(op):
                self._require(guard.what, guard.since)
        self.locations[-1].append(self.location(op.attributes.get(LOC)))
        visible = list(op.results) if self.version >= (row.results_since or row.since) else []
        out = bytearray(varint(row.number))
        out += varint(len(visible)) if row.counted_results else b""
        out += b"".join(self.type(result.type) for result in visible)
        out += self._flags(op, row) + self._attributes(op, row) + self._operands(op, row)
        out += b"" if not row.regions else varint(len(op.regions)) + b"".join(map(self.region, op.regions))
        for result in visible:
            self.values[result] = len(self.values)
        return bytes(out)

    def _flags(self, op: Operation, row: Opcode) -> bytes:
        if not row.flags or self.version < row.flags_since:
            return b""
        groups = operand_groups(op, row)
        present = [flag in op.properties or bool(groups.get(flag)) for flag in row.flags]
        return varint(sum(1 << bit for bit, there in enumerate(present) if there))

    def _attributes(self, op: Operation, row: Opcode) -> bytes:
        out = bytearray()
        for attribute in row.attributes:
            value = op.properties.get(attribute.name)
            if self.version < attribute.since or (value is None and attribute.name in row.flags):
                continue
            out += self.attribute(attribute.kind, value, len(operand_groups(op, row).get("index", ())))
        return bytes(out)

    def _operands(self, op: Operation, row: Opcode) -> bytes:
        if row.counted_operands:
            return varint(len(op.operands)) + b"".join(varint(self.values[value]) for value in op.operands)
        out, groups = bytearray(), operand_groups(op, row)
        for operand in row.operands:
            values = groups[operand.name]
            out += varint(len(values)) if operand.arity == "*" else b""
            out += b"".join(varint(self.values[value]) for value in values)
        return bytes(out)

    def region(self, region: Region) -> bytes:
        return varint(len(region.blocks)) + b"".join(map(self.block, region.blocks))

    def block(self, block: Block) -> bytes:
        """A block; what it defines has no number after it."""
        outer = dict(self.values)
        out = self._arguments(block)
        body = [self.operation(op) for op in block.ops]
        self.values = outer
        return out + varint(len(body)) + b"".join(body)

    def _arguments(self, block: Block) -> bytes:
        for argument in block.args:
            self.values[argument] = len(self.values)
        return varint(len(block.args)) + b"".join(self.type(argument.type) for argument in block.args)

    # Sections

    def function(self, op: EntryOp) -> bytes:
        self.current = op
        out = bytearray(self.string(op.sym_name.data) + self.type(op.function_type))
        flagged = self.version < SINCE["function.attributes"] and _hints_of(op).data
        out.append(KERNEL | (HAS_HINTS if flagged else 0))
        self.locations.append([self.location(op.attributes.get(LOC))])
        out += varint(len(self.locations) if self.has_debug else 0) + self._function_attributes(op)
        self.values = {argument: number for number, argument in enumerate(op.body.block.args)}
        body = b"".join(map(self.operation, op.body.block.ops))
        return bytes(out) + varint(len(body)) + body

    def _function_attributes(self, op: EntryOp) -> bytes:
        hints = _hints_of(op)
        if self.version >= SINCE["function.attributes"]:
            return self.tagged(hints) + self.tagged(op.arg_attrs or ArrayAttr([]))
        if op.arg_attrs is not None:
            self._require("an attribute of a parameter", SINCE["function.attributes"])
        return self.tagged(hints) if hints.data else b""

    def global_(self, op: GlobalOp) -> bytes:
        self.current = op
        out = self.string(op.sym_name.data) + self.type(op.value.type) + self.constant(op.value)
        out += varint(op.alignment.value.data)
        if self.version < SINCE["global.visibility"]:
            self._require_plain(op)
            return out
        return out + self.attribute("SymbolVisibility", op.symbol_visibility) + varint(int(op.constant is not None))

    def _require_plain(self, op: GlobalOp) -> None:
        """Refuse what an older version cannot say of a global."""
        name, since = op.sym_name.data, SINCE["global.visibility"]
        if op.constant is not None:
            self._require(f"the constant global @{name}", since)
        if op.symbol_visibility.data is not SymbolVisibility.PUBLIC:
            self._require(f"the private global @{name}", since)

    def debug_section(self) -> bytes:
        out = bytearray(varint(len(self.locations)))
        pad(out, 4)
        start = 0
        for function in self.locations:
            out += start.to_bytes(4, "little")
            start += len(function)
        out += varint(start)
        pad(out, 8)
        for index in (index for function in self.locations for index in function):
            out += index.to_bytes(8, "little")
        return bytes(out) + Table(self.debug.entries or [b"\x00"]).encode(4)

    def module(self, module: ModuleOp) -> bytes:
        entries = [op for op in module.body.block.ops if isinstance(op, EntryOp)]
        globals_ = [op for op in module.body.block.ops if isinstance(op, GlobalOp)]
        self.has_debug = self.like.has_debug if self.like else any(LOC in op.attributes for op in module.walk())
        contents = {FUNCTIONS: varint(len(entries)) + b"".join(map(self.function, entries))}
        if globals_:
            contents[GLOBALS] = varint(len(globals_)) + b"".join(map(self.global_, globals_))
        if module.producer is not None and self.version >= SINCE["producer"]:
            contents[PRODUCER] = self.string(module.producer.data)
        if self.has_debug:
            contents[DEBUG] = self.debug_section()
        contents |= {CONSTANTS: self.constants.encode(8), TYPES: self.types.encode(4), STRINGS: self.strings.encode(4)}
        return self._file(contents)

    def _file(self, contents: dict[int, bytes]) -> bytes:
        out = bytearray(MAGIC + bytes(self.version) + b"\x00\x00")
        order = self.like.order if self.like else ORDER
        for number in sorted(contents, key=lambda number: order.index(number) if number in order else len(order)):
            if self.like and number not in order:
                continue
            alignment = SECTION_ALIGNMENT.get(number, 1)
            out.append(number | (0x80 if alignment > 1 else 0))
            out += varint(len(contents[number]))
            if alignment > 1:
                out += varint(alignment)
                pad(out, alignment)
            out += contents[number]
        return bytes(out) + b"\x00"


Encode = Callable[["Writer", Attribute], bytes]


def _of(kind: type[Kind], encode: Callable[[Writer, Kind], bytes]) -> Encode:
    """``encode`` for a table whose rows take attributes of different classes."""
    return lambda writer, value: encode(writer, cast(kind, value))


def _attribute_row(kind: type[Kind], encode: Callable[[Writer, Kind], bytes]) -> tuple[type, Encode]:
    """A row of a table by class."""
    return kind, _of(kind, encode)


def _class(value: Attribute, table: dict[type, Encode]) -> type:
    kind = type(value)
    if kind not in table:
        raise InvalidInput("bytecode-unwritable", f"{value} cannot be written as Tile IR bytecode")
    return kind


def _hints_of(op: EntryOp) -> OptimizationHintsAttr:
    return op.optimization_hints or OptimizationHintsAttr({})


def _hint(value: HintValue) -> Attribute:
    if isinstance(value, Attribute):
        return value
    if isinstance(value, str):
        return StringAttr(value)
    fits = -(1 << 31) <= value < 1 << 31
    return IntegerAttr(int(value), i1 if isinstance(value, bool) else i32 if fits else i64)


def _array(writer: Writer, value: ArrayAttr) -> bytes:
    return varint(len(value.data)) + b"".join(map(writer.tagged, value.data))


def _boolean_or_integer(writer: Writer, value: IntegerAttr) -> bytes:
    return b"\x03" + bytes([value.value.data & 1]) if value.type == i1 else writer.tagged_integer(value)


ATTRIBUTE_WRITERS: dict[str, Encode] = {
    "i32": _of(IntegerAttr, lambda _, value: varint(value.value.data & (1 << 32) - 1)),
    "i64": _of(IntegerAttr, lambda _, value: varint(value.value.data & (1 << 64) - 1)),
    "bool": _of(IntegerAttr, lambda _, value: bytes([value.value.data & 1])),
    "string": _of(StringAttr, lambda writer, value: writer.string(value.data)),
    "symbol": _of(SymbolRefAttr, lambda writer, value: writer.string(value.root_reference.data)),
    "dense": _of(DenseConstantAttr, Writer.constant),
    "i32s": _of(DenseArrayBase, lambda _, value: integers(value.get_values(), 4)),
    "bools": _of(DenseArrayBase, lambda _, value: integers([int(flag != 0) for flag in value.get_values()], 1)),
    "array": _of(ArrayAttr, _array),
    "predicate": Writer.tagged,
    "hints": _of(OptimizationHintsAttr, Writer.hints),
}

TYPE_WRITERS: dict[type, Encode] = dict(
    (
        _attribute_row(PointerType, Writer.pointer),
        _attribute_row(TileType, Writer.tile),
        _attribute_row(TensorViewType, Writer.tensor_view),
        _attribute_row(PartitionViewType, Writer.partition_view),
        _attribute_row(FunctionType, Writer.function_type),
        _attribute_row(GatherScatterViewType, Writer.gather_scatter_view),
        _attribute_row(StridedViewType, Writer.strided_view),
    )
)

# Attribute -> what is written; the first byte is the tag (Tile IR BytecodeAttrOpcodes.td).
TAGGED_WRITERS: dict[type, Encode] = dict(
    (
        _attribute_row(IntegerAttr, _boolean_or_integer),
        _attribute_row(FloatAttr, Writer.tagged_float),
        _attribute_row(StringAttr, lambda writer, value: b"\x05" + writer.string(value.data)),
        _attribute_row(ArrayAttr, lambda writer, value: b"\x06" + _array(writer, value)),
        _attribute_row(
            DenseConstantAttr, lambda writer, value: b"\x07" + writer.type(value.type) + writer.constant(value)
        ),
        _attribute_row(DivByAttr, Writer.div_by),
        _attribute_row(SameElementsAttr, lambda _, value: b"\x09" + integers(value.values, 8)),
        _attribute_row(DictionaryAttr, lambda writer, value: b"\x0a" + writer.dictionary(dict(value.data))),
        _attribute_row(OptimizationHintsAttr, lambda writer, value: b"\x0b" + writer.hints(value)),
        _attribute_row(BoundedAttr, Writer.bounded),
        _attribute_row(UnitAttr, lambda *_: b"\x03\x01"),
    )
)

DEBUG_WRITERS: dict[type, Encode] = dict(
    (
        _attribute_row(DICompileUnitAttr, lambda writer, value: b"\x01" + writer.scope(value.file)),
        _attribute_row(DIFileAttr, Writer.debug_file),
        _attribute_row(DILexicalBlockAttr, Writer.lexical_block),
        _attribute_row(DILocAttr, Writer.lexical_location),
        _attribute_row(DISubprogramAttr, Writer.subprogram),
        _attribute_row(CallSiteLocAttr, Writer.call_site),
        _attribute_row(UnknownLocAttr, lambda *_: b"\x00"),
    )
)


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def write_module(
    module: builtin.ModuleOp | ModuleOp,
    *,
    version: Version | None = None,
    like: Tables | None = None,
    locate: Callable[[Operation], Location | None] = source_location,
) -> bytes:
    """The bytecode of a module, by default of WRITTEN or of the version of the file whose tables ``like`` holds.

    Raises InvalidInput for what the version cannot express, where ``locate`` says that the operation stands.
    """
    if not isinstance(module, ModuleOp):
        module = next(op for op in module.walk() if isinstance(op, ModuleOp))
    writer = Writer(version or (like.version if like else DEFAULT_VERSION), like)
    try:
        return writer.module(module)
    except InvalidInput as problem:
        if problem.location is None and writer.current is not None:
            problem.location = locate(writer.current)
        raise
