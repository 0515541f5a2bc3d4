"""Print a module in the public textual form of CUDA Tile IR, as NVIDIA's tileirdisasm does.

``disassemble`` is the disassembler; ``print_module`` prints a module of ``read_module``. The text of each
operation is a row of FORMATS, whose directives are the functions of DIRECTIVES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import builtin
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr
from xdsl.ir import Operation, Region, SSAValue

from tileiras_build.ir.bytecode.attribute_text import (
    TypeNames,
    constant_text,
    identity_text,
    location_text,
    parameter_attributes,
    symbol,
)
from tileiras_build.ir.bytecode.op_assembly_formats import compile_formats
from tileiras_build.ir.bytecode.reader import Reader, verify
from tileiras_build.ir.bytecode.ssa_names import Names
from tileiras_build.ir.bytecode.text_budget import Budget
from tileiras_build.ir.dialects.checked_cast import cast
from tileiras_build.ir.dialects.checked_mlir_parser import escape
from tileiras_build.ir.dialects.cuda_tile.attrs import OptimizationHintsAttr
from tileiras_build.ir.dialects.cuda_tile.enums import EnumAttr, MultimemReductionKind, RoundingMode, SymbolVisibility
from tileiras_build.ir.dialects.cuda_tile.location import LOC
from tileiras_build.ir.dialects.cuda_tile.op_base import TileOperation, pointer_type
from tileiras_build.ir.dialects.cuda_tile.ops_control import ContinueOp, ForOp, IfOp, LoopOp, YieldOp
from tileiras_build.ir.dialects.cuda_tile.ops_make_view import MakeTensorViewOp
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GetGlobalOp, GlobalOp, ModuleOp
from tileiras_build.ir.dialects.cuda_tile.ops_reduce import Aggregate
from tileiras_build.ir.dialects.cuda_tile.ops_shape import AssumeOp, ConstantOp, PermuteOp
from tileiras_build.ir.dialects.cuda_tile.types import Dims

# Characters of text for each byte of bytecode; shorter text is always accepted.
TEXT_PER_BYTE, SHORT_TEXT = 256, 1 << 22
PRODUCER_COMMENT = "// Producer: "


class EntryPrinter:
    """Prints one entry."""

    def __init__(self, types: TypeNames, locations: bool, budget: Budget | None = None):
        self.types, self.locations, self.budget = types, locations, budget or Budget()
        self.location_texts: dict[int, str] = {}
        self.lines: list[str] = []
        self.names: Names

    # Parts

    def values(self, values: Iterable[SSAValue]) -> str:
        return ", ".join(self.names[value] for value in values)

    def types_of(self, values: Iterable[SSAValue]) -> str:
        return ", ".join(self.types[value.type] for value in values)

    def location(self, op: Operation) -> str:
        if not self.locations:
            return ""
        loc = op.attributes.get(LOC)
        # Most are shared objects, and call chains may be long.
        if id(loc) not in self.location_texts:
            self.location_texts[id(loc)] = f" {location_text(loc)}"
        return self.location_texts[id(loc)]

    def region(self, region: Region, indent: str, implicit: type[TileOperation] | None) -> str:
        """A region in braces; a terminator of class ``implicit`` without operands is not written."""
        parts = ["{\n"]
        block = region.block
        for op in block.ops:
            if implicit is not None and isinstance(op, implicit) and op is block.last_op and not op.operands:
                break
            parts.append(self.operation(op, indent + "  "))
        parts.append(f"{indent}}}")
        return "".join(parts)

    def operation(self, op: Operation, indent: str) -> str:
        results = self.names.of_results(op)
        left = f"{results} = " if results else ""
        before = self.budget.spent
        text = self.body(op, indent)
        mnemonic = op.name.removeprefix("cuda_tile.")
        line = f"{indent}{left}{mnemonic}{' ' if text else ''}{text}{self.location(op)}\n"
        inside = self.budget.spent - before
        self.budget.spend(len(line) - inside, op)
        return line

    def body(self, op: Operation, indent: str) -> str:
        parts = []
        for text, directive, argument in TEMPLATES[op.name.removeprefix("cuda_tile.")]:
            parts.append(text)
            if directive is not None:
                parts.append(directive(self, op, argument, indent))
        return "".join(parts)

    def entry(self, op: EntryOp) -> str:
        self.names = Names(op)
        arguments = ", ".join(
            f"{self.names[argument]}: {self.types[argument.type]}{attributes}"
            for argument, attributes in zip(op.body.block.args, parameter_attributes(op))
        )
        hints = op.optimization_hints
        shown = f" optimization_hints={hints.text()}" if hints is not None and hints.data else ""
        body = self.region(op.body, "", None)
        return f"entry {symbol(op.sym_name.data)}({arguments}){shown} {body}{self.location(op)}\n"


# Directives: (printer, operation, argument, indentation) -> text


def _group(op: Operation, name: str) -> Sequence[SSAValue]:
    """The operands or results of a group, by the accessor of the operation's class."""
    value = getattr(op, name)
    return () if value is None else (value,) if isinstance(value, SSAValue) else value


def _value(printer: EntryPrinter, op: Operation, name: str, _) -> str:
    return printer.values(_group(op, name))


def _type(printer: EntryPrinter, op: Operation, name: str, _) -> str:
    return printer.types[_group(op, name)[0].type]


def _optional_operand(printer: EntryPrinter, op: Operation, name: str, _) -> str:
    return "".join(f", {printer.names[value]}" for value in _group(op, name))


def _optional_operand_type(printer: EntryPrinter, op: Operation, name: str, _) -> str:
    return "".join(f", {printer.types[value.type]}" for value in _group(op, name))


def _flag(_printer, op: Operation, name: str, _) -> str:
    return f" {name}" if name in op.properties else ""


def _keyword(op: Operation, name: str) -> str:
    return cast(EnumAttr, op.properties[name]).data.value


def _enum(_printer, op: Operation, name: str, _) -> str:
    return _keyword(op, name)


def _opt(_printer, op: Operation, name: str, _) -> str:
    return f" {_keyword(op, name)}" if name in op.properties else ""


def _int_attribute(op: Operation, name: str) -> int:
    return cast(IntegerAttr, op.properties[name]).value.data


def _integer(_printer, op: Operation, name: str, _) -> str:
    return str(_int_attribute(op, name))


def _boolean(_printer, op: Operation, name: str, _) -> str:
    return str(bool(_int_attribute(op, name))).lower()


def _string(_printer, op: Operation, name: str, _) -> str:
    return escape(cast(StringAttr, op.properties[name]).data)


def _rounding(_printer, op: Operation, default: str, _) -> str:
    mode = _keyword(op, "rounding_mode")
    return "" if mode == default else f"rounding<{mode}>"


def _division(_printer, op: Operation, *_) -> str:
    mode = _keyword(op, "rounding")
    return "" if mode == RoundingMode.ZERO else f" rounding<{mode}>"


def _overflow(_printer, op: Operation, *_) -> str:
    mode = _keyword(op, "overflow")
    return "" if mode == "none" else f" overflow<{mode}>"


def _token(printer: EntryPrinter, op: Operation, *_) -> str:
    return "".join(f" token={printer.names[token]}" for token in _group(op, "token"))


def _token_spaced(printer: EntryPrinter, op: Operation, *_) -> str:
    return "".join(f" token = {printer.names[token]}" for token in _group(op, "token"))


def _token_only(printer: EntryPrinter, op: Operation, *_) -> str:
    return "".join(f"token = {printer.names[token]} " for token in _group(op, "token"))


def _token_type(printer: EntryPrinter, op: Operation, *_) -> str:
    return _optional_operand_type(printer, op, "token", "")


def _token_operand(printer: EntryPrinter, op: Operation, *_) -> str:
    return _value(printer, op, "token", "")


def _hints(_printer, op: Operation, *_) -> str:
    hints = op.properties.get("optimization_hints")
    return "" if hints is None else f" optimization_hints = {cast(OptimizationHintsAttr, hints).text()}"


def _inbounds(printer: EntryPrinter, op: Operation, *_) -> str:
    word = _inbounds_keyword(printer, op)
    return f" {word}" if word else ""


def _inbounds_keyword(_printer, op: Operation, *_) -> str:
    found = op.properties.get("inbounds")
    flags = () if found is None else cast(DenseArrayBase, found).get_values()
    return f"inbounds = [{', '.join(str(bool(flag)).lower() for flag in flags)}]" if any(flags) else ""


def _reduction(_printer, op: Operation, *_) -> str:
    """The kind of reduction, unless it is the default: MLIR prints it in the attribute dictionary."""
    is_default = _keyword(op, "reduction") == MultimemReductionKind.ADD
    return "" if is_default else f" attributes {{reduction = {op.properties['reduction']}}}"


def _predicate(_printer, op: Operation, *_) -> str:
    return cast(AssumeOp, op).assumption().text()


def _dense_constant(printer: EntryPrinter, op: Operation, *_) -> str:
    return constant_text(cast(ConstantOp, op).value, printer.types)


def _terminator_operands(printer: EntryPrinter, op: Operation, *_) -> str:
    return f"{printer.values(op.operands)} : {printer.types_of(op.operands)}" if op.operands else ""


def _operands(printer: EntryPrinter, op: Operation, *_) -> str:
    return printer.values(op.operands)


def _operand_types(printer: EntryPrinter, op: Operation, *_) -> str:
    return printer.types_of(op.operands)


def _result_types(printer: EntryPrinter, op: Operation, *_) -> str:
    return printer.types_of(op.results)


def _result_type(printer: EntryPrinter, op: Operation, *_) -> str:
    return printer.types[op.results[0].type] if op.results else ""


def _print_types(printer: EntryPrinter, op: Operation, *_) -> str:
    arguments = _group(op, "args")
    return f" : {printer.types_of(arguments)}" if arguments else ""


def _index_types(printer: EntryPrinter, op: Operation, *_) -> str:
    types = [printer.types[index.type] for index in _group(op, "index")]
    return "".join(f", {type}" for type in (types[:1] if len(set(types)) == 1 else types))


def _permutation(_printer, op: Operation, *_) -> str:
    return f"[{', '.join(map(str, cast(PermuteOp, op).permutation.get_values()))}]"


def _symbol(_printer, op: Operation, *_) -> str:
    return symbol(cast(GetGlobalOp, op).symbol.root_reference.data)


def _sizes(printer: EntryPrinter, op: Operation, *_) -> str:
    def mixed(dims: Dims, values: Sequence[SSAValue]) -> str:
        dynamic = iter(values)
        return ", ".join(printer.names[next(dynamic)] if dim is None else str(dim) for dim in dims)

    made = cast(MakeTensorViewOp, op)
    view = made.tensor_view()
    return f"shape = [{mixed(view.shape, made.dynamic_shape)}], strides = [{mixed(view.strides, made.dynamic_strides)}]"


def _dynamic_type(printer: EntryPrinter, op: Operation, *_) -> str:
    """The type of the base if it has an attribute, and of the dynamic sizes and strides."""
    base = cast(MakeTensorViewOp, op).base
    named = [base] if pointer_type(base, "base").ptr_attr else []
    types = printer.types_of([*named, *op.operands[1:2]])
    return f"{types} -> " if types else ""


def _identities(printer: EntryPrinter, op: Operation, *_) -> str:
    return f"[{', '.join(identity_text(value, printer.types) for value in cast(Aggregate, op).identities.data)}]"


def _combiner(printer: EntryPrinter, op: Operation, _, indent: str) -> str:
    body = cast(Aggregate, op).body
    arguments = ", ".join(f"{printer.names[value]}: {printer.types[value.type]}" for value in body.block.args)
    return f"\n{indent}({arguments}) {printer.region(body, indent, None)}"


IMPLICIT: dict[str, type[TileOperation]] = {"continue": ContinueOp, "yield": YieldOp}


def _region(printer: EntryPrinter, op: Operation, argument: str, indent: str) -> str:
    index, implicit = argument.split()
    return printer.region(op.regions[int(index)], indent, IMPLICIT[implicit])


def _else(printer: EntryPrinter, op: Operation, _, indent: str) -> str:
    region = cast(IfOp, op).else_region
    return f" else {printer.region(region, indent, YieldOp)}" if region.blocks else ""


def _if_types(printer: EntryPrinter, op: Operation, *_) -> str:
    return f" -> ({printer.types_of(op.results)})" if op.results else ""


def _carried(printer: EntryPrinter, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> str:
    pairs = (f"{printer.names[argument]} = {printer.names[value]}" for argument, value in zip(arguments, values))
    return f"iter_values({', '.join(pairs)}) "


def _for_header(printer: EntryPrinter, op: Operation, *_) -> str:
    loop = cast(ForOp, op)
    index, *arguments = loop.region.block.args
    lower, upper, step, *values = loop.operands
    unsigned = "unsigned " if loop.unsigned_cmp is not None else ""
    text = (
        f"{unsigned}{printer.names[index]} in ({printer.names[lower]} to {printer.names[upper]}, "
        f"step {printer.names[step]}) : {printer.types[index.type]} "
    )
    if not values:
        return text
    return f"{text}{_carried(printer, arguments, values)}-> ({printer.types_of(values)}) "


def _loop_header(printer: EntryPrinter, op: Operation, *_) -> str:
    if not op.operands and not op.results:
        return ""
    carried = _carried(printer, cast(LoopOp, op).region.block.args, op.operands) if op.operands else ""
    sides = [f"{printer.types_of(values)} " for values in (op.operands, op.results) if values]
    return f"{carried}: {'-> '.join(sides)}"


DIRECTIVES: dict[str, Callable[[EntryPrinter, Operation, str, str], str]] = {
    "bool": _boolean,
    "combiner": _combiner,
    "dense": _dense_constant,
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
    "inbounds_word": _inbounds_keyword,
    "index_types": _index_types,
    "int": _integer,
    "loop_header": _loop_header,
    "more": _optional_operand,
    "moretype": _optional_operand_type,
    "operand_types": _operand_types,
    "operands": _operands,
    "opt": _opt,
    "overflow": _overflow,
    "passed": _terminator_operands,
    "permutation": _permutation,
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
    "token_only": _token_only,
    "token_operand": _token_operand,
    "token_spaced": _token_spaced,
    "token_type": _token_type,
}


TEMPLATES = compile_formats(DIRECTIVES, _value, _type)


def _global(op: GlobalOp, types: TypeNames) -> str:
    visibility = op.symbol_visibility.data
    private = "private " if visibility is SymbolVisibility.PRIVATE else ""
    constant = " constant" if op.constant is not None else ""
    alignment = op.alignment.value.data
    aligned = f" alignment = {alignment}" if alignment else ""
    return f"global {private}{constant} {symbol(op.sym_name.data)}{aligned} {constant_text(op.value, types)}\n"


def _producer(module: ModuleOp) -> list[str]:
    """The comment with the producer of the file, if any; usually one line."""
    name = "" if module.producer is None else module.producer.data
    return [PRODUCER_COMMENT + "\n// ".join(name.splitlines()) + "\n"] if name else []


def print_module(module: builtin.ModuleOp | ModuleOp, *, locations: bool = False, budget: Budget | None = None) -> str:
    """The public text of a module: its globals, then its entries; limited by ``budget``."""
    inner = (
        module if isinstance(module, ModuleOp) else next(op for op in module.body.block.ops if isinstance(op, ModuleOp))
    )
    types = TypeNames()
    ops = list(inner.body.block.ops)
    parts, budget = _producer(inner), budget or Budget()
    for op in ops:
        if isinstance(op, GlobalOp):
            parts.append(_global(op, types))
            budget.spend(len(parts[-1]), op)
    parts += [EntryPrinter(types, locations, budget).entry(op) for op in ops if isinstance(op, EntryOp)]
    return "".join(parts)


def disassemble(data: bytes, *, locations: bool = False, name: str | None = None) -> str:
    """The public text of Tile IR bytecode; ``locations`` appends each operation's source location.

    Raises InvalidInput as ``read_module`` does, and for a file whose text would be disproportionately longer than the
    file.
    """
    reader = Reader(bytes(data), name)
    module = reader.module()
    verify(module, name, reader.places)
    limit = max(SHORT_TEXT, TEXT_PER_BYTE * len(data))
    return print_module(module, locations=locations, budget=Budget(limit, name, reader.places))
