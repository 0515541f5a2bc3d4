"""Parsers of the directives of FORMATS: each parses a part of an operation into a ``ParsedOp``, and checks it.

A directive is called with (parser, parts, argument) and parses what the printer's directive of the same name prints. Types
that repeat those of operands are compared with them, and repeated sizes with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from tileiras_build.ir.bytecode.attribute_reader import ENUMS
from tileiras_build.ir.bytecode.float_bits import float_value
from tileiras_build.ir.bytecode.op_assembly_formats import Step, compile_formats
from tileiras_build.ir.bytecode.parse_text_constants import bits_of, dense
from tileiras_build.ir.bytecode.text_control_flow import CONTROL
from tileiras_build.ir.bytecode.text_parsed_op import UNIT, ParsedOp, compare_types, same_types
from tileiras_build.ir.bytecode.text_scanner import NUMBER, shortened
from tileiras_build.ir.bytecode.writer import OPCODES_BY_NAME
from tileiras_build.ir.dialects.checked_cast import cast
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS
from tileiras_build.ir.dialects.cuda_tile.enums import EnumAttr, RoundingModeAttr
from tileiras_build.ir.dialects.cuda_tile.op_base import pointer_type
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN, Dims, TensorViewType, TileType
from tileiras_build.ir.dialects.cuda_tile.view_types import GatherScatterViewType, PartitionViewType, StridedViewType

if TYPE_CHECKING:
    from tileiras_build.ir.bytecode.text_parser import TextParser

MADE_VIEWS: dict[str, type[Attribute]] = {
    "make_tensor_view": TensorViewType,
    "make_partition_view": PartitionViewType,
    "make_strided_view": StridedViewType,
    "make_gather_scatter_view": GatherScatterViewType,
}
BOOLEANS = ("true", "false")


def _value(p: TextParser, parts: ParsedOp, name: str) -> None:
    arity = next(operand.arity for operand in OPCODES_BY_NAME[parts.name].operands if operand.name == name)
    parts.operands[name] = p.value_list() if arity == "*" else [p.value()]


def _type(p: TextParser, parts: ParsedOp, name: str) -> None:
    p.scan.skip()
    start = p.scan.position
    parts.types[name] = type = p.scan.type()
    if name == "result" and not isinstance(type, MADE_VIEWS.get(parts.name, Attribute)):
        p.scan.fail(f"{parts.name} makes a {parts.name.removeprefix('make_')}, not {type}", start)
    for value in parts.operands.get(name, ()):
        if value.type != type:
            p.scan.fail(f"'{name}' is of type {value.type}, not {type}", start)


def _optional_operand(p: TextParser, parts: ParsedOp, name: str) -> None:
    start = p.scan.position
    if not p.scan.accept(","):
        return
    if name == "mask" and not _starts_mask(p):
        p.scan.position = start  # padding without a mask
        return
    arity = next(operand.arity for operand in OPCODES_BY_NAME[parts.name].operands if operand.name == name)
    parts.operands[name] = p.value_list() if arity == "*" else [p.value()]


def _starts_mask(p: TextParser) -> bool:
    start = p.scan.position
    type = p.value().type
    p.scan.position = start
    return isinstance(type, TileType) and type.element_type == i1


def _optional_operand_type(p: TextParser, parts: ParsedOp, name: str) -> None:
    if parts.operands.get(name):
        p.scan.expect(",")
        _type(p, parts, name)


def _one_of(p: TextParser, what: str, words: Iterable[str]) -> str:
    """The next keyword, one of ``words``."""
    p.scan.skip()
    start, known = p.scan.position, list(words)
    word = p.scan.keyword(f"a {what}: {', '.join(known)}")
    if word not in known:
        p.scan.fail(f"'{word}' is not a {what}; one of {', '.join(known)}", start)
    return word


def _member(p: TextParser, what: str, cls: type[EnumAttr]) -> EnumAttr:
    return cls.of(_one_of(p, what, (member.value for member in cls.members)))


def _flag(p: TextParser, parts: ParsedOp, name: str) -> None:
    if p.scan.accept(name):
        parts.properties[name] = UNIT


def _attribute_kind(parts: ParsedOp, name: str) -> str:
    return next(attribute.kind for attribute in OPCODES_BY_NAME[parts.name].attributes if attribute.name == name)


def _enum(p: TextParser, parts: ParsedOp, name: str) -> None:
    parts.properties[name] = _member(p, name, ENUMS[_attribute_kind(parts, name)])


def _opt(p: TextParser, parts: ParsedOp, name: str) -> None:
    if not p.scan.at("%"):
        _enum(p, parts, name)


def _integer(p: TextParser, parts: ParsedOp, name: str) -> None:
    type = i32 if _attribute_kind(parts, name) == "i32" else i64
    parts.properties[name] = IntegerAttr(p.scan.integer(type.width.data), type)


def _boolean(p: TextParser, parts: ParsedOp, name: str) -> None:
    parts.properties[name] = IntegerAttr(int(_one_of(p, name, BOOLEANS) == "true"), i1)


def _string(p: TextParser, parts: ParsedOp, name: str) -> None:
    parts.properties[name] = StringAttr(p.scan.string())


def _bracketed(p: TextParser, word: str, cls: type[EnumAttr], default: str) -> EnumAttr:
    """``word<member>``, or the default if it is not next."""
    if not p.scan.accept(word):
        return cls.of(default)
    p.scan.expect("<")
    found = _member(p, word, cls)
    p.scan.expect(">")
    return found


def _rounding(p: TextParser, parts: ParsedOp, default: str) -> None:
    parts.properties["rounding_mode"] = _bracketed(p, "rounding", RoundingModeAttr, default)


def _division(p: TextParser, parts: ParsedOp, _) -> None:
    parts.properties["rounding"] = _bracketed(p, "rounding", RoundingModeAttr, "zero")


def _overflow(p: TextParser, parts: ParsedOp, _) -> None:
    parts.properties["overflow"] = _bracketed(p, "overflow", ENUMS["IntegerOverflow"], "none")


def _token(p: TextParser, parts: ParsedOp, _) -> None:
    if p.scan.accept("token"):
        p.scan.expect("=")
        parts.operands["token"] = [p.value()]


def _token_operand(p: TextParser, parts: ParsedOp, _) -> None:
    parts.operands["token"] = [p.value()]


def _hints(p: TextParser, parts: ParsedOp, _) -> None:
    if p.scan.accept("optimization_hints"):
        p.scan.expect("=")
        parts.properties["optimization_hints"] = p.scan.attribute("optimization_hints")


def _inbounds(p: TextParser, parts: ParsedOp, _) -> None:
    count = len(parts.operands["index"])
    flags = [0] * count
    if p.scan.accept("inbounds"):
        p.scan.expect("= [")
        start = p.scan.position
        flags = [int(_one_of(p, "flag", BOOLEANS) == "true")]
        while p.scan.accept(","):
            flags.append(int(_one_of(p, "flag", BOOLEANS) == "true"))
        p.scan.expect("]")
        if len(flags) != count:
            p.scan.fail(f"{len(flags)} flags for {count} indices", start)
    parts.properties["inbounds"] = DenseArrayBase.from_list(i1, flags)


def _reduction(p: TextParser, parts: ParsedOp, _) -> None:
    cls = ENUMS["MultimemReductionKind"]
    kind = cls.of("add")
    if p.scan.accept("attributes"):
        p.scan.expect("{ reduction = # cuda_tile.multimem_reduction_kind <")
        kind = _member(p, "reduction", cls)
        p.scan.expect("> }")
    parts.properties["reduction"] = kind


def _predicate(p: TextParser, parts: ParsedOp, _) -> None:
    parts.properties["predicate"] = p.scan.attribute("")


def _dense(p: TextParser, parts: ParsedOp, _) -> None:
    parts.properties["value"] = value = dense(p.scan)
    parts.types["result"] = value.type


def _operands(p: TextParser, parts: ParsedOp, _) -> None:
    parts.operands["arguments"] = p.value_list()


def _operand_types(p: TextParser, parts: ParsedOp, _) -> None:
    same_types(p, parts.operands["arguments"])


def _result_types(p: TextParser, parts: ParsedOp, _) -> None:
    parts.result_types = p.scan.types_list()


def _result_type(p: TextParser, parts: ParsedOp, _) -> None:
    count = len(parts.results)
    if parts.results and ":" in parts.results[0]:
        count = int(parts.results[0].split(":")[1])
    parts.result_types = [p.scan.type()] * count


def _print_types(p: TextParser, parts: ParsedOp, _) -> None:
    values = parts.operands.setdefault("args", [])
    if p.scan.accept(":"):
        same_types(p, values)
    elif values:
        p.scan.fail("expected ':' and the types of what is printed")


def _index_types(p: TextParser, parts: ParsedOp, _) -> None:
    """The types of the indices, or one for all; the token type may follow."""
    values = parts.operands["index"]
    if values:
        p.scan.expect(",")
    p.scan.skip()
    start = p.scan.position
    types = p.scan.types_list() if values or p.scan.accept(",") else []
    tokens = parts.operands.get("token", []) if types and types[-1] == TOKEN else []
    types = types[: len(types) - len(tokens)]
    compare_types(p, values, types * len(values) if len(types) == 1 else types, start)


def _nothing(_parser, _parts, _) -> None:
    """Nothing: the token type was parsed with those of the indices."""


def _integers(p: TextParser, parts: ParsedOp, _) -> None:
    p.scan.expect("[")
    dims = [] if p.scan.at("]") else [p.scan.integer(32)]
    while dims and p.scan.accept(","):
        dims.append(p.scan.integer(32))
    p.scan.expect("]")
    parts.properties["permutation"] = DenseArrayBase.from_list(i32, dims)


def _symbol(p: TextParser, parts: ParsedOp, _) -> None:
    parts.properties["name"] = SymbolRefAttr(p.scan.symbol())


def _sizes(p: TextParser, parts: ParsedOp, _) -> None:
    for word, group in (("shape", "dynamic_shape"), ("strides", "dynamic_strides")):
        p.scan.expect(f"{word} = [")
        values: list[SSAValue] = []
        parts.sizes[word] = _mixed(p, values)
        parts.operands[group] = values
        if word == "shape":
            p.scan.expect(",")


def _mixed(p: TextParser, values: list[SSAValue]) -> Dims:
    """Integers and SSA values up to the closing bracket: None for each value, which is added to ``values``."""
    found: list[int | None] = []
    while not p.scan.accept("]"):
        if found:
            p.scan.expect(",")
        if p.scan.at("%"):
            values.append(p.value())
            found.append(None)
        else:
            found.append(p.scan.integer())
    return tuple(found)


def compare_sizes(p: TextParser, parts: ParsedOp, start: int) -> None:
    """Reject sizes of a view that differ from those of its type."""
    view = cast(TensorViewType, parts.types["result"])
    for word, dims in (("shape", view.shape), ("strides", view.strides)):
        sizes = parts.sizes[word]
        if len(sizes) != len(dims):
            p.scan.fail(f"the {word} has {len(sizes)} entries, that of the type {len(dims)}", start)
        for index, pair in enumerate(zip(sizes, dims)):
            if pair[0] != pair[1]:
                found, expected = ("dynamic" if size is None else str(size) for size in pair)
                p.scan.fail(f"entry {index} of the {word} is {found}, that of the type {expected}", start)


def _dynamic_type(p: TextParser, parts: ParsedOp, _) -> None:
    if pointer_type(parts.single_operand("base"), "base").ptr_attr:
        _type(p, parts, "base")
        if not p.scan.accept(","):
            p.scan.expect("->")
            return
    values = [*parts.operands["dynamic_shape"], *parts.operands["dynamic_strides"]]
    if values:
        p.scan.skip()
        start = p.scan.position
        type = p.scan.type()
        p.scan.expect("->")
        compare_types(p, values, [type] * len(values), start)


def _identities(p: TextParser, parts: ParsedOp, _) -> None:
    parts.properties["identities"] = ArrayAttr(identities(p))


def identities(p: TextParser) -> list[Attribute]:
    """``[0.0 : f32, 1]``."""
    p.scan.expect("[")
    found: list[Attribute] = []
    while not p.scan.accept("]"):
        if found:
            p.scan.expect(",")
        found.append(_identity(p))
    return found


def _identity(p: TextParser) -> Attribute:
    p.scan.skip()
    start = p.scan.position
    text = p.scan.match(NUMBER, "a number")
    default = i1 if text in BOOLEANS else i64
    type = p.scan.type() if p.scan.accept(":") else default
    if type not in BITS:
        p.scan.fail(f"{shortened(text)} cannot be of type {type}", start)
    bits = bits_of(p.scan, text, type, start)
    if isinstance(type, AnyFloat):
        return FloatAttr(float_value(bits, type), type)
    return IntegerAttr(bits, cast(IntegerType, type), truncate_bits=True)


DIRECTIVES: dict[str, Callable[[TextParser, ParsedOp, str], None]] = {
    **CONTROL,
    "bool": _boolean,
    "dense": _dense,
    "division": _division,
    "dynamic_type": _dynamic_type,
    "enum": _enum,
    "flag": _flag,
    "hints": _hints,
    "identities": _identities,
    "inbounds": _inbounds,
    "inbounds_word": _inbounds,
    "index_types": _index_types,
    "int": _integer,
    "more": _optional_operand,
    "moretype": _optional_operand_type,
    "operand_types": _operand_types,
    "operands": _operands,
    "opt": _opt,
    "overflow": _overflow,
    "permutation": _integers,
    "predicate": _predicate,
    "print_types": _print_types,
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


def _defaults(plan: Iterable[Step]) -> dict[str, Attribute]:
    """Default attributes of an operation whose text omits them."""
    found: dict[str, Attribute] = {}
    for _, directive, argument in plan:
        if directive is _rounding:
            found["rounding_mode"] = RoundingModeAttr.of(argument)
        elif directive is _division:
            found["rounding"] = RoundingModeAttr.of("zero")
        elif directive is _overflow:
            found["overflow"] = ENUMS["IntegerOverflow"].of("none")
        elif directive is _reduction:
            found["reduction"] = ENUMS["MultimemReductionKind"].of("add")
    return found


DEFAULTS = {name: _defaults(plan) for name, plan in PLANS.items()}
