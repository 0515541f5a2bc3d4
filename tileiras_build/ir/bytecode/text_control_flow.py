"""Parsers of the control-flow directives: regions, loop-carried values, operands of terminators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Region, SSAValue

from tileiras_build.ir.bytecode.printer import IMPLICIT
from tileiras_build.ir.bytecode.text_parsed_op import UNIT, ParsedOp, compare_types, same_types
from tileiras_build.ir.bytecode.text_scanner import VALUE

if TYPE_CHECKING:
    from tileiras_build.ir.bytecode.text_parser import TextParser


def _terminator_operands(p: TextParser, parts: ParsedOp, _) -> None:
    parts.operands["arguments"] = p.value_list()
    parts.result_types = []
    if parts.operands["arguments"]:
        p.scan.expect(":")
        same_types(p, parts.operands["arguments"])


def _combiner(p: TextParser, parts: ParsedOp, _) -> None:
    parts.regions.append(p.region(p.arguments(), None))


def _region(p: TextParser, parts: ParsedOp, argument: str) -> None:
    parts.regions.append(p.region(parts.block_arguments, IMPLICIT[argument.split()[1]]))


def _else(p: TextParser, parts: ParsedOp, _) -> None:
    parts.regions.append(p.region([], IMPLICIT["yield"]) if p.scan.accept("else") else Region())


def _if_types(p: TextParser, parts: ParsedOp, _) -> None:
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
    names: list[str] = []
    values: list[SSAValue] = []
    if p.scan.accept("iter_values"):
        p.scan.expect("(")
        while not p.scan.accept(")"):
            if names:
                p.scan.expect(",")
            names.append(p.scan.match(VALUE, "a carried value"))
            p.scan.expect("=")
            values.append(p.value())
    return names, values


def _for_header(p: TextParser, parts: ParsedOp, _) -> None:
    if p.scan.accept("unsigned"):
        parts.properties["unsignedCmp"] = UNIT
    index = p.scan.match(VALUE, "the induction variable")
    for text, name in (("in (", "lower_bound"), ("to", "upper_bound"), (", step", "step")):
        p.scan.expect(text)
        parts.operands[name] = [p.value()]
    p.scan.expect(") :")
    p.scan.skip()
    start = p.scan.position
    type = p.scan.type()
    bounds = [parts.single_operand(name) for name in ("lower_bound", "upper_bound", "step")]
    compare_types(p, bounds, [type] * len(bounds), start)
    names, values = _carried(p)
    parts.operands["init_values"] = values
    p.scan.skip()
    start = p.scan.position
    parts.result_types = types = _arrow_types(p)
    compare_types(p, values, types, start)
    parts.block_arguments = [(index, type), *zip(names, types)]


def _loop_header(p: TextParser, parts: ParsedOp, _) -> None:
    names, values = _carried(p)
    parts.operands["init_values"], parts.result_types = values, []
    if p.scan.accept(":"):
        if values:
            same_types(p, values)
        parts.result_types = p.scan.types_list() if not values or p.scan.accept("->") else []
    parts.block_arguments = [(name, value.type) for name, value in zip(names, values)]


CONTROL: dict[str, Callable[[TextParser, ParsedOp, str], None]] = {
    "combiner": _combiner,
    "else": _else,
    "for_header": _for_header,
    "if_types": _if_types,
    "loop_header": _loop_header,
    "passed": _terminator_operands,
    "region": _region,
}
