"""MLIR's generic syntax of the public dialect: ``%0 = "cuda_tile.addi"(%a, %b) <{overflow = ...}> : (...) -> ...``.

Attributes are parsed by their kind in OPCODES, in ``<{...}>``, in ``{...}``, and in the optional dictionary of the custom
syntax. An attribute with a dot in its name belongs to another dialect: bytecode cannot encode it, so it is dropped with
a remark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, IntegerAttr, i32, i64
from xdsl.ir import Attribute, Operation, Region

from tileiras_build.ir.bytecode.attribute_reader import ENUMS
from tileiras_build.ir.bytecode.opcodes import Opcode
from tileiras_build.ir.bytecode.parse_text_constants import dense_elements
from tileiras_build.ir.bytecode.parse_text_directives import DEFAULTS, identities
from tileiras_build.ir.bytecode.reader import CLASSES
from tileiras_build.ir.bytecode.text_parsed_op import UNIT, compare_types
from tileiras_build.ir.bytecode.writer import OPCODES_BY_NAME
from tileiras_build.ir.dialects.cuda_tile.attrs import OptimizationHintsAttr
from tileiras_build.ir.dialects.cuda_tile.enums import EnumAttr, SymbolVisibilityAttr
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GlobalOp

if TYPE_CHECKING:
    from tileiras_build.ir.bytecode.text_parser import TextParser

DIALECT = "cuda_tile."
Kinds = dict[str, str]  # of attributes, as ATTRIBUTE_KINDS has them, or "unit", "function", "dictionaries"
ENTRY: Kinds = {
    "sym_name": "string", "function_type": "function", "arg_attrs": "dictionaries", "res_attrs": "dictionaries",
    "optimization_hints": "hints",
}  # fmt: skip
GLOBAL: Kinds = {
    "sym_name": "string", "value": "dense", "alignment": "i64", "constant": "unit", "symbol_visibility": "SymbolVisibility",
}  # fmt: skip
MODULE: Kinds = {"sym_name": "string", "producer": "string"}


def kinds_of(row: Opcode) -> Kinds:
    """The attributes of an operation."""
    named = {attribute.name: attribute.kind for attribute in row.attributes}
    return {SEGMENTS: "i32s"} | dict.fromkeys(row.units, "unit") | named


# ---- attributes


def dictionary(p: TextParser, kinds: Kinds, what: str) -> dict[str, Attribute]:
    """``{name = value, flag}``: the attributes of an operation."""
    found: dict[str, Attribute] = {}
    p.scan.expect("{")
    while not p.scan.accept("}"):
        if found:
            p.scan.accept(",")
        p.scan.skip()
        start = p.scan.position
        name = p.scan.string() if p.scan.at('"') else p.scan.keyword("the name of an attribute")
        if name not in kinds and "." not in name:
            p.scan.fail(f"{what} has no attribute '{name}'", start)
        if name in found:
            p.scan.fail(f"the attribute '{name}' stands twice", start)
        found[name] = _value(p, kinds.get(name, ""), name) if p.scan.accept("=") else UNIT
        if not p.scan.at("}"):
            p.scan.expect(",")
    for name in found.keys() - kinds.keys():
        p.note("asm-attribute", f"bytecode cannot encode the attribute '{name}' of {what}; it is dropped", start)
    return {name: value for name, value in found.items() if name in kinds}


def _value(p: TextParser, kind: str, name: str) -> Attribute:
    p.scan.skip()
    start = p.scan.position
    if kind in READERS:
        return READERS[kind](p)
    value = p.scan.whole_attribute()
    members: type[EnumAttr] | None = SymbolVisibilityAttr if kind == "SymbolVisibility" else ENUMS.get(kind)
    if members is None or isinstance(value, members):
        return value
    index = value.value.data if isinstance(value, IntegerAttr) else -1
    words = [word.value for word in members.members]
    if not 0 <= index < len(words):
        p.scan.fail(f"{value} is not a '{name}'; write one of {', '.join(words)}", start)
    return members.of(words[index])


def _dense(p: TextParser) -> Attribute:
    """``dense<[1, 2]> : tile<2xi32>``: the type follows the elements, but determines their parsing."""
    p.scan.expect("dense")
    start = p.scan.position
    p.scan.balanced()
    p.scan.expect(":")
    type = p.scan.type()
    end = p.scan.position
    p.scan.position = start
    value = dense_elements(p.scan, type)
    p.scan.position = end
    return value


def _function_type(p: TextParser) -> Attribute:
    inputs, outputs = function_type(p)
    return FunctionType.from_lists(inputs, outputs)


def _hints(p: TextParser) -> Attribute:
    return p.scan.attribute("optimization_hints")


READERS: dict[str, Callable[[TextParser], Attribute]] = {
    "array": lambda p: ArrayAttr(identities(p)),
    "dense": _dense,
    "function": _function_type,
    "hints": _hints,
}


# ---- operations


def function_type(p: TextParser) -> tuple[list[Attribute], list[Attribute]]:
    """``(types) -> (types)``, or one type after the arrow."""
    inputs = _types(p)
    p.scan.expect("->")
    return inputs, _types(p) if p.scan.at("(") else [p.scan.type()]


def _types(p: TextParser) -> list[Attribute]:
    p.scan.expect("(")
    found = [] if p.scan.at(")") else p.scan.types_list()
    p.scan.expect(")")
    return found


def _attributes(p: TextParser, kinds: Kinds, what: str) -> dict[str, Attribute]:
    """``<{...}>``, if it is next."""
    if not p.scan.accept("<"):
        return {}
    found = dictionary(p, kinds, what)
    p.scan.expect(">")
    return found


def _regions(p: TextParser) -> list[Region]:
    found: list[Region] = []
    if p.scan.accept("("):
        while not p.scan.accept(")"):
            if found:
                p.scan.expect(",")
            found.append(_region(p))
    return found


def _region(p: TextParser) -> Region:
    p.scan.expect("{")
    if p.scan.accept("}"):
        return Region()
    return p.body(_label(p), None)


def _label(p: TextParser) -> list[tuple[str, Attribute]]:
    """The arguments of ``^name(%a: type):``, the label of a region's only block; none without one."""
    if not p.scan.accept("^"):
        return []
    p.scan.match(p.scan.LABEL, "the label of a block")
    arguments = p.arguments() if p.scan.at("(") else []
    p.scan.expect(":")
    return arguments


def generic_operation(p: TextParser) -> tuple[Operation, int]:
    """An operation from its quoted name on, and the position of the name."""
    p.scan.skip()
    start = p.scan.position
    name = p.scan.string()
    row = OPCODES_BY_NAME.get(name.removeprefix(DIALECT)) if name.startswith(DIALECT) else None
    if row is None:
        p.scan.fail(f"unknown operation '{name}'", start)
    p.scan.expect("(")
    operands = p.value_list()
    p.scan.expect(")")
    properties = DEFAULTS.get(row.name, {}) | _attributes(p, kinds_of(row), name)
    regions = _regions(p)
    if p.scan.at("{"):
        properties |= dictionary(p, kinds_of(row), name)
    p.scan.expect(":")
    p.scan.skip()
    types_start = p.scan.position
    inputs, outputs = function_type(p)
    compare_types(p, operands, inputs, types_start)
    if row.segmented:
        _check_segments(p, row, properties, len(operands), start)
    op = CLASSES[row.name].create(operands=operands, result_types=outputs, properties=properties, regions=regions)
    return op, start


def _check_segments(p: TextParser, row: Opcode, properties: dict[str, Attribute], count: int, start: int) -> None:
    sizes = properties.get(SEGMENTS)
    if not isinstance(sizes, DenseArrayBase):
        p.scan.fail(f"{row.name} needs '{SEGMENTS}', the size of each operand group", start)
    group_sizes = [int(size) for size in sizes.get_values()]
    limits = {"1": (1, 1), "?": (0, 1), "*": (0, count)}
    fits = len(group_sizes) == len(row.operands) and sum(group_sizes) == count
    if not fits or any(
        not limits[operand.arity][0] <= size <= limits[operand.arity][1]
        for operand, size in zip(row.operands, group_sizes)
    ):
        p.scan.fail(f"'{SEGMENTS}' = {group_sizes} does not fit the {count} operands of {row.name}", start)
    properties[SEGMENTS] = DenseArrayBase.from_list(i32, group_sizes)


# ---- contents of a module


def generic_entry(p: TextParser, start: int) -> EntryOp:
    """``"cuda_tile.entry"``, after its name."""
    p.scan.expect("( )")
    properties = _attributes(p, ENTRY, "an entry")
    p.begin_entry()
    regions = _regions(p)
    if p.scan.at("{"):
        properties |= dictionary(p, ENTRY, "an entry")
    p.scan.expect(":")
    function_type(p)
    attributes = properties.get("arg_attrs")
    if isinstance(attributes, ArrayAttr) and not any(
        isinstance(one, DictionaryAttr) and one.data for one in attributes
    ):
        del properties["arg_attrs"]
    properties.setdefault("optimization_hints", OptimizationHintsAttr({}))
    op = EntryOp.create(regions=regions, properties=properties)
    _require(p, op, ("sym_name", "function_type"), start)
    if not regions or not regions[0].blocks:
        p.scan.fail("an entry needs a body", start)
    return op


def generic_global(p: TextParser, start: int) -> GlobalOp:
    """``"cuda_tile.global"``, after its name."""
    p.scan.expect("( )")
    properties: dict[str, Attribute] = {
        "symbol_visibility": SymbolVisibilityAttr.of("public"), "alignment": IntegerAttr(0, i64),
    }  # fmt: skip
    properties |= _attributes(p, GLOBAL, "a global")
    if p.scan.at("{"):
        properties |= dictionary(p, GLOBAL, "a global")
    p.scan.expect(":")
    function_type(p)
    op = GlobalOp.create(properties=properties)
    _require(p, op, ("sym_name", "value"), start)
    return op


def _require(p: TextParser, op: Operation, names: tuple[str, ...], start: int) -> None:
    for name in names:
        if name not in op.properties:
            p.scan.fail(f"{op.name} lacks the attribute '{name}'", start)


def open_module(p: TextParser, kinds: Kinds) -> dict[str, Attribute]:
    """``"cuda_tile.module"() <{...}> ({``: the attributes of a module whose contents are next."""
    p.scan.expect("( )")
    properties = _attributes(p, kinds, "a module")
    p.scan.expect("( {")
    _label(p)
    return properties


def close_module(p: TextParser, kinds: Kinds) -> dict[str, Attribute]:
    """The end of a module; its attributes may be there."""
    p.scan.expect("} )")
    properties = dictionary(p, kinds, "a module") if p.scan.at("{") else {}
    p.scan.expect(":")
    function_type(p)
    return properties
