"""Read CUDA Tile IR bytecode 13.1 to 13.5 into the cuda_tile dialect.

In:    the bytes of a .tilebc file.
Out:   an xDSL ``builtin.module`` holding one verified ``cuda_tile.module`` with the globals and entries in order;
       operations carry their debug location as ``op.attributes["loc"]``.
Sound: a damaged or hostile file is rejected with InvalidInput that names a byte offset. Every count is checked against
       the remaining bytes, and nesting is limited: time and memory are proportional to the file.

Tile IR's BytecodeReader.cpp defines the format; OPCODES defines the encoding of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from tileiras_build.core.errors import InvalidInput, Location
from tileiras_build.core.symbols.check_symbol_names import GLOBAL as GLOBAL_NAME
from tileiras_build.core.symbols.check_symbol_names import KERNEL as KERNEL_NAME
from tileiras_build.core.symbols.check_symbol_names import check_names
from tileiras_build.ir.bytecode.attribute_reader import ATTRIBUTE_READERS, ENUMS, MAX_NESTING, AttributeReader
from tileiras_build.ir.bytecode.byte_cursor import Cursor
from tileiras_build.ir.bytecode.debug_info import DebugInfo, DebugIterator
from tileiras_build.ir.bytecode.file_sections import DEBUG, FUNCTIONS, GLOBALS, PRODUCER, STRINGS
from tileiras_build.ir.bytecode.opcodes import (
    OPCODES,
    SECTION_OPCODES,
    SINCE,
    Opcode,
    Version,
    version_text,
)
from tileiras_build.ir.dialects.cuda_tile import OPERATIONS
from tileiras_build.ir.dialects.cuda_tile.attrs import (
    OptimizationHintsAttr,
)
from tileiras_build.ir.dialects.cuda_tile.enums import SymbolVisibilityAttr
from tileiras_build.ir.dialects.cuda_tile.location import LOC, source_location
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS, invalid_op
from tileiras_build.ir.dialects.cuda_tile.ops_control import TERMINATORS
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GlobalOp, ModuleOp
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN

from ..dialects.fast_xdsl import append, create, segments, walk

MODULE_NAME = "kernels"


PRIVATE, KERNEL, HAS_HINTS = 1, 2, 4  # flags of a function; since SINCE["function.attributes"] no file has the last

NAMED_ATTRIBUTES: dict[type[Operation], str] = {
    EntryOp: KERNEL_NAME,
    GlobalOp: GLOBAL_NAME,
}  # symbols of the machine code
UNIT: Attribute = UnitAttr()
CLASSES = {cls.name.removeprefix("cuda_tile."): cls for cls in OPERATIONS}


@dataclass(frozen=True)
class Plan:
    """A row of OPCODES, prepared for one bytecode version."""

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
        tuple(
            (a.name, a.kind, ATTRIBUTE_READERS.get(a.kind, AttributeReader.enum), bits.get(a.name, 0)) for a in written
        ),
        tuple((a.name, ENUMS[a.kind].of(default)) for a, default in older),
        tuple((o.arity, bits.get(o.name, 0)) for o in row.operands),
        len(row.operands) if simple else None,
    )


class Reader(AttributeReader):
    """Reads one file into a module."""

    def __init__(self, data: bytes, name: str | None):
        super().__init__(data, name)
        self.debug = DebugInfo(self.file, self.sections.get(DEBUG), self.strings.text, self.version)
        self.plans: dict[int, Plan] = {}
        self.places: dict[Operation, int] = {}

    # Operations

    def plan(self, cursor: Cursor) -> Plan:
        """Read an opcode; the plan of its operation."""
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
                f"opcode {number:#x} ({row.name}) needs bytecode {version_text(row.since)}, the file is {version_text(self.version)}",
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
            types = (TOKEN,)  # older files have no token result: here it exists, without a value index
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
        """A block; its values are not visible after it."""
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
        """The attributes of the parameters: one dictionary for each, or none; {} if all are empty."""
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
        """The symbols of the machine code, for ``check_names``: kernels and globals, with their locations."""
        for op, offset in self.places.items():
            if (meaning := NAMED_ATTRIBUTES.get(type(op))) is not None:
                name = cast(EntryOp | GlobalOp, op).sym_name.data
                yield meaning, name, partial(Location, self.file.name, offset=offset)

    def module(self) -> builtin.ModuleOp:
        if STRINGS not in self.sections:
            self.file.fail("the string section is missing")
        producer = self.producer()
        properties: dict[str, Attribute] = {"sym_name": StringAttr(MODULE_NAME)}
        if producer is not None:
            properties["producer"] = producer
        block = Block([*self.functions(), *self.globals()])
        return builtin.ModuleOp([ModuleOp.create(properties=properties, regions=[Region(block)])])


def verify(
    module: builtin.ModuleOp, name: str | None = None, places: Mapping[Operation, int] = MappingProxyType({})
) -> None:
    """Verify every cuda_tile operation; raise InvalidInput that points to the first bad one.

    The location is its line of the source, or else its byte offset in the file, from ``places``.
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
