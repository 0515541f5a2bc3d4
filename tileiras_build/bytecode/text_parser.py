"""Read the public textual form of CUDA Tile IR, as ``printer.py`` prints it: the assembler's front.

Each operation is read by its row of the printer's FORMATS: a directive that prints a part has a counterpart here that
reads it into a ``Parts``; operands, attributes and flags are then put together as OPCODES says. Source locations are
read over: the text does not hold their scopes.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, field

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

from tileiras_build.bytecode.constants import float_bits, float_value
from tileiras_build.bytecode.printer import IMPLICIT, PRODUCER_COMMENT, compile_formats
from tileiras_build.bytecode.reader import CLASSES, ENUMS, MAX_NESTING, MODULE_NAME
from tileiras_build.bytecode.text_scanner import NUMBER, VALUE, Scanner, shortened
from tileiras_build.bytecode.writer import ROWS
from tileiras_build.dialects.cuda_tile.attrs import DenseConstantAttr, OptimizationHintsAttr, storage_bytes
from tileiras_build.dialects.cuda_tile.base import SEGMENTS, TileOperation, pointer_type
from tileiras_build.dialects.cuda_tile.element_types import BITS, is_float
from tileiras_build.dialects.cuda_tile.enums import RoundingModeAttr, SymbolVisibilityAttr
from tileiras_build.dialects.cuda_tile.ops_control import TERMINATORS
from tileiras_build.dialects.cuda_tile.ops_module import EntryOp, GlobalOp, ModuleOp
from tileiras_build.dialects.cuda_tile.types import TileType
from tileiras_build.dialects.mlir_text import reason
from tileiras_build.dialects.narrowing import expect
from tileiras_build.errors import InvalidInput

UNIT = UnitAttr()
MAX_RESULTS = 1 << 16


@dataclass
class Parts:
    """What has been read of one operation."""

    name: str
    results: list[str]
    operands: dict[str, list[SSAValue]] = field(default_factory=dict)
    properties: dict[str, Attribute] = field(default_factory=dict)
    types: dict[str, Attribute] = field(default_factory=dict)
    result_types: list[Attribute] | None = None
    dynamic: list[SSAValue] = field(default_factory=list)
    block_arguments: list[tuple[str, Attribute]] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    def only(self, name: str) -> SSAValue:
        return self.operands[name][0]


class TextParser:
    """Reads one text."""

    def __init__(self, text: str, name: str | None):
        self.scan = Scanner(text, name)
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
        found = []
        while self.scan.at("%"):
            found.append(self.value())
            if not self.scan.accept(","):
                break
        return found

    def define(self, names: list[str], values) -> None:
        """Name the results of an operation: one name each, or ``%name:count`` for all of them."""
        if len(names) == 1 and ":" in names[0]:
            base, count = names[0].split(":")
            if int(count) != len(values) or not values:
                self.scan.fail(f"{base} names {count} results, but there are {len(values)}")
            self.values |= {f"{base}#{index}": value for index, value in enumerate(values)}
            self.values[base] = values[0]
            return
        if len(names) > len(values) or (names and len(names) != len(values)):
            self.scan.fail(f"{len(names)} names for {len(values)} results")
        self.values |= dict(zip(names, values))

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
        """How many results one name stands for: each takes a type in the text, or a byte of bytecode."""
        start = self.scan.position
        number = self.scan.integer()
        if not 0 < number <= MAX_RESULTS:
            self.scan.fail(f"an operation has 1 to {MAX_RESULTS} results, not {number}", start)
        return number

    # Operations

    def operation(self) -> Operation:
        names = self.result_names()
        self.scan.skip()
        start = self.scan.position
        name = self.scan.word("the name of an operation").removeprefix("cuda_tile.")
        if name not in PLANS:
            self.scan.fail(f"unknown operation '{name}'", start)
        parts = Parts(name, names)
        for text, directive, argument in PLANS[name]:
            self.scan.expect(text)
            if directive is not None:
                directive(self, parts, argument)
        if self.scan.accept("loc"):
            self.scan.balanced()
        op = self.build(parts, start)
        self.places[op] = start
        self.define(names, op.results)
        return op

    def build(self, parts: Parts, start: int) -> Operation:
        row, cls = ROWS[parts.name], CLASSES[parts.name]
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

    def result_type(self, parts: Parts, name: str, start: int) -> Attribute:
        if name in parts.types:
            return parts.types[name]
        source = SAME_TYPE.get(parts.name)
        if source is None:
            self.scan.fail(f"the type of '{name}' of {parts.name} is not known", start)
        return parts.types[source] if source in parts.types else parts.only(source).type

    # Regions

    def region(self, arguments: list[tuple[str, Attribute]], implicit: type[TileOperation] | None) -> Region:
        """A region in braces; a missing terminator is ``implicit`` without operands."""
        self.scan.skip()
        start, outer = self.scan.position, self.values
        if len(outer.maps) > MAX_NESTING + 1:  # the entry is one
            self.scan.fail(f"regions are nested more than {MAX_NESTING} deep", start)
        block = Block(arg_types=[type for _, type in arguments])
        self.values = outer.new_child({name: value for (name, _), value in zip(arguments, block.args)})
        self.scan.expect("{")
        while not self.scan.accept("}"):
            block.add_op(self.operation())
        if implicit is not None and not isinstance(block.last_op, TERMINATORS):
            block.add_op(implicit.create())
        self.values = outer
        return Region(block)

    def arguments(self, rest: Callable[[], None] = lambda: None) -> list[tuple[str, Attribute]]:
        """``(%a: type, %b: type)``; ``rest`` reads what may follow a type."""
        self.scan.expect("(")
        found: list[tuple[str, Attribute]] = []
        while not self.scan.accept(")"):
            if found:
                self.scan.expect(",")
            name = self.scan.match(VALUE, "an argument")
            self.scan.expect(":")
            found.append((name, self.scan.type()))
            rest()
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
        value = expect(DictionaryAttr, self.scan.bare_attribute())
        for key in (key for key in value.data if "." not in key):
            self.scan.fail(f"the attribute '{key}' of a parameter is not one of a dialect", start)
        return value

    # Module

    def module(self) -> builtin.ModuleOp:
        wrapped = self.scan.accept("cuda_tile.module") or self.scan.accept("module")
        name = self.scan.symbol() if wrapped else MODULE_NAME
        if wrapped:
            self.scan.expect("{")
        globals_: list[Operation] = []
        entries: list[Operation] = []
        while not (self.scan.at("}") if wrapped else self.scan.at_end()):
            (globals_ if self.scan.at("global") else entries).append(self.item())
        if wrapped:
            self.scan.expect("}")
        if not self.scan.at_end():
            self.scan.fail("expected the end of the text")
        body = Region(Block([*entries, *globals_]))
        inner = ModuleOp.create(properties={"sym_name": StringAttr(name)} | self.producer(), regions=[body])
        return builtin.ModuleOp([inner])

    def producer(self) -> dict[str, Attribute]:
        """What the comment in the first line names as the program that wrote the bytecode."""
        first = self.scan.text.partition("\n")[0]
        name = first.removeprefix(PRODUCER_COMMENT)
        return {} if name == first else {"producer": StringAttr(name)}

    def item(self) -> Operation:
        if self.scan.accept("global"):
            return self.global_()
        self.scan.expect("entry")
        return self.entry()

    def entry(self) -> EntryOp:
        self.scan.skip()
        start = self.scan.position
        name, self.values = self.scan.symbol(), ChainMap()
        arguments, attributes = self.parameters()
        hints: Attribute = OptimizationHintsAttr({})
        if self.scan.accept("optimization_hints"):
            self.scan.expect("=")
            hints = self.scan.attribute("optimization_hints")
        region = self.region(arguments, None)
        if self.scan.accept("loc"):
            self.scan.balanced()
        signature = FunctionType.from_lists([type for _, type in arguments], [])
        op = EntryOp.create(
            regions=[region],
            properties={
                "sym_name": StringAttr(name),
                "function_type": signature,
                "optimization_hints": hints,
                **attributes,
            },
        )
        self.places[op] = start
        return op

    def global_(self) -> GlobalOp:
        self.scan.skip()
        start = self.scan.position
        visibility = SymbolVisibilityAttr.of("private" if self.scan.accept("private") else "public")
        properties: dict[str, Attribute] = {"constant": UNIT} if self.scan.accept("constant") else {}
        properties |= {"sym_name": StringAttr(self.scan.symbol()), "symbol_visibility": visibility}
        alignment = 0
        if self.scan.accept("alignment"):
            self.scan.expect("=")
            alignment = self.scan.integer()
        properties |= {"alignment": IntegerAttr(alignment, i64), "value": self.dense()}
        op = GlobalOp.create(properties=properties)
        self.places[op] = start
        return op

    def verify(self, module: builtin.ModuleOp) -> None:
        """Verify every operation; the first bad one is refused where it stands."""
        for op in module.walk():
            try:
                op.verify_()
            except VerifyException as problem:
                self.scan.fail(f"the text does not verify: {reason(problem)}", self.places.get(op, 0), id="ir-invalid")

    # Constants

    def dense(self) -> DenseConstantAttr:
        """``<f32: [1.0, 2.0]> : tile<2xf32>``."""
        self.scan.expect("<")
        element_type = self.scan.type()
        self.scan.expect(":")
        raw = bytes.fromhex(self.scan.string()[2:]) if self.scan.at('"') else None
        words = [] if raw is not None else self._elements(element_type)
        self.scan.expect("> :")
        self.scan.skip()
        start = self.scan.position
        type = self.scan.type()
        if not isinstance(type, TileType) or type.element_type != element_type:
            self.scan.fail(f"expected a tile of {element_type}, got {type}", start)
        return DenseConstantAttr(type, raw if raw is not None else _pack(words, type))

    def _elements(self, element_type: Attribute) -> list[int]:
        """The bits of the elements, in order; the brackets only group them."""
        words: list[int] = []
        while True:
            while self.scan.accept("[") or self.scan.accept("]") or self.scan.accept(","):
                pass
            if self.scan.at(">"):
                return words
            words.append(self.number_bits(element_type))

    def number_bits(self, type: Attribute) -> int:
        """The bit pattern of a literal of an element type."""
        self.scan.skip()
        start = self.scan.position
        text = self.scan.match(NUMBER, "a number")
        if text in ("true", "false"):
            return int(text == "true")
        if is_float(type) and "0x" not in text:
            return float_bits(float(text), type)
        if not re.fullmatch(r"-?\d+|-?0x[0-9A-Fa-f]+", text):
            self.scan.fail(f"{shortened(text)} is not an integer", start)
        number, width = int(text, 16 if "0x" in text else 10), BITS[type]
        if not -(1 << width - 1) <= number < 1 << width or (number < 0 and is_float(type)):
            self.scan.fail(f"{shortened(text)} does not fit in {type}", start)
        return number & (1 << width) - 1


def _pack(words: list[int], type: TileType) -> bytes:
    size = storage_bytes(type.element_type)
    if type.element_type == i1:
        if len(words) == 1:
            return b"\xff" if words[0] else b"\x00"
        bits = sum(bit << index for index, bit in enumerate(words))
        return bits.to_bytes((len(words) + 7) // 8, "little")
    return b"".join(word.to_bytes(size, "little") for word in words)


def _option_names(cls: type[TileOperation]) -> set[str]:
    return {getattr(option, "attribute_name", "") for option in cls.get_irdl_definition().options}


# Operations whose result has the type of an operand that the text names instead.
SAME_TYPE = {
    "assume": "value", "mmaf": "acc", "mmai": "acc", "mmaf_scaled": "acc", "fpowi": "source", "insert": "destination",
    "get_tile_block_id": "block_id_x", "get_num_tile_blocks": "grid_size_x", "memory_fence_alias_tko": "token",
}  # fmt: skip


# Directives: (parser, parts, argument) reads what the printer's directive of the same name prints.


def _value(p: TextParser, parts: Parts, name: str) -> None:
    arity = next(operand.arity for operand in ROWS[parts.name].operands if operand.name == name)
    parts.operands[name] = p.value_list() if arity == "*" else [p.value()]


def _type(p: TextParser, parts: Parts, name: str) -> None:
    p.scan.skip()
    start = p.scan.position
    parts.types[name] = type = p.scan.type()
    for value in parts.operands.get(name, ()):
        if value.type != type:
            p.scan.fail(f"'{name}' is of type {value.type}, not {type}", start)


def _more(p: TextParser, parts: Parts, name: str) -> None:
    start = p.scan.position
    if not p.scan.accept(","):
        return
    if name == "mask" and not _is_mask(p):
        p.scan.position = start  # padding without a mask
        return
    arity = next(operand.arity for operand in ROWS[parts.name].operands if operand.name == name)
    parts.operands[name] = p.value_list() if arity == "*" else [p.value()]


def _is_mask(p: TextParser) -> bool:
    start = p.scan.position
    type = p.value().type
    p.scan.position = start
    return isinstance(type, TileType) and type.element_type == i1


def _more_type(p: TextParser, parts: Parts, name: str) -> None:
    if parts.operands.get(name):
        p.scan.expect(",")
        _type(p, parts, name)


def _flag(p: TextParser, parts: Parts, name: str) -> None:
    if p.scan.accept(name):
        parts.properties[name] = UNIT


def _attribute_kind(parts: Parts, name: str) -> str:
    return next(attribute.kind for attribute in ROWS[parts.name].attributes if attribute.name == name)


def _enum(p: TextParser, parts: Parts, name: str) -> None:
    cls = ENUMS[_attribute_kind(parts, name)]
    p.scan.skip()
    start = p.scan.position
    word = p.scan.word(f"a {name}")
    if word not in [member.value for member in cls.members]:
        p.scan.fail(f"'{word}' is not a {name}; one of {', '.join(member.value for member in cls.members)}", start)
    parts.properties[name] = cls.of(word)


def _opt(p: TextParser, parts: Parts, name: str) -> None:
    if not p.scan.at("%"):
        _enum(p, parts, name)


def _integer(p: TextParser, parts: Parts, name: str) -> None:
    type = i32 if _attribute_kind(parts, name) == "i32" else i64
    parts.properties[name] = IntegerAttr(p.scan.integer(), type)


def _boolean(p: TextParser, parts: Parts, name: str) -> None:
    parts.properties[name] = IntegerAttr(int(p.scan.word("true or false") == "true"), i1)


def _string(p: TextParser, parts: Parts, name: str) -> None:
    parts.properties[name] = StringAttr(p.scan.string())


def _bracketed(p: TextParser, word: str, default: str) -> str:
    if not p.scan.accept(word):
        return default
    p.scan.expect("<")
    found = p.scan.word()
    p.scan.expect(">")
    return found


def _rounding(p: TextParser, parts: Parts, default: str) -> None:
    parts.properties["rounding_mode"] = RoundingModeAttr.of(_bracketed(p, "rounding", default))


def _division(p: TextParser, parts: Parts, _) -> None:
    parts.properties["rounding"] = RoundingModeAttr.of(_bracketed(p, "rounding", "zero"))


def _overflow(p: TextParser, parts: Parts, _) -> None:
    parts.properties["overflow"] = ENUMS["IntegerOverflow"].of(_bracketed(p, "overflow", "none"))


def _token(p: TextParser, parts: Parts, _) -> None:
    if p.scan.accept("token"):
        p.scan.expect("=")
        parts.operands["token"] = [p.value()]


def _token_operand(p: TextParser, parts: Parts, _) -> None:
    parts.operands["token"] = [p.value()]


def _hints(p: TextParser, parts: Parts, _) -> None:
    if p.scan.accept("optimization_hints"):
        p.scan.expect("=")
        parts.properties["optimization_hints"] = p.scan.attribute("optimization_hints")


def _inbounds(p: TextParser, parts: Parts, _) -> None:
    flags = [0] * len(parts.operands["index"])
    if p.scan.accept("inbounds"):
        p.scan.expect("= [")
        flags = [int(p.scan.word() == "true")]
        while p.scan.accept(","):
            flags.append(int(p.scan.word() == "true"))
        p.scan.expect("]")
    parts.properties["inbounds"] = DenseArrayBase.from_list(i1, flags)


def _reduction(p: TextParser, parts: Parts, _) -> None:
    kind = "add"
    if p.scan.accept("attributes"):
        p.scan.expect("{ reduction = # cuda_tile.multimem_reduction_kind <")
        kind = p.scan.word("a reduction")
        p.scan.expect("> }")
    parts.properties["reduction"] = ENUMS["MultimemReductionKind"].of(kind)


def _predicate(p: TextParser, parts: Parts, _) -> None:
    parts.properties["predicate"] = p.scan.attribute("")


def _dense(p: TextParser, parts: Parts, _) -> None:
    parts.properties["value"] = value = p.dense()
    parts.types["result"] = value.type


def _passed(p: TextParser, parts: Parts, _) -> None:
    parts.operands["arguments"] = p.value_list()
    parts.result_types = []
    if parts.operands["arguments"]:
        p.scan.expect(":")
        p.scan.types_list()


def _operands(p: TextParser, parts: Parts, _) -> None:
    parts.operands["arguments"] = p.value_list()


def _operand_types(p: TextParser, parts: Parts, _) -> None:
    p.scan.types_list()


def _result_types(p: TextParser, parts: Parts, _) -> None:
    parts.result_types = p.scan.types_list()


def _result_type(p: TextParser, parts: Parts, _) -> None:
    count = len(parts.results)
    if parts.results and ":" in parts.results[0]:
        count = int(parts.results[0].split(":")[1])
    parts.result_types = [p.scan.type()] * count


def _print_types(p: TextParser, parts: Parts, _) -> None:
    if p.scan.accept(":"):
        p.scan.types_list()
    parts.operands.setdefault("args", [])


def _index_types(p: TextParser, parts: Parts, _) -> None:
    while p.scan.accept(","):
        p.scan.type()


def _nothing(_parser, _parts, _) -> None:
    """The type of a token stands after those of the indices, which are read over together."""


def _integers(p: TextParser, parts: Parts, _) -> None:
    p.scan.expect("[")
    numbers = [p.scan.integer()]
    while p.scan.accept(","):
        numbers.append(p.scan.integer())
    p.scan.expect("]")
    parts.properties["permutation"] = DenseArrayBase.from_list(i32, numbers)


def _symbol(p: TextParser, parts: Parts, _) -> None:
    parts.properties["name"] = SymbolRefAttr(p.scan.symbol())


def _sizes(p: TextParser, parts: Parts, _) -> None:
    for word, group in (("shape", "dynamic_shape"), ("strides", "dynamic_strides")):
        p.scan.expect(f"{word} = [")
        parts.operands[group] = []
        while not p.scan.accept("]"):
            if p.scan.at("%"):
                parts.operands[group].append(p.value())
            else:
                p.scan.integer()  # the type says it again
            p.scan.accept(",")
        if word == "shape":
            p.scan.expect(",")


def _dynamic_type(p: TextParser, parts: Parts, _) -> None:
    if pointer_type(parts.only("base"), "base").ptr_attr:
        _type(p, parts, "base")
        if not p.scan.accept(","):
            p.scan.expect("->")
            return
    if parts.operands["dynamic_shape"] or parts.operands["dynamic_strides"]:
        p.scan.type()
        p.scan.expect("->")


def _identities(p: TextParser, parts: Parts, _) -> None:
    p.scan.expect("[")
    found = []
    while not p.scan.accept("]"):
        found.append(_identity(p))
        p.scan.accept(",")
    parts.properties["identities"] = ArrayAttr(found)


def _identity(p: TextParser) -> Attribute:
    p.scan.skip()
    start = p.scan.position
    text = p.scan.match(NUMBER, "a number")
    if text in ("true", "false"):
        return IntegerAttr(-1 if text == "true" else 0, i1)
    type = p.scan.type() if p.scan.accept(":") else i64
    if isinstance(type, IntegerType):
        return IntegerAttr(int(text, 0), type, truncate_bits=True)
    if not isinstance(type, AnyFloat):
        p.scan.fail(f"{shortened(text)} cannot be of type {type}", start)
    return FloatAttr(float_value(int(text, 16), type) if "0x" in text else float(text), type)


def _combiner(p: TextParser, parts: Parts, _) -> None:
    parts.regions.append(p.region(p.arguments(), None))


def _region(p: TextParser, parts: Parts, argument: str) -> None:
    parts.regions.append(p.region(parts.block_arguments, IMPLICIT[argument.split()[1]]))


def _else(p: TextParser, parts: Parts, _) -> None:
    parts.regions.append(p.region([], IMPLICIT["yield"]) if p.scan.accept("else") else Region())


def _if_types(p: TextParser, parts: Parts, _) -> None:
    parts.result_types = _arrow_types(p)


def _arrow_types(p: TextParser) -> list[Attribute]:
    """``-> (type, type)``, if it is next."""
    if not p.scan.accept("->"):
        return []
    p.scan.expect("(")
    types = p.scan.types_list()
    p.scan.expect(")")
    return types


def _carried(p: TextParser) -> tuple[list[str], list[SSAValue]]:
    """``iter_values(%a = %x, %b = %y)``, if it is next."""
    names, values = [], []
    if p.scan.accept("iter_values"):
        p.scan.expect("(")
        while not p.scan.accept(")"):
            names.append(p.scan.match(VALUE, "a carried value"))
            p.scan.expect("=")
            values.append(p.value())
            p.scan.accept(",")
    return names, values


def _for_header(p: TextParser, parts: Parts, _) -> None:
    if p.scan.accept("unsigned"):
        parts.properties["unsignedCmp"] = UNIT
    index = p.scan.match(VALUE, "the induction variable")
    for text, name in (("in (", "lower_bound"), ("to", "upper_bound"), (", step", "step")):
        p.scan.expect(text)
        parts.operands[name] = [p.value()]
    p.scan.expect(") :")
    type = p.scan.type()
    names, parts.operands["init_values"] = _carried(p)
    parts.result_types = types = _arrow_types(p)
    parts.block_arguments = [(index, type), *zip(names, types)]


def _loop_header(p: TextParser, parts: Parts, _) -> None:
    names, values = _carried(p)
    parts.operands["init_values"], parts.result_types = values, []
    if p.scan.accept(":"):
        first = p.scan.types_list()
        parts.result_types = first if not values else p.scan.types_list() if p.scan.accept("->") else []
    parts.block_arguments = [(name, value.type) for name, value in zip(names, values)]


DIRECTIVES: dict[str, Callable[[TextParser, Parts, str], None]] = {
    "bool": _boolean,
    "combiner": _combiner,
    "dense": _dense,
    "division": _division,
    "dynamic_type": _dynamic_type,
    "else": _else,
    "enum": _enum,
    "flag": _flag,
    "for_header": _for_header,
    "hints": _hints,
    "identities": _identities,
    "if_types": _if_types,
    "inbounds": _inbounds,
    "inbounds_word": _inbounds,
    "index_types": _index_types,
    "int": _integer,
    "loop_header": _loop_header,
    "more": _more,
    "moretype": _more_type,
    "operand_types": _operand_types,
    "operands": _operands,
    "opt": _opt,
    "overflow": _overflow,
    "passed": _passed,
    "permutation": _integers,
    "predicate": _predicate,
    "print_types": _print_types,
    "region": _region,
    "result_type": _result_type,
    "result_types": _result_types,
    "reduction": _reduction,
    "rounding": _rounding,
    "sizes": _sizes,
    "string": _string,
    "symbol": _symbol,
    "token": _token,
    "token_only": _token,
    "token_operand": _token_operand,
    "token_spaced": _token,
    "token_type": _nothing,
}


PLANS = compile_formats(DIRECTIVES, _value, _type)


def parse_text(text: str, name: str | None = None) -> builtin.ModuleOp:
    """The verified module of a text; ``name`` is the file named in errors. Raises InvalidInput with line and column."""
    parser = TextParser(text, name)
    try:
        module = parser.module()
        parser.verify(module)
    except InvalidInput:
        raise
    except Exception as problem:
        # A number out of range or a word of no enumeration: the constructors of attributes say so in their own ways.
        parser.scan.fail(f"this is not valid: {reason(problem)}")
    return module
