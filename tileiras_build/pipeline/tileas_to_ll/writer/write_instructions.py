"""Write operations as LLVM IR instructions: those of ``llvm`` by a writer, those of ``nvvm`` by their table row."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.errors import Unsupported
from ....core.symbols.check_symbol_names import llvm_string, llvm_symbol
from ....ir.casting import cast, unwrap
from ....ir.dialects.debuginfo.attrs import Node
from ....ir.dialects.debuginfo.llvm_debug_metadata import expression_text
from ....ir.dialects.debuginfo.ops import DbgAddrOp, DbgDeclareOp, DbgValueOp, DebugIntrinsic, ExtractElementOp, MoveOp
from ....ir.dialects.fast_xdsl import VALUES, array_values, item, operands_of
from ....ir.dialects.llvm_ext import BINARY, BRANCH_WEIGHTS, CASTS, ConstantRangeAttr
from ....ir.dialects.nvvm.intrinsic_or_inline_asm import (
    NONE,
    Address,
    Argument,
    Assembly,
    Extended,
    Intrinsic,
    Row,
    constants,
)
from ....ir.dialects.nvvm.llvm_lowering import instruction_row
from ....ir.dialects.vector_ext import FromElementsOp
from ..debug.debug_info import DBG
from .llvm_text import EMPTY_NODE, FunctionWriter, alignment_text, constant_text, type_text

VOLATILE, INVARIANT = "volatile_", "invariant"

# A writer accepts the class of its operation.
Writer = Callable[[FunctionWriter, Any], None]
WRITERS: dict[type[Operation], Writer] = {}

# Operation -> LLVM's mnemonic.
KEYWORDS = {kind: word for word, kind in (BINARY | CASTS).items()} | {vector.BitcastOp: "bitcast"}


INTEGER_PREDICATES = {flag.to_int(): str(flag) for flag in llvm.ICmpPredicateFlag}
FLOAT_PREDICATES = {flag.to_int(): str(flag) for flag in llvm.FCmpPredicateFlag}


def writer_of(*operations: type[Operation]) -> Callable[[Writer], Writer]:
    """Register the writer of some operations."""

    def register(function: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(operations, function))
        return function

    return register


@writer_of(*BINARY.values())
def _binary(w: FunctionWriter, op: Operation) -> None:
    left, right = operands_of(op)
    w.emit(op, f"{KEYWORDS[op.__class__]} {w.typed(left)}, {w.names[id(right)]}")


@writer_of(*CASTS.values(), vector.BitcastOp)
def _cast(w: FunctionWriter, op: Operation) -> None:
    [value], [result] = operands_of(op), op.results
    w.emit(op, f"{KEYWORDS[op.__class__]} {w.typed(value)} to {type_text(result.type)}")


@writer_of(llvm.ConstantOp)
def _constant_op(w: FunctionWriter, op: llvm.ConstantOp) -> None:
    [result] = op.results
    w.names[id(result)] = constant_text(op.properties["value"], result.type)


@writer_of(llvm.UndefOp, llvm.ZeroOp)
def _empty(w: FunctionWriter, op: Operation) -> None:
    pointer = isinstance(op.results[0].type, llvm.LLVMPointerType)
    zero = "null" if pointer else "zeroinitializer"
    w.names[id(op.results[0])] = "poison" if isinstance(op, llvm.UndefOp) else zero


@writer_of(llvm.AddressOfOp)
def _address_of(w: FunctionWriter, op: llvm.AddressOfOp) -> None:
    w.names[id(op.results[0])] = f"@{llvm_symbol(op.global_name.root_reference.data)}"


# Comparison -> LLVM's mnemonic, and the names of its predicates.
COMPARISONS: dict[type[Operation], tuple[str, dict[int, str]]] = {
    llvm.ICmpOp: ("icmp", INTEGER_PREDICATES),
    llvm.FCmpOp: ("fcmp", FLOAT_PREDICATES),
}


@writer_of(*COMPARISONS)
def _compare(w: FunctionWriter, op: Operation) -> None:
    word, predicates = COMPARISONS[op.__class__]
    predicate = predicates[cast(IntegerAttr, op.properties["predicate"]).value.data]
    left, right = operands_of(op)
    w.emit(op, f"{word} {predicate} {w.typed(left)}, {w.names[id(right)]}")


@writer_of(llvm.SelectOp)
def _select(w: FunctionWriter, op: llvm.SelectOp) -> None:
    w.emit(op, f"select {w.typed_list(operands_of(op))}")


@writer_of(llvm.FNegOp)
def _negate(w: FunctionWriter, op: llvm.FNegOp) -> None:
    w.emit(op, f"fneg {w.typed_list(operands_of(op))}")


@writer_of(llvm.AllocaOp)
def _alloca(w: FunctionWriter, op: llvm.AllocaOp) -> None:
    w.emit(op, f"alloca {type_text(op.elem_type)}, {w.typed(op.size)}{alignment_text(op)}")


@writer_of(llvm.GEPOp)
def _gep(w: FunctionWriter, op: llvm.GEPOp) -> None:
    base, *others = operands_of(op)
    dynamic = iter(others)
    indices = [
        w.typed(next(dynamic)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in _constant_indices(op.properties["rawConstantIndices"])
    ]
    w.emit(op, f"getelementptr {type_text(op.properties['elem_type'])}, {w.typed(base)}, {', '.join(indices)}")


def _constant_indices(indices: Attribute) -> tuple[int, ...]:
    return array_values(cast(DenseArrayBase, indices).data.data)


@writer_of(llvm.LoadOp)
def _load(w: FunctionWriter, op: llvm.LoadOp) -> None:
    volatile = "volatile " if VOLATILE in op.attributes else ""
    invariant = f", !invariant.load !{EMPTY_NODE}" if INVARIANT in op.attributes else ""
    [address], [result] = operands_of(op), op.results
    w.emit(op, f"load {volatile}{type_text(result.type)}, {w.typed(address)}{alignment_text(op)}{invariant}")


@writer_of(llvm.StoreOp)
def _store(w: FunctionWriter, op: llvm.StoreOp) -> None:
    w.emit(op, f"store {w.typed_list(operands_of(op))}{alignment_text(op)}")


@writer_of(llvm.InsertElementOp)
def _insert_element(w: FunctionWriter, op: llvm.InsertElementOp) -> None:
    w.emit(op, f"insertelement {w.typed_list(operands_of(op))}")


@writer_of(ExtractElementOp)
def _extract_element(w: FunctionWriter, op: ExtractElementOp) -> None:
    w.emit(op, f"extractelement {w.typed_list(operands_of(op))}")


@writer_of(llvm.ExtractValueOp)
def _extract_value(w: FunctionWriter, op: llvm.ExtractValueOp) -> None:
    [container] = operands_of(op)
    w.emit(op, f"extractvalue {w.typed(container)}, {_position_text(op.properties['position'])}")


@writer_of(llvm.InsertValueOp)
def _insert_value(w: FunctionWriter, op: llvm.InsertValueOp) -> None:
    container, value = operands_of(op)
    w.emit(op, f"insertvalue {w.typed(container)}, {w.typed(value)}, {_position_text(op.properties['position'])}")


def _position_text(position: Attribute) -> str:
    return _indices_text(cast(DenseArrayBase, position).data.data)


@lru_cache(maxsize=4096)
def _indices_text(data: bytes) -> str:
    return ", ".join(map(str, i64.unpack(data, len(data) // 8)))


@writer_of(vector.ExtractOp)
def _extract(w: FunctionWriter, op: vector.ExtractOp) -> None:
    (position,) = op.static_position.get_values()
    w.emit(op, f"extractelement {w.typed(op.vector)}, i32 {position}")


@writer_of(FromElementsOp)
def _from_elements(w: FunctionWriter, op: FromElementsOp) -> None:
    type, current = type_text(op.result.type), "poison"
    for position, value in enumerate(op.elements):
        last = position + 1 == len(op.elements)
        name = w.name(op.result) if last else f"{w.name(op.result)}.{position}"
        w.lines.append(f"  {name} = insertelement {type} {current}, {w.typed(value)}, i32 {position}")
        current = name


@writer_of(llvm.CallOp)
def _call(w: FunctionWriter, op: llvm.CallOp) -> None:
    result = type_text(op.returned.type) if op.returned else "void"
    w.emit(op, f"call {result} @{llvm_symbol(unwrap(op.callee).root_reference.data)}({w.typed_list(op.args)})")


def _instruction(w: FunctionWriter, op: Operation, row: Row) -> None:
    """Write an operation by its row of the instruction tables."""
    if isinstance(row, Intrinsic):
        operands = [_operand(w, value, row) for value in row.values(op)]
        return _call_named(w, op, row.intrinsic(op), ", ".join(operands), row.result)
    text, result = _mnemonic(op, row)
    values = row.values(op)
    if any([value.type.__class__ is llvm.LLVMStructType for value in values]):
        registers = ", ".join([name for value in values for name in _registers(w, value)])
    else:
        registers = w.typed_list(values)
    return w.emit(op, f"call {result} {text}({registers}){' #0' if row.convergent else ''}")


def _registers(w: FunctionWriter, value: SSAValue) -> list[str]:
    """The registers of an operand of inline assembly; a struct is split to its fields."""
    if value.type.__class__ is not llvm.LLVMStructType:
        return [w.typed(value)]
    types = cast(llvm.LLVMStructType, value.type).types
    fields = [w.fresh() for _ in types]
    w.lines += [f"  {name} = extractvalue {w.typed(value)}, {index}" for index, name in enumerate(fields)]
    return [f"{type_text(type)} {name}" for type, name in zip(types, fields)]


def _mnemonic(op: Operation, row: Assembly) -> tuple[str, str]:
    """The inline assembly of an operation and its result type, cached by attributes and types."""
    marks = {name: value for name, value in op.attributes.items() if name != DBG}
    types = [value.type for value in (*operands_of(op), *op.results)]
    held = (*marks.values(), *op.properties.values(), *types)
    key = (op.__class__, *marks, *map(id, held), *(constants(op) if row.immediates else ()))
    if (known := _MNEMONICS.get(key)) is None:
        if len(_MNEMONICS) > MAX_CACHED_SPELLINGS:
            _MNEMONICS.clear()
        result = type_text(op.results[0].type) if op.results else "void"
        text = _assembly(row.text(op), row.constraints(op), row.effects != NONE)
        # References to the objects in the key keep their identities from being reused.
        known = _MNEMONICS[key] = text, result, held
    return known[:2]


_MNEMONICS: dict[tuple, tuple[str, str, tuple[Attribute, ...]]] = {}
MAX_CACHED_SPELLINGS = 4096


def _operand(w: FunctionWriter, value: Argument, row: Intrinsic) -> str:
    if isinstance(value, VALUES):
        return w.typed(value)
    if isinstance(value, int):
        return f"{type_text(row.constants)} {value}"
    if isinstance(value, Extended):
        name, type = w.fresh(), type_text(value.type)
        w.lines.append(f"  {name} = zext {w.typed(value.value)} to {type}")
        return f"{type} {name}"
    if isinstance(value, Address):
        return _address_operand(w, value)
    return f"{type_text(value.type)} {constant_text(value, value.type)}"


def _address_operand(w: FunctionWriter, place: Address) -> str:
    """The pointer operand, after the lines that compute it."""
    address, type = w.typed(place.address), f"ptr addrspace({place.space})"
    if isinstance(place.address.type, IntegerType):
        name = w.fresh()
        w.lines.append(f"  {name} = inttoptr {address} to {type}")
        address = f"{type} {name}"
    if not place.offset:
        return address
    name = w.fresh()
    w.lines.append(f"  {name} = getelementptr i8, {address}, i32 {place.offset}")
    return f"{type} {name}"


@writer_of(llvm.CallIntrinsicOp)
def _call_intrinsic(w: FunctionWriter, op: llvm.CallIntrinsicOp) -> None:
    _call_named(w, op, op.intrin.data, w.typed_list(op.args))


def _call_named(w: FunctionWriter, op: Operation, name: str, arguments: str, dropped: Attribute | None = None) -> None:
    """``dropped``: the type of a result that the operation does not have."""
    type = item(op.results, 0).type if op.results else dropped
    result = "void" if type is None else type_text(type)
    w.emit(op, f"call {_range(op)}{result} @{name}({arguments})")


def _range(op: Operation) -> str:
    bound = op.attributes.get("range") or op.properties.get("range")
    if bound is None or not isinstance(bound, ConstantRangeAttr):
        return ""
    return f"range({type_text(bound.type)} {bound.lower.data}, {bound.upper.data}) "


@writer_of(llvm.InlineAsmOp)
def _inline_assembly(w: FunctionWriter, op: llvm.InlineAsmOp) -> None:
    effects, convergent = op.has_side_effects is not None, "convergent" in op.attributes
    operands = w.typed_list(op.operands_)
    _assemble(w, op, op.asm_string.data, op.constraints.data, operands, effects, convergent)


def _assemble(
    w: FunctionWriter, op: Operation, template: str, constraints: str, operands: str, effects: bool, convergent: bool
) -> None:
    result = type_text(op.results[0].type) if op.results else "void"
    w.emit(op, f"call {result} {_assembly(template, constraints, effects)}({operands}){' #0' if convergent else ''}")


def _assembly(template: str, constraints: str, effects: bool) -> str:
    return f'asm {"sideeffect " if effects else ""}"{llvm_string(template)}", "{constraints}"'


@writer_of(MoveOp)
def _move(w: FunctionWriter, op: MoveOp) -> None:
    _instruction(w, op, instruction_row(op))


@writer_of(DbgValueOp, DbgDeclareOp, DbgAddrOp)
def _describe(w: FunctionWriter, op: DebugIntrinsic) -> None:
    number, place = w.debug.number, op.attributes.get(DBG)
    if place is None:
        return  # LLVM requires a location on each
    kind = "declare" if isinstance(op, DbgDeclareOp) else "value"
    expression = expression_text(op.expression)
    w.lines.append(
        f"  #dbg_{kind}({w.typed(op.value)}, !{number(op.varInfo)}, {expression}, !{number(cast(Node, place))})"
    )


@writer_of(llvm.BrOp)
def _branch(w: FunctionWriter, op: llvm.BrOp) -> None:
    w.emit(op, f"br label %{w.blocks[op.successor]}")


@writer_of(llvm.CondBrOp)
def _conditional_branch(w: FunctionWriter, op: llvm.CondBrOp) -> None:
    targets = f"label %{w.blocks[op.then_block]}, label %{w.blocks[op.else_block]}"
    w.emit(op, f"br {w.typed(operands_of(op)[0])}, {targets}{_branch_weights(op)}")


def _branch_weights(op: llvm.CondBrOp) -> str:
    """How often each target is taken, for LLVM's block frequencies."""
    weights = op.attributes.get(BRANCH_WEIGHTS)
    if not isinstance(weights, DenseArrayBase):
        return ""
    then, otherwise = array_values(weights.data.data)
    return f', !prof !{{!"branch_weights", i32 {then}, i32 {otherwise}}}'


@writer_of(llvm.ReturnOp)
def _return(w: FunctionWriter, op: llvm.ReturnOp) -> None:
    w.emit(op, f"ret {w.typed(op.arg)}" if op.arg is not None else "ret void")


@writer_of(llvm.UnreachableOp)
def _unreachable(w: FunctionWriter, op: llvm.UnreachableOp) -> None:
    w.emit(op, "unreachable")


# Operations that are written at their use, without a line of their own.
SPELLED: dict[type[Operation], Writer] = {
    kind: WRITERS.pop(kind) for kind in (llvm.ConstantOp, llvm.UndefOp, llvm.ZeroOp, llvm.AddressOfOp)
}


def write_operation(w: FunctionWriter, op: Operation) -> None:
    """Write the lines of an operation that is not SPELLED; raises Unsupported for an operation of another dialect."""
    if (writer := WRITERS.get(op.__class__)) is not None:
        writer(w, op)
    else:
        _instruction(w, op, _row(op))


def _row(op: Operation) -> Row:
    if not op.name.startswith("nvvm."):
        raise Unsupported("ll-operation", f"operation {op.name} is not of the llvm dialect", remedy="convert it first")
    return instruction_row(op)
