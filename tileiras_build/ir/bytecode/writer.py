"""Write the cuda_tile dialect as CUDA Tile IR bytecode 13.1 to 13.5: the inverse of ``reader.py``.

In:    an xDSL ``builtin.module`` as ``read_module`` returns it.
Out:   the bytes of a .tilebc file.
Sound: ``read_module(write_module(m))`` equals ``m``. Indices of strings, types, constants and debug attributes are not
       fixed: they follow the order of first use, unless ``like`` has the tables of an existing file. A file of a writer
       that shares equal entries is then reproduced byte by byte.

Operations are encoded by OPCODES; the sections are those of Tile IR's BytecodeReader.cpp.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from tileiras_build.core.errors import InvalidInput, Location
from tileiras_build.ir.bytecode.attribute_writer import AttributeWriter
from tileiras_build.ir.bytecode.existing_tables import Tables
from tileiras_build.ir.bytecode.file_sections import (
    CONSTANTS,
    DEBUG,
    FUNCTIONS,
    GLOBALS,
    MAGIC,
    PRODUCER,
    SECTION_ALIGNMENT,
    STRINGS,
    TYPES,
)
from tileiras_build.ir.bytecode.opcodes import (
    DEFAULT_VERSION,
    OPCODES,
    SINCE,
    Opcode,
    Version,
)
from tileiras_build.ir.bytecode.reader import HAS_HINTS, KERNEL
from tileiras_build.ir.bytecode.varint_encoding import Table, pad, varint
from tileiras_build.ir.bytecode.version_guards import guards_above, operand_groups
from tileiras_build.ir.dialects.cuda_tile.attrs import (
    OptimizationHintsAttr,
)
from tileiras_build.ir.dialects.cuda_tile.enums import SymbolVisibility
from tileiras_build.ir.dialects.cuda_tile.location import (
    LOC,
    source_location,
)
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GlobalOp, ModuleOp

OPCODES_BY_NAME: dict[str, Opcode] = {row.name: row for row in OPCODES.values()}
# The section order of cuTile Python: tables follow the sections that fill them.
ORDER = (FUNCTIONS, GLOBALS, CONSTANTS, DEBUG, TYPES, STRINGS, PRODUCER)


class Writer(AttributeWriter):
    """Writes one module."""

    def __init__(self, version: Version, like: Tables | None):
        super().__init__(version, like)
        self.like = like
        self.locations: list[list[int]] = []
        self.values: dict[SSAValue, int] = {}
        self.guards = guards_above(version)
        self.current: Operation | None = None

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
        """A block; its values have no index after it."""
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
        """Reject features of a global that older versions lack."""
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


def _hints_of(op: EntryOp) -> OptimizationHintsAttr:
    return op.optimization_hints or OptimizationHintsAttr({})


def write_module(
    module: builtin.ModuleOp | ModuleOp,
    *,
    version: Version | None = None,
    like: Tables | None = None,
    locate: Callable[[Operation], Location | None] = source_location,
) -> bytes:
    """The bytecode of a module, by default in DEFAULT_VERSION or the version of ``like``.

    Raises InvalidInput for features that the version lacks, at the location of the operation by ``locate``.
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
