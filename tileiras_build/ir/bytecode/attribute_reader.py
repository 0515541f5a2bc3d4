"""The tables of a bytecode file, and the attributes of operations: constants, enums, arrays, dictionaries, hints.

``ATTRIBUTE_READERS`` has the readers of kinds in OPCODES, ``TAGGED_READERS`` those of tags in the file.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tileiras_build.ir.bytecode.byte_cursor import Cursor, read_offset_table
from tileiras_build.ir.bytecode.file_sections import (
    CONSTANTS,
    SECTION_NAMES,
    STRINGS,
    TYPES,
    read_header,
    read_sections,
)
from tileiras_build.ir.bytecode.float_bits import float_value
from tileiras_build.ir.bytecode.opcodes import (
    MEMBERS_SINCE,
    version_text,
)
from tileiras_build.ir.bytecode.string_table import StringTable
from tileiras_build.ir.bytecode.type_table import TypeTable
from tileiras_build.ir.dialects.cuda_tile.attrs import (
    DTYPE_NAMES,
    BoundedAttr,
    DenseConstantAttr,
    DivByAttr,
    OptimizationHintsAttr,
    SameElementsAttr,
    hint_value,
)
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS
from tileiras_build.ir.dialects.cuda_tile.enums import ENUM_ATTRS
from tileiras_build.ir.dialects.cuda_tile.types import TileType

MAX_NESTING = 64  # regions in regions, arrays in arrays
MAX_EXPANSION = 16  # bytes of constants that attributes may refer to, per byte of the file
ENUMS = {attr.members.__name__: attr for attr in ENUM_ATTRS}


class AttributeReader:
    """The tables of one file, read on demand, and the attributes of its operations."""

    def __init__(self, data: bytes, name: str | None):
        self.file = Cursor(data, name)
        self.version = read_header(self.file)
        self.sections = read_sections(self.file)
        self.strings = StringTable(self.file, self._offsets(STRINGS, 4))
        self.constants = self._offsets(CONSTANTS, 8)
        self.constant_cache: dict[tuple[int, Attribute], DenseConstantAttr] = {}
        self.integer_cache: dict[tuple[int, IntegerType], IntegerAttr] = {}
        self.types = TypeTable(self.file, self._offsets(TYPES, 4), self.version)
        self.types.read_all()
        self.nameable = MAX_EXPANSION * len(data)

    # Tables

    def section(self, number: int) -> Cursor | None:
        bounds = self.sections.get(number)
        return None if bounds is None else self.file.sub_cursor(*bounds)

    def _offsets(self, number: int, width: int) -> list[tuple[int, int]]:
        """The range of each entry of a section's table in the file: [(start, end), ...]."""
        cursor = self.section(number)
        return [] if cursor is None else read_offset_table(cursor, width, f"{SECTION_NAMES[number]} table")

    def symbol_name(self, cursor: Cursor, what: str, id: str = "bytecode-damaged") -> StringAttr:
        offset = cursor.position
        name = self.strings.attribute(cursor, what)
        if not name.data:
            cursor.fail(f"{what} is empty", id=id, offset=offset, remedy="name it")
        return name

    def constant(self, cursor: Cursor, type: Attribute) -> DenseConstantAttr:
        """Read the index of a constant of type ``type``."""
        offset = cursor.position
        index = cursor.varint("a constant index")
        if (known := self.constant_cache.get((index, type))) is not None:
            return known
        if index >= len(self.constants):
            cursor.fail(
                f"constant index {index} is out of bounds, the file has {len(self.constants)} constants", offset=offset
            )
        entry = self.file.sub_cursor(*self.constants[index])
        raw = entry.take_bytes(entry.count("bytes of a constant"), "a constant")
        if not isinstance(type, TileType):
            cursor.fail(f"constant {index}: a constant must be a numeric tile, got {type}", offset=offset)
        try:
            value = DenseConstantAttr(type, raw)
        except VerifyException as problem:
            cursor.fail(f"constant {index}: {problem}", offset=offset)
        self.constant_cache[index, type] = value
        return value

    def nested_constant(self, cursor: Cursor) -> DenseConstantAttr:
        """A constant inside another attribute, whose text repeats it at each reference."""
        offset = cursor.position
        value = self.constant(cursor, self.types.read(cursor, "the type of a constant"))
        self.nameable -= len(value.raw)
        if self.nameable < 0:
            cursor.fail(f"attributes name constants of more than {MAX_EXPANSION} times the file's size", offset=offset)
        return value

    def integer(self, value: int, type: IntegerType) -> IntegerAttr:
        key = value, type
        if key not in self.integer_cache:
            self.integer_cache[key] = IntegerAttr(value, type, truncate_bits=True)
        return self.integer_cache[key]

    # Attributes of operations: (reader, cursor, kind, types of the results) -> attribute

    def enum(self, cursor: Cursor, kind: str, _) -> Attribute:
        offset = cursor.position
        value = cursor.varint(kind)
        members = ENUMS[kind].instances
        if value >= len(members):
            cursor.fail(f"{value} is not a {kind}", offset=offset)
        member = members[value]
        if self.version < (since := MEMBERS_SINCE.get((kind, member.data.value), self.version)):
            message = f"{member.data.value} as a {kind} needs bytecode {version_text(since)}, the file is {version_text(self.version)}"
            cursor.fail(message, offset=offset)
        return member

    def number(self, cursor: Cursor, kind: str, _) -> IntegerAttr:
        type = i32 if kind == "i32" else i64
        return self.checked_integer(cursor, type)

    def checked_integer(self, cursor: Cursor, type: IntegerType) -> IntegerAttr:
        offset, width = cursor.position, type.width.data
        value = cursor.byte("an i1 value") != 0 if width == 1 else cursor.varint(f"an i{width} value")
        if value >> width:
            cursor.fail(f"{value} does not fit in {width} bits", offset=offset)
        return self.integer(int(value), type)

    def boolean(self, cursor: Cursor, _kind, _) -> IntegerAttr:
        return self.integer(int(cursor.byte("a boolean") != 0), i1)

    def text(self, cursor: Cursor, kind: str, _) -> Attribute:
        if kind == "symbol":
            return SymbolRefAttr(self.symbol_name(cursor, "a symbol reference"))
        return self.strings.attribute(cursor, "a string attribute")

    def dense(self, cursor: Cursor, _kind, result_types) -> DenseConstantAttr:
        return self.constant(cursor, result_types[0])

    def integers(self, cursor: Cursor, _kind, _) -> DenseArrayBase:
        return DenseArrayBase.from_list(i32, cursor.integers(4, "elements of an i32 array"))

    def booleans(self, cursor: Cursor, _kind, _) -> DenseArrayBase:
        values = cursor.integers(1, "elements of an i1 array")
        return DenseArrayBase.from_list(i1, [int(value != 0) for value in values])

    def array(self, cursor: Cursor, _kind, _, depth: int = 0) -> ArrayAttr:
        return ArrayAttr([self.tagged(cursor, depth + 1) for _ in range(cursor.count("array elements"))])

    def predicate(self, cursor: Cursor, _kind, _) -> Attribute:
        offset = cursor.position
        value = self.tagged(cursor)
        if not isinstance(value, (DivByAttr, SameElementsAttr, BoundedAttr)):
            cursor.fail(f"expected an assumption, got {value}", offset=offset)
        return value

    def dictionary(self, cursor: Cursor, depth: int) -> dict[str, Attribute]:
        entries: dict[str, Attribute] = {}
        for _ in range(cursor.count("dictionary entries", 2)):
            offset = cursor.position
            key = self.strings.text(cursor, "a dictionary key")
            if not key:
                cursor.fail("a dictionary entry has an empty attribute name", offset=offset)
            if key in entries:
                cursor.fail(f"the dictionary key '{key}' occurs twice", offset=offset)
            entries[key] = self.tagged(cursor, depth + 1)
        return entries

    def hints(self, cursor: Cursor, _kind=None, _=None, depth: int = 0) -> OptimizationHintsAttr:
        offset = cursor.position
        targets = {}
        for target, values in self.dictionary(cursor, depth).items():
            if not isinstance(values, DictionaryAttr):
                cursor.fail(f"expected a dictionary of optimization hints for '{target}', got {values}", offset=offset)
            targets[target] = {key: hint_value(value) for key, value in values.data.items()}
        return OptimizationHintsAttr(targets)

    def tagged(self, cursor: Cursor, depth: int = 0) -> Attribute:
        """An attribute that starts with a tag of its kind."""
        offset = cursor.position
        tag = cursor.varint("an attribute tag")
        if depth > MAX_NESTING:
            cursor.fail(f"attributes are nested more than {MAX_NESTING} deep", offset=offset)
        if (read := TAGGED_READERS.get(tag)) is None:
            cursor.fail(f"unknown attribute tag {tag}", offset=offset)
        return read(self, cursor, depth)

    def tagged_integer(self, cursor: Cursor, _depth) -> IntegerAttr:
        offset = cursor.position
        type = self.types.read(cursor, "the type of an integer attribute")
        if not isinstance(type, IntegerType):
            cursor.fail(f"an integer attribute cannot have type {type}", offset=offset)
        return self.checked_integer(cursor, type)

    def tagged_float(self, cursor: Cursor, _depth) -> FloatAttr:
        offset = cursor.position
        type = self.types.read(cursor, "the type of a float attribute")
        if not isinstance(type, AnyFloat) or type not in DTYPE_NAMES:
            cursor.fail(f"a float attribute cannot have type {type}", offset=offset)
        width = BITS[type]
        bits = cursor.byte("a float value") if width <= 8 else cursor.float_pattern("a float value")
        if bits >> width:
            cursor.fail(f"{bits} does not fit in {width} bits", offset=offset)
        return FloatAttr(float_value(bits, type), type)

    def presence(self, cursor: Cursor, what: str) -> int:
        """Two flags of optional parameters that follow."""
        offset = cursor.position
        flags = cursor.byte(f"flags of {what}")
        if flags > 3:
            cursor.fail(f"unknown flags {flags:#x} of {what}", offset=offset)
        return flags

    def div_by(self, cursor: Cursor, _depth) -> DivByAttr:
        divisor = cursor.varint("a divisor")
        flags = self.presence(cursor, "a divisibility")
        every = cursor.signed_varint("a group size") if flags & 1 else None
        along = cursor.signed_varint("a dimension") if flags & 2 else None
        return DivByAttr(divisor, every, along)

    def bounded(self, cursor: Cursor, _depth) -> BoundedAttr:
        flags = self.presence(cursor, "bounds")
        lower = cursor.signed_varint("a lower bound") if flags & 1 else None
        upper = cursor.signed_varint("an upper bound") if flags & 2 else None
        return BoundedAttr(lower, upper)


ATTRIBUTE_READERS = {
    "i32": AttributeReader.number,
    "i64": AttributeReader.number,
    "bool": AttributeReader.boolean,
    "string": AttributeReader.text,
    "symbol": AttributeReader.text,
    "dense": AttributeReader.dense,
    "i32s": AttributeReader.integers,
    "bools": AttributeReader.booleans,
    "array": AttributeReader.array,
    "predicate": AttributeReader.predicate,
    "hints": AttributeReader.hints,
}

# Attribute tag -> reader (Tile IR BytecodeAttrOpcodes.td).
TAGGED_READERS: dict[int, Callable[[AttributeReader, Cursor, int], Attribute]] = {
    1: AttributeReader.tagged_integer,
    2: AttributeReader.tagged_float,
    3: lambda reader, cursor, _: reader.boolean(cursor, None, None),
    4: lambda reader, cursor, _: reader.types.read(cursor, "a type attribute"),
    5: lambda reader, cursor, _: reader.strings.attribute(cursor, "a string attribute"),
    6: lambda reader, cursor, depth: reader.array(cursor, None, None, depth),
    7: lambda reader, cursor, _: reader.nested_constant(cursor),
    8: AttributeReader.div_by,
    9: lambda reader, cursor, _: SameElementsAttr(cursor.integers(8, "elements of an i64 array")),
    10: lambda reader, cursor, depth: DictionaryAttr(reader.dictionary(cursor, depth)),
    11: lambda reader, cursor, depth: reader.hints(cursor, depth=depth),
    12: AttributeReader.bounded,
}
