"""Read CUDA Tile IR bytecode 13.1 to 13.5 into the cuda_tile dialect.

In:    the bytes of a .tilebc file.
Out:   an xDSL ``builtin.module`` holding one verified ``cuda_tile.module`` with the globals and entries in order;
       operations carry their debug location as ``op.attributes["loc"]``.
Sound: a damaged or hostile file is refused with InvalidInput that names a byte offset. Every count is checked
       against the bytes that are left, nesting is limited, so time and memory stay proportional to the file.

The format is described in Tile IR's BytecodeReader.cpp; operations are read as OPCODES says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    AnyFloat,
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
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from tileiras_build.core.errors import InvalidInput, Location
from tileiras_build.core.symbols.symbol_names import GLOBAL as GLOBAL_NAME
from tileiras_build.core.symbols.symbol_names import KERNEL as KERNEL_NAME
from tileiras_build.core.symbols.symbol_names import check_names
from tileiras_build.ir.bytecode.byte_cursor import Cursor, read_offset_table
from tileiras_build.ir.bytecode.debug_info import DebugInfo, DebugIterator
from tileiras_build.ir.bytecode.float_bits import float_value
from tileiras_build.ir.bytecode.opcodes import (
    MEMBERS_SINCE,
    NEWEST,
    OPCODES,
    SECTION_OPCODES,
    SINCE,
    V13_5,
    VERSIONS,
    Opcode,
    Version,
)
from tileiras_build.ir.bytecode.string_table import StringTable
from tileiras_build.ir.bytecode.type_table import TypeTable
from tileiras_build.ir.dialects.cuda_tile import OPERATIONS
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
from tileiras_build.ir.dialects.cuda_tile.enums import ENUM_ATTRS, SymbolVisibilityAttr
from tileiras_build.ir.dialects.cuda_tile.location import LOC, source_location
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS, invalid_op
from tileiras_build.ir.dialects.cuda_tile.ops_control import TERMINATORS
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GlobalOp, ModuleOp
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN, TileType

from ..dialects.fast_xdsl import append, create, segments, walk

MAGIC = b"\x7fTileIR\x00"
MLIR_MAGIC = b"ML\xefR"
MODULE_NAME = "kernels"
MAX_NESTING = 64  # regions in regions, arrays in arrays
MAX_EXPANSION = 16  # bytes of constants that attributes may name, for each byte of the file

STRINGS, FUNCTIONS, DEBUG, CONSTANTS, TYPES, GLOBALS, PRODUCER = range(1, 8)
SECTION_NAMES = {
    STRINGS: "string",
    FUNCTIONS: "function",
    DEBUG: "debug",
    CONSTANTS: "constant",
    TYPES: "type",
    GLOBALS: "global",
    PRODUCER: "producer",
}
SECTION_ALIGNMENT = {STRINGS: 4, TYPES: 4, CONSTANTS: 8, DEBUG: 8, FUNCTIONS: 8}

PRIVATE, KERNEL, HAS_HINTS = 1, 2, 4  # flags of a function; since SINCE["function.attributes"] no file has the last
MAX_PREVIEW = 1  # tag of the version in the header: the file has what no release has settled (since 13.5)

NAMED_ATTRIBUTES = {EntryOp: KERNEL_NAME, GlobalOp: GLOBAL_NAME}  # what becomes a symbol of machine code
UNIT: Attribute = UnitAttr()
CLASSES = {cls.name.removeprefix("cuda_tile."): cls for cls in OPERATIONS}
ENUMS = {attr.members.__name__: attr for attr in ENUM_ATTRS}


@dataclass(frozen=True)
class Plan:
    """A row of OPCODES made ready for one bytecode version."""

    row: Opcode
    cls: type[Operation]
    flags: tuple[str, ...]
    unit_bits: tuple[tuple[str, int], ...]
    attributes: tuple[tuple[str, str, Callable, int], ...]
    defaults: tuple[tuple[str, Attribute], ...]
    operands: tuple[tuple[str, int], ...]
    simple_operands: int | None


@cache
def _make_plan(row: Opcode, version: Version) -> Plan:
    flags = row.flags if version >= row.flags_since else ()
    bits = {flag: 1 << index for index, flag in enumerate(flags)}
    written = [a for a in row.attributes if version >= a.since]
    older = [(a, default) for a in row.attributes if version < a.since and (default := a.default)]
    simple = all(operand.arity == "1" for operand in row.operands) and not row.counted_operands
    return Plan(
        row,
        CLASSES[row.name],
        flags,
        tuple((unit, bits[unit]) for unit in row.units if unit in bits),
        tuple((a.name, a.kind, ATTRIBUTE_READERS.get(a.kind, Reader.enum), bits.get(a.name, 0)) for a in written),
        tuple((a.name, ENUMS[a.kind].of(default)) for a, default in older),
        tuple((o.arity, bits.get(o.name, 0)) for o in row.operands),
        len(row.operands) if simple else None,
    )


class Reader:
    """Reads one file; the tables of its sections are read on demand."""

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
        self.debug = DebugInfo(self.file, self.sections.get(DEBUG), self.strings.text, self.version)
        self.plans: dict[int, Plan] = {}
        self.nameable = MAX_EXPANSION * len(data)
        self.places: dict[Operation, int] = {}

    # Tables

    def section(self, number: int) -> Cursor | None:
        bounds = self.sections.get(number)
        return None if bounds is None else self.file.sub_cursor(*bounds)

    def _offsets(self, number: int, width: int) -> list[tuple[int, int]]:
        """Where each entry of a section's table lies in the file: [(start, end), ...]."""
        cursor = self.section(number)
        return [] if cursor is None else read_offset_table(cursor, width, f"{SECTION_NAMES[number]} table")

    def symbol_name(self, cursor: Cursor, what: str, id: str = "bytecode-damaged") -> StringAttr:
        offset = cursor.position
        name = self.strings.attribute(cursor, what)
        if not name.data:
            cursor.fail(f"{what} is empty", id=id, offset=offset, remedy="name it")
        return name

    def constant(self, cursor: Cursor, type: Attribute) -> DenseConstantAttr:
        """The constant of a given type whose index is next."""
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
            cursor.fail(f"constant {index}: a constant must be a tile of numbers, got {type}", offset=offset)
        try:
            value = DenseConstantAttr(type, raw)
        except VerifyException as problem:
            cursor.fail(f"constant {index}: {problem}", offset=offset)
        self.constant_cache[index, type] = value
        return value

    def nested_constant(self, cursor: Cursor) -> DenseConstantAttr:
        """A constant inside another attribute, whose text holds it each time that it is named."""
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
            message = (
                f"{member.data.value} as a {kind} needs bytecode {_text(since)}, the file is {_text(self.version)}"
            )
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
        """An attribute that says by a tag what it is."""
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
        """Two bits that say which optional parameters follow."""
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

    # Operations

    def plan(self, cursor: Cursor) -> Plan:
        """How to read the operation whose opcode is next."""
        offset = cursor.position
        number = cursor.varint("an opcode")
        if (plan := self.plans.get(number)) is not None:
            return plan
        row = OPCODES.get(number)
        if row is None:
            section = f" ({SECTION_OPCODES[number]} in a function body)" if number in SECTION_OPCODES else ""
            cursor.fail(f"unknown opcode {number:#x}{section}", id="bytecode-opcode", offset=offset)
        if self.version < row.since:
            cursor.fail(
                f"opcode {number:#x} ({row.name}) needs bytecode {_text(row.since)}, the file is {_text(self.version)}",
                id="bytecode-opcode",
                offset=offset,
            )
        self.plans[number] = _make_plan(row, self.version)
        return self.plans[number]

    def operation(self, cursor: Cursor, values: list[SSAValue], locations: DebugIterator, depth: int) -> Operation:
        """The next operation; its results are appended to ``values``."""
        offset = cursor.position
        plan = self.plan(cursor)
        location = locations.next(cursor)
        types = self._result_types(cursor, plan.row)
        flags = cursor.varint("operation flags") if plan.flags else 0
        if flags >> len(plan.flags):
            cursor.fail(f"unknown flags {flags:#x} of {plan.row.name}", offset=offset)
        properties: dict[str, Attribute] = {name: UNIT for name, bit in plan.unit_bits if flags & bit}
        for name, kind, read, bit in plan.attributes:
            if not bit or flags & bit:
                properties[name] = read(self, cursor, kind, types)
        properties.update(plan.defaults)
        operands = self._operands(cursor, plan, flags, values, properties)
        regions = self._regions(cursor, plan.row, values, locations, depth) if plan.row.regions else ()
        visible = len(types)
        if plan.row.results_since is not None and not types:
            types = (TOKEN,)  # an older file has no token result: it exists here, but has no value index
        attributes: dict[str, Attribute] = {} if location is None else {LOC: location}
        op = create(plan.cls, operands, types, properties, attributes, regions=regions)
        values.extend(op.results[:visible])
        self.places[op] = offset
        return op

    def _result_types(self, cursor: Cursor, row: Opcode) -> tuple[Attribute, ...]:
        count = row.results or 0
        if row.counted_results:
            offset = cursor.position
            count = cursor.count("results")
            if row.results is not None and count != row.results:
                cursor.fail(f"{row.name} has {row.results} results, not {count}", offset=offset)
        return tuple([self.types.read(cursor, "a result type") for _ in range(count)])

    def _operands(
        self, cursor: Cursor, plan: Plan, flags: int, values: list[SSAValue], properties: dict[str, Attribute]
    ) -> list[SSAValue]:
        if plan.simple_operands is not None:
            return self._values(cursor, values, plan.simple_operands)
        if plan.row.counted_operands:
            return self._values(cursor, values, cursor.count("operands"))
        operands, sizes = [], []
        for arity, bit in plan.operands:
            present = 1
            if arity == "*":
                present = cursor.count("operands")
            elif arity == "?":
                present = int(flags & bit != 0)
            operands += self._values(cursor, values, present)
            sizes.append(present)
        if plan.row.segmented:
            properties[SEGMENTS] = segments(*sizes)
        return operands

    def _values(self, cursor: Cursor, values: list[SSAValue], count: int) -> list[SSAValue]:
        found = []
        for _ in range(count):
            index = cursor.varint("an operand index")
            if index >= len(values):
                cursor.fail(f"operand index {index} is out of bounds, {len(values)} values are visible")
            found.append(values[index])
        return found

    def _regions(self, cursor: Cursor, row: Opcode, values, locations, depth: int) -> list[Region]:
        offset = cursor.position
        if depth >= MAX_NESTING:
            cursor.fail(f"regions are nested more than {MAX_NESTING} deep", offset=offset)
        count = cursor.count("regions")
        if count != row.regions:
            cursor.fail(f"{row.name} has {row.regions} regions, not {count}", offset=offset)
        return [self._region(cursor, values, locations, depth + 1) for _ in range(count)]

    def _region(self, cursor: Cursor, values, locations, depth: int) -> Region:
        blocks = [self._block(cursor, values, locations, depth) for _ in range(cursor.count("blocks"))]
        return Region(blocks)

    def _block(self, cursor: Cursor, values: list[SSAValue], locations: DebugIterator, depth: int) -> Block:
        """A block; what it defines is not visible after it."""
        offset, outer = cursor.position, len(values)
        count = cursor.count("block arguments")
        block = Block(arg_types=[self.types.read(cursor, "a block argument type") for _ in range(count)])
        values.extend(block.args)
        ops = [self.operation(cursor, values, locations, depth) for _ in range(cursor.count("operations"))]
        if not ops or not isinstance(ops[-1], TERMINATORS):
            cursor.fail("a block does not end in a terminator", offset=offset)
        for op in ops:
            append(block, op)
        del values[outer:]
        return block

    # Sections

    def producer(self) -> StringAttr | None:
        cursor = self.section(PRODUCER)
        return None if cursor is None else self.strings.attribute(cursor, "the producer")

    def globals(self) -> list[Operation]:
        cursor = self.section(GLOBALS)
        if cursor is None:
            return []
        fields = 6 if self.version >= SINCE["global.visibility"] else 4
        return [self._global(cursor) for _ in range(cursor.count("globals", fields))]

    def _global(self, cursor: Cursor) -> Operation:
        offset = cursor.position
        properties: dict[str, Attribute] = {
            "sym_name": self.symbol_name(cursor, "the name of a global", f"{GLOBAL_NAME}-name")
        }
        type = self.types.read(cursor, "the type of a global")
        properties["value"] = self.constant(cursor, type)
        properties["alignment"] = self.integer(cursor.varint("an alignment"), i64)
        visibility: Attribute = SymbolVisibilityAttr.instances[0]
        if self.version >= SINCE["global.visibility"]:
            visibility = self.enum(cursor, "SymbolVisibility", ())
            if cursor.varint("a constant flag"):
                properties["constant"] = UNIT
        op = GlobalOp.create(properties=properties | {"symbol_visibility": visibility})
        self.places[op] = offset
        return op

    def functions(self) -> list[Operation]:
        cursor = self.section(FUNCTIONS)
        if cursor is None:
            self.file.fail("the function section is missing")
        fields = 9 if self.version >= SINCE["function.attributes"] else 5
        return [self._function(cursor) for _ in range(cursor.count("functions", fields))]

    def _function(self, cursor: Cursor) -> Operation:
        offset = cursor.position
        name = self.symbol_name(cursor, "the name of a kernel", f"{KERNEL_NAME}-name")
        signature = self.types.read(cursor, "the signature of a function")
        if not isinstance(signature, FunctionType):
            cursor.fail(f"the signature of '{name.data}' is not a function type but {signature}", offset=offset)
        flags = self._function_flags(cursor, name.data, offset)
        locations = self.debug.of_function(cursor)
        attributed = self.version >= SINCE["function.attributes"]
        properties: dict[str, Attribute] = {"optimization_hints": OptimizationHintsAttr({})}
        if flags & HAS_HINTS or attributed:
            properties["optimization_hints"] = self._function_hints(cursor)
        if attributed:
            properties |= self._parameter_attributes(cursor, len(signature.inputs.data))
        size = cursor.count("bytes of a function body")
        body = cursor.sub_cursor(cursor.position, cursor.position + size)
        cursor.position += size
        op = self._entry(name, signature, properties, locations, body)
        self.places[op] = offset
        return op

    def _function_flags(self, cursor: Cursor, name: str, offset: int) -> int:
        flags = cursor.byte("function flags")
        known = PRIVATE | KERNEL | (HAS_HINTS if self.version < SINCE["function.attributes"] else 0)
        if flags & ~known:
            cursor.fail(f"unknown flags {flags:#x} of the function '{name}'", offset=offset)
        if flags & KERNEL and flags & PRIVATE:
            cursor.fail(f"the entry '{name}' is private; entries are public", offset=offset)
        if not flags & KERNEL:
            cursor.fail(f"'{name}' is not an entry; other functions are not part of Tile IR", offset=offset)
        return flags

    def _parameter_attributes(self, cursor: Cursor, count: int) -> dict[str, Attribute]:
        """The attributes of the parameters: a dictionary for each, or none at all; nothing if all are empty."""
        offset = cursor.position
        value = self.tagged(cursor)
        if not isinstance(value, ArrayAttr) or not all(isinstance(one, DictionaryAttr) for one in value.data):
            cursor.fail(f"expected an array of dictionaries, the attributes of parameters, got {value}", offset=offset)
        if value.data and len(value.data) != count:
            cursor.fail(f"{len(value.data)} dictionaries of attributes for {count} parameters", offset=offset)
        for key in (key for one in value.data for key in one.data):
            if "." not in key:
                cursor.fail(f"the attribute '{key}' of a parameter is not one of a dialect", offset=offset)
        return {"arg_attrs": value} if any(one.data for one in value.data) else {}

    def _function_hints(self, cursor: Cursor) -> OptimizationHintsAttr:
        offset = cursor.position
        hints = self.tagged(cursor)
        if not isinstance(hints, OptimizationHintsAttr):
            cursor.fail(f"expected optimization hints, got {hints}", offset=offset)
        return hints

    def _entry(
        self,
        name: StringAttr,
        signature: FunctionType,
        properties: dict[str, Attribute],
        locations: DebugIterator,
        body: Cursor,
    ) -> EntryOp:
        location = locations.next(body)
        block = Block(arg_types=signature.inputs.data)
        values: list[SSAValue] = list(block.args)
        ops = []
        while body.position < body.end:
            ops.append(self.operation(body, values, locations, 0))
        if not ops or not isinstance(ops[-1], TERMINATORS):
            body.fail(f"the body of '{name.data}' does not end in a terminator")
        for op in ops:
            append(block, op)
        return EntryOp.create(
            properties={"sym_name": name, "function_type": signature, **properties},
            attributes={} if location is None else {LOC: location},
            regions=[Region(block)],
        )

    def names(self) -> Iterator[tuple[str, str, Callable[[], Location]]]:
        """What machine code will name, as ``check_names`` asks: kernels and globals, and where they are."""
        for op, offset in self.places.items():
            if isinstance(op, EntryOp | GlobalOp):
                yield NAMED_ATTRIBUTES[type(op)], op.sym_name.data, partial(Location, self.file.name, offset=offset)

    def module(self) -> builtin.ModuleOp:
        if STRINGS not in self.sections:
            self.file.fail("the string section is missing")
        producer = self.producer()
        properties: dict[str, Attribute] = {"sym_name": StringAttr(MODULE_NAME)}
        if producer is not None:
            properties["producer"] = producer
        block = Block([*self.functions(), *self.globals()])
        return builtin.ModuleOp([ModuleOp.create(properties=properties, regions=[Region(block)])])


ATTRIBUTE_READERS = {
    "i32": Reader.number,
    "i64": Reader.number,
    "bool": Reader.boolean,
    "string": Reader.text,
    "symbol": Reader.text,
    "dense": Reader.dense,
    "i32s": Reader.integers,
    "bools": Reader.booleans,
    "array": Reader.array,
    "predicate": Reader.predicate,
    "hints": Reader.hints,
}

_KERNEL_FILES = (".py", ".cu")

# Attribute tag -> reader (Tile IR BytecodeAttrOpcodes.td).
TAGGED_READERS: dict[int, Callable[[Reader, Cursor, int], Attribute]] = {
    1: Reader.tagged_integer,
    2: Reader.tagged_float,
    3: lambda reader, cursor, _: reader.boolean(cursor, None, None),
    4: lambda reader, cursor, _: reader.types.read(cursor, "a type attribute"),
    5: lambda reader, cursor, _: reader.strings.attribute(cursor, "a string attribute"),
    6: lambda reader, cursor, depth: reader.array(cursor, None, None, depth),
    7: lambda reader, cursor, _: reader.nested_constant(cursor),
    8: Reader.div_by,
    9: lambda reader, cursor, _: SameElementsAttr(cursor.integers(8, "elements of an i64 array")),
    10: lambda reader, cursor, depth: DictionaryAttr(reader.dictionary(cursor, depth)),
    11: lambda reader, cursor, depth: reader.hints(cursor, depth=depth),
    12: Reader.bounded,
}


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _remedy(name: str | None) -> str:
    """What to do about a file that is no bytecode: one of kernels is what people have at hand."""
    if name is not None and name.endswith(_KERNEL_FILES):
        import shlex

        return f"export its kernels first: tileiras-build export {shlex.quote(name)}"
    return "give a .tilebc file that a Tile IR front end wrote"


def read_header(cursor: Cursor) -> Version:
    """Check the magic number and return the version, which must be one that we understand."""
    if not cursor.data:
        cursor.fail("the file is empty", id="bytecode-empty", remedy="expected CUDA Tile IR bytecode")
    if cursor.data.startswith(MLIR_MAGIC):
        cursor.fail(
            "failed to parse IR bytecode (it looks like MLIR bytecode instead)",
            id="bytecode-mlir",
            offset=0,
            remedy="translate it with cuda-tile-translate first",
        )
    if not cursor.data.startswith(MAGIC):
        if MAGIC.startswith(cursor.data):
            cursor.fail(
                "the file ends in the middle of the magic number", id="bytecode-truncated", offset=len(cursor.data)
            )
        cursor.fail(
            "input does not correspond to Tile IR bytecode",
            id="bytecode-magic",
            offset=0,
            remedy=_remedy(cursor.name),
        )
    cursor.position = len(MAGIC)
    major, minor = cursor.byte("the version"), cursor.byte("the version")
    tag = int.from_bytes(cursor.take_bytes(2, "the version"), "little")
    version = major, minor
    if version in VERSIONS and not tag:
        return version
    if version in VERSIONS and version >= V13_5 and tag == MAX_PREVIEW:
        cursor.fail(
            f"the file is Tile IR bytecode {_text(version)} with preview content, which this compiler does not "
            "understand",
            id="bytecode-version",
            offset=len(MAGIC),
            remedy="have the front end write bytecode without preview features",
        )
    found = f"{_text(version)}.{tag}" if tag else _text(version)
    age = "newer than" if (*version, tag) > (*NEWEST, 0) else "not one of"
    cursor.fail(
        f"the file is Tile IR bytecode {found}, {age} the versions that this compiler understands "
        f"({_text(VERSIONS[0])} to {_text(NEWEST)})",
        id="bytecode-version",
        offset=len(MAGIC),
        remedy=f"have the front end write bytecode {_text(NEWEST)} or older",
    )


def read_sections(cursor: Cursor) -> dict[int, tuple[int, int]]:
    """Where the contents of each section lie: number -> (start, end)."""
    sections: dict[int, tuple[int, int]] = {}
    while True:
        offset = cursor.position
        tag = cursor.byte("a section header")
        number, aligned = tag & 0x7F, tag >= 0x80
        if number == 0:
            if aligned:
                cursor.fail("the end section has an alignment", offset=offset)
            if cursor.remaining:
                cursor.fail(f"{cursor.remaining} bytes follow the end section")
            return sections
        if number not in SECTION_NAMES:
            cursor.fail(f"unknown section {number}", offset=offset)
        if number in sections:
            cursor.fail(f"the {SECTION_NAMES[number]} section occurs twice", offset=offset)
        sections[number] = _section_bounds(cursor, number, aligned, offset)


def _section_bounds(cursor: Cursor, number: int, aligned: bool, offset: int) -> tuple[int, int]:
    name = SECTION_NAMES[number]
    size = cursor.varint(f"the length of the {name} section")
    if size > cursor.remaining:
        cursor.fail(
            f"the {name} section has {size} bytes, but only {cursor.remaining} remain",
            id="bytecode-truncated",
            offset=offset,
        )
    alignment = cursor.varint(f"the alignment of the {name} section") if aligned else 1
    if alignment == 0 or alignment & (alignment - 1):
        cursor.fail(f"the alignment {alignment} of the {name} section is not a power of two", offset=offset)
    if alignment % SECTION_ALIGNMENT.get(number, 1):
        cursor.fail(
            f"the {name} section must be aligned to {SECTION_ALIGNMENT[number]} bytes, not {alignment}", offset=offset
        )
    cursor.align(alignment)
    start = cursor.position
    cursor.take_bytes(size, f"the {name} section")
    return start, start + size


def verify(
    module: builtin.ModuleOp, name: str | None = None, places: Mapping[Operation, int] = MappingProxyType({})
) -> None:
    """Verify every cuda_tile operation; raise InvalidInput that points to the first bad one.

    The location is its line of the source, or else its byte in the file, which ``places`` tells.
    """
    for op in walk(module):
        try:
            op.verify_()
        except VerifyException as problem:
            bad = invalid_op(problem, op)
            offset = places.get(bad)
            where = source_location(bad) or Location(file=name, offset=offset)
            byte = "" if offset is None or where.offset is not None else f" (byte {offset:#x} of the bytecode)"
            raise InvalidInput("ir-invalid", f"the bytecode does not verify: {problem}{byte}", location=where) from None


def read_module(data: bytes, name: str | None = None, *, check: bool = True) -> builtin.ModuleOp:
    """The module in ``data``; ``name`` is the file named in errors.

    ``check`` verifies the operations, and the names of kernels and globals, as well. Raises InvalidInput for anything
    that is not valid Tile IR bytecode of a version in opcodes.VERSIONS.
    """
    reader = Reader(bytes(data), name)
    module = reader.module()
    if check:
        check_names(reader.names())
        verify(module, name, reader.places)
    return module
