"""Parse the public textual form of CUDA Tile IR, as NVIDIA's tools print it and its tests write it: the assembler.

Each operation is parsed by its row of FORMATS: ``parse_text_directives.py`` has a parser for each directive, which fills a
``ParsedOp``; operands, attributes and flags are then assembled by OPCODES. The dialect's prefix is optional everywhere; a
kernel without a ``return`` gets one.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator
from functools import partial

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from tileiras_build.core.errors import InvalidInput, Location
from tileiras_build.core.symbols.check_symbol_names import check_names
from tileiras_build.ir.bytecode.attribute_reader import MAX_NESTING
from tileiras_build.ir.bytecode.opcodes import Version
from tileiras_build.ir.bytecode.parse_text_constants import dense
from tileiras_build.ir.bytecode.parse_text_directives import PLANS, compare_sizes
from tileiras_build.ir.bytecode.printer import PRODUCER_COMMENT
from tileiras_build.ir.bytecode.reader import CLASSES, MODULE_NAME, NAMED_ATTRIBUTES
from tileiras_build.ir.bytecode.text_generic_form import (
    MODULE,
    close_module,
    dictionary,
    generic_entry,
    generic_global,
    generic_operation,
    kinds_of,
    open_module,
)
from tileiras_build.ir.bytecode.text_locations import Locations
from tileiras_build.ir.bytecode.text_parsed_op import UNIT, ParsedOp
from tileiras_build.ir.bytecode.text_scanner import VALUE, Scanner
from tileiras_build.ir.bytecode.writer import OPCODES_BY_NAME, write_module
from tileiras_build.ir.dialects.checked_cast import cast
from tileiras_build.ir.dialects.checked_mlir_parser import error_reason
from tileiras_build.ir.dialects.cuda_tile.attrs import OptimizationHintsAttr
from tileiras_build.ir.dialects.cuda_tile.check_optimization_hints import unusable
from tileiras_build.ir.dialects.cuda_tile.enums import SymbolVisibilityAttr
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS, TileOperation, invalid_op
from tileiras_build.ir.dialects.cuda_tile.ops_control import TERMINATORS, ReturnOp
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GlobalOp, ModuleOp
from tileiras_build.target.targets import TARGETS

MAX_RESULTS = 1 << 16
DIALECT = "cuda_tile."
# Operations whose result type is that of an operand: the text has only the latter.
SAME_TYPE = {
    "assume": "value", "mmaf": "acc", "mmai": "acc", "mmaf_scaled": "acc", "fpowi": "source", "insert": "destination",
    "get_tile_block_id": "block_id_x", "get_num_tile_blocks": "grid_size_x", "memory_fence_alias_tko": "token",
}  # fmt: skip
RENAMED = {"pow": "fpowf"}  # names of operations in older text
Remark = Callable[[str], None]


class TextParser:
    """Parses one text; ``remark`` receives remarks on accepted but outdated syntax."""

    def __init__(self, text: str, name: str | None, remark: Remark = lambda _: None):
        self.scan, self.remark = Scanner(text, name), remark
        self.scan.find_aliases()
        self.locations = Locations(self.scan)
        self.values: ChainMap[str, SSAValue] = ChainMap()
        self.places: dict[Operation, int] = {}

    # Values

    def value(self) -> SSAValue:
        self.scan.skip()
        start = self.scan.position
        name = self.scan.match(VALUE, "a value such as %0")
        if name not in self.values:
            self.scan.fail(f"{name} is not defined", start)
        return self.values[name]

    def value_list(self) -> list[SSAValue]:
        if not self.scan.at("%"):
            return []
        found = [self.value()]
        while self.scan.accept(","):
            found.append(self.value())
        return found

    def define(self, names: list[str], values, start: int) -> None:
        """Name the results of an operation: one name each, or ``%name:count`` for a group of them."""
        position = 0
        for name in names:
            base, _, count = name.partition(":")
            group = values[position : position + int(count or 1)]
            position += int(count or 1)
            if len(group) != int(count or 1):
                self.scan.fail(f"there are more names than the {len(values)} results", start)
            if base in self.values:
                self.scan.fail(f"{base} is defined already", start)
            self.values[base] = group[0]
            if count:
                self.values |= {f"{base}#{index}": value for index, value in enumerate(group)}
        if names and position != len(values):
            self.scan.fail(f"{position} names for {len(values)} results", start)

    def result_names(self) -> list[str]:
        names = []
        while self.scan.at("%"):
            name = self.scan.match(VALUE, "a value")
            if self.scan.text.startswith(":", self.scan.position):
                self.scan.expect(":")
                name += f":{self.count()}"
            names.append(name)
            if not self.scan.accept(","):
                break
        if names:
            self.scan.expect("=")
        return names

    def count(self) -> int:
        """The number of results of one name: each has a type in the text, or a byte of bytecode."""
        start = self.scan.position
        number = self.scan.integer()
        if not 0 < number <= MAX_RESULTS:
            self.scan.fail(f"an operation has 1 to {MAX_RESULTS} results, not {number}", start)
        return number

    # Operations

    def operation(self) -> Operation:
        self.scan.skip()
        names_start = self.scan.position
        names = self.result_names()
        op, start = generic_operation(self) if self.scan.at('"') else self._usual_operation(names)
        self.places[op] = start
        self.locations.note(op)
        self.define(names, op.results, names_start)
        return op

    def _usual_operation(self, names: list[str]) -> tuple[Operation, int]:
        self.scan.skip()
        start = self.scan.position
        parts = ParsedOp(self.operation_name(), names)
        for text, directive, argument in PLANS[parts.name]:
            if text.lstrip().startswith(":"):
                self._attributes(parts)
            self.scan.expect(text)
            if directive is not None:
                directive(self, parts, argument)
        self._attributes(parts)
        if parts.sizes:
            compare_sizes(self, parts, start)
        return self.build(parts, start), start

    def _attributes(self, parts: ParsedOp) -> None:
        if self.scan.at("{"):
            parts.properties |= dictionary(self, kinds_of(OPCODES_BY_NAME[parts.name]), parts.name)

    def note(self, id: str, message: str, position: int) -> None:
        """Report a remark at a position."""
        self.remark(f"{self.scan.location(position)}: remark[{id}]: {message}")

    def operation_name(self) -> str:
        self.scan.skip()
        start = self.scan.position
        written = self.scan.keyword("the name of an operation").removeprefix(DIALECT)
        name = RENAMED.get(written, written)
        if name not in PLANS:
            self.scan.fail(f"unknown operation '{written}'", start)
        if name != written:
            self.note("asm-renamed", f"'{written}' is a former name of '{name}'", start)
        return name

    def build(self, parts: ParsedOp, start: int) -> Operation:
        row, cls = OPCODES_BY_NAME[parts.name], CLASSES[parts.name]
        groups = [parts.operands.get(operand.name, []) for operand in row.operands]
        properties = dict(parts.properties)
        if row.segmented and SEGMENTS in _option_names(cls):
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, [len(group) for group in groups])
        results = parts.result_types
        if results is None:
            named = [name for name, _ in cls.get_irdl_definition().results]
            results = [self.result_type(parts, name, start) for name in named]
        return cls.create(
            operands=[value for group in groups for value in group],
            result_types=results,
            properties=properties,
            regions=parts.regions,
        )

    def result_type(self, parts: ParsedOp, name: str, start: int) -> Attribute:
        if name in parts.types:
            return parts.types[name]
        source = SAME_TYPE.get(parts.name)
        if source is None:
            self.scan.fail(f"the type of '{name}' of {parts.name} is not known", start)
        return parts.types[source] if source in parts.types else parts.single_operand(source).type

    # Regions

    def region(self, arguments: list[tuple[str, Attribute]], implicit: type[TileOperation] | None) -> Region:
        """A region in braces; a missing terminator is ``implicit`` without operands."""
        self.scan.expect("{")
        return self.body(arguments, implicit)

    def body(self, arguments: list[tuple[str, Attribute]], implicit: type[TileOperation] | None) -> Region:
        """A region after its opening brace."""
        start, outer = self.scan.position, self.values
        if len(outer.maps) > MAX_NESTING + 1:  # the entry is one
            self.scan.fail(f"regions are nested more than {MAX_NESTING} deep", start)
        block = Block(arg_types=[type for _, type in arguments])
        self.values = outer.new_child()
        for (name, _), value in zip(arguments, block.args):
            self.define([name], [value], start)
        while not self.scan.accept("}"):
            block.add_op(self.operation())
        if implicit is not None and not isinstance(block.last_op, TERMINATORS):
            block.add_op(op := implicit.create())
            self.places[op] = start
        self.values = outer
        return Region(block)

    def arguments(self, rest: Callable[[], None] = lambda: None) -> list[tuple[str, Attribute]]:
        """``(%a: type, %b: type)``; ``rest`` parses what may follow a type."""
        self.scan.expect("(")
        found: list[tuple[str, Attribute]] = []
        while not self.scan.accept(")"):
            if found:
                self.scan.expect(",")
            name = self.scan.match(VALUE, "an argument")
            self.scan.expect(":")
            found.append((name, self.scan.type()))
            rest()
            self.locations.optional()
        return found

    def parameters(self) -> tuple[list[tuple[str, Attribute]], dict[str, Attribute]]:
        """``(%a: type {name = value}, %b: type)``, and the attributes as a property, if there are any."""
        attributes: list[DictionaryAttr] = []
        arguments = self.arguments(lambda: attributes.append(self._dictionary()))
        return arguments, {"arg_attrs": ArrayAttr(attributes)} if any(one.data for one in attributes) else {}

    def _dictionary(self) -> DictionaryAttr:
        if not self.scan.at("{"):
            return DictionaryAttr({})
        start = self.scan.position
        value = cast(DictionaryAttr, self.scan.bare_attribute())
        for key in (key for key in value.data if "." not in key):
            self.scan.fail(f"the attribute '{key}' of a parameter is not one of a dialect", start)
        return value

    # Module

    def module(self) -> builtin.ModuleOp:
        self.scan.skip_aliases()
        is_generic = self.scan.accept('"builtin.module"')
        if is_generic:
            open_module(self, {})
        around = is_generic or self._around()
        inner = self._module()
        if is_generic:
            close_module(self, {})
        elif around:
            self.scan.expect("}")
        self.locations.optional()
        self.scan.skip_aliases()
        if not self.scan.at_end():
            self.scan.fail("expected the end of the text")
        return builtin.ModuleOp([inner])

    def _around(self) -> bool:
        """``module {``: MLIR's builtin module around a module of this dialect."""
        start = self.scan.position
        if not self.scan.accept("builtin.module") and not self.scan.accept("module"):
            return False
        if self.scan.at("@"):
            self.scan.symbol()
        if self.scan.accept("attributes"):
            self.scan.balanced()
        inner = (f"{DIALECT}module", f'"{DIALECT}module"', "module")
        found = self.scan.accept("{") and any(map(self.scan.at, inner))
        self.scan.position = self.scan.position if found else start
        return found

    def _module(self) -> ModuleOp:
        self.scan.skip()
        start = self.scan.position
        is_generic = self.scan.accept(f'"{DIALECT}module"')
        wrapped = is_generic or self.scan.accept(f"{DIALECT}module") or self.scan.accept("module")
        properties = {"sym_name": StringAttr(MODULE_NAME)} | self.producer()
        if is_generic:
            properties |= open_module(self, MODULE)
        elif wrapped:
            properties |= self._module_header()
        globals_: list[Operation] = []
        entries: list[Operation] = []
        while not self._at_end(wrapped):
            op = self.item()
            (globals_ if isinstance(op, GlobalOp) else entries).append(op)
        if is_generic:
            properties |= close_module(self, MODULE)
        elif wrapped:
            self.scan.expect("}")
        self.locations.optional()
        module = ModuleOp.create(properties=properties, regions=[Region(Block([*entries, *globals_]))])
        self.places[module] = start
        return module

    def _at_end(self, wrapped: bool) -> bool:
        if not wrapped:
            self.scan.skip_aliases()
        return self.scan.at("}") if wrapped else self.scan.at_end()

    def producer(self) -> dict[str, Attribute]:
        """The producer in the comment of the first line."""
        first = self.scan.text.partition("\n")[0]
        name = first.removeprefix(PRODUCER_COMMENT)
        return {} if name == first else {"producer": StringAttr(name)}

    def _module_header(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {"sym_name": StringAttr(self.scan.symbol())}
        if self.scan.accept("attributes"):
            found |= dictionary(self, MODULE, "a module")
        self.scan.expect("{")
        return found

    def item(self) -> Operation:
        self.scan.skip()
        start = self.scan.position
        is_generic = self.scan.at('"')
        word = (self.scan.string() if is_generic else self.scan.keyword("entry or global")).removeprefix(DIALECT)
        if word == "global":
            return self._placed_global(generic_global(self, start) if is_generic else self.global_(), start)
        if word == "entry":
            return self._placed_entry(generic_entry(self, start) if is_generic else self.entry(), start)
        self.scan.fail(f"'{word}' cannot be in a module, which contains entry and global", start)

    def begin_entry(self) -> None:
        """Clear the values of the previous entry."""
        self.values = ChainMap()

    def _placed_entry(self, op: EntryOp, start: int) -> EntryOp:
        self.locations.resolve(op, self.locations.optional())
        self.places[op] = start
        return op

    def _placed_global(self, op: GlobalOp, start: int) -> GlobalOp:
        self.locations.without_scope("a global")
        self.places[op] = start
        return op

    def entry(self) -> EntryOp:
        name = self.scan.symbol()
        self.begin_entry()
        arguments, attributes = self.parameters()
        if self.scan.at("->"):
            self.scan.fail("an entry must not return values")
        hints: Attribute = OptimizationHintsAttr({})
        if self.scan.accept("optimization_hints"):
            self.scan.expect("=")
            hints = self.scan.attribute("optimization_hints")
        region = self.region(arguments, ReturnOp)
        if self.scan.at("{"):
            dictionary(self, {}, "an entry")
        signature = FunctionType.from_lists([type for _, type in arguments], [])
        return EntryOp.create(
            regions=[region],
            properties={
                "sym_name": StringAttr(name),
                "function_type": signature,
                "optimization_hints": hints,
                **attributes,
            },
        )

    def global_(self) -> GlobalOp:
        visibility = "private" if self.scan.accept("private") else "public"
        if visibility == "public":
            self.scan.accept("public")
        properties: dict[str, Attribute] = {"constant": UNIT} if self.scan.accept("constant") else {}
        properties |= {"sym_name": StringAttr(self.scan.symbol())}
        alignment = 0
        if self.scan.accept("alignment"):
            self.scan.expect("=")
            alignment = self.scan.integer()
        properties["symbol_visibility"] = SymbolVisibilityAttr.of(visibility)
        properties |= {"alignment": IntegerAttr(alignment, i64), "value": dense(self.scan)}
        return GlobalOp.create(properties=properties)

    def verify(self, module: builtin.ModuleOp) -> None:
        """Verify every operation, inner ones before outer ones; the first invalid one is reported at its position."""
        ops = list(module.walk())
        for op in sorted(ops, key=lambda op: isinstance(op, (EntryOp, ModuleOp, builtin.ModuleOp))):
            try:
                op.verify_()
            except VerifyException as problem:
                start = self.places.get(invalid_op(problem, op), 0)
                self.scan.fail(f"the text does not verify: {error_reason(problem)}", start, id="ir-invalid")

    def names(self) -> Iterator[tuple[str, str, Callable[[], Location]]]:
        """The symbols of the machine code, for ``check_names``."""
        for op, start in self.places.items():
            if isinstance(op, EntryOp | GlobalOp):
                yield NAMED_ATTRIBUTES[type(op)], op.sym_name.data, partial(self.scan.location, start)


def _option_names(cls: type[TileOperation]) -> set[str]:
    return {getattr(option, "attribute_name", "") for option in cls.get_irdl_definition().options}


def assemble(
    text: str, name: str | None = None, version: Version | None = None, remark: Remark = lambda _: None
) -> bytes:
    """The bytecode of a text, by default in DEFAULT_VERSION. Raises InvalidInput with line and column."""
    parser = TextParser(text, name, remark)
    module = _verified(parser)
    check_names(parser.names())
    for op in module.walk():
        if isinstance(hints := op.properties.get("optimization_hints"), OptimizationHintsAttr) and hints.data:
            for message in unusable(op, hints, TARGETS):
                parser.note("hint-ignored", message, parser.places[op])
    return write_module(module, version=version, locate=lambda op: parser.scan.location(parser.places.get(op, 0)))


def parse_text(text: str, name: str | None = None, remark: Remark = lambda _: None) -> builtin.ModuleOp:
    """The verified module of a text; ``name`` is the file named in errors. Raises InvalidInput with line and column."""
    return _verified(TextParser(text, name, remark))


def _verified(parser: TextParser) -> builtin.ModuleOp:
    try:
        module = parser.module()
        parser.verify(module)
    except InvalidInput:
        raise
    except Exception as problem:
        # An integer out of range or an unknown enumerator: constructors of attributes raise different exceptions.
        parser.scan.fail(f"this is not valid: {error_reason(problem)}")
    return module
