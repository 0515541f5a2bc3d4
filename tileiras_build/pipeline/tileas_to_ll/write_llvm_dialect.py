"""LLVM IR text of a module in the ``llvm`` dialect: what hand-written MLIR becomes before the back end.

The last step of the edge. Operations of the ``llvm`` dialect are LLVM's instructions; those of ``nvvm`` are spelled by
their rows in the book (``dialects/nvvm/mapping.py``). An operation of another dialect is refused by name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence

from xdsl.dialects import builtin, llvm, vector
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...book.serializers import DATA_LAYOUTS, TRIPLE
from ...dialects.debuginfo.attrs import Node
from ...dialects.debuginfo.metadata import MODULE_FLAGS, DebugMetadata, expression_text
from ...dialects.debuginfo.ops import DbgAddrOp, DbgDeclareOp, DbgValueOp, DebugIntrinsic, ExtractElementOp, MoveOp
from ...dialects.gpu_ext import GPUModuleOp
from ...dialects.llvm_ext import AddrSpaceCastOp, FPToSIOp, FPToUIOp, UIToFPOp
from ...dialects.nvvm.mapping import row_of
from ...dialects.nvvm.rows import NONE, Argument, Assembly, Intrinsic, Row, Widened, constants
from ...dialects.nvvm.target import DEFAULTS, TargetAttr
from ...dialects.vector_ext import FromElementsOp
from ...errors import InvalidInput, Unsupported
from ...names import LINKED_LIBRARY, llvm_string, llvm_symbol
from ..serialization import NOTE
from .attach_nvvm_target import serialization_of, serialized_for
from .debug_info import DBG

# Types ----------------------------------------------------------------------------------------------------------------

_FLOATS = {
    builtin.Float16Type: "half",
    builtin.BFloat16Type: "bfloat",
    builtin.Float32Type: "float",
    builtin.Float64Type: "double",
}


def type_text(type: Attribute) -> str:
    """LLVM's spelling of a type; raises Unsupported for a type of another dialect."""
    if (known := _TYPE_TEXTS.get(id(type))) is None:
        if len(_TYPE_TEXTS) > MOST_TYPES:
            _TYPE_TEXTS.clear()
        # The type is kept, so that no other gets its identity.
        known = _TYPE_TEXTS[id(type)] = type, _type_text(type)
    return known[1]


_TYPE_TEXTS: dict[int, tuple[Attribute, str]] = {}
MOST_TYPES = 4096


def _type_text(type: Attribute) -> str:
    if isinstance(type, IntegerType):
        return f"i{type.width.data}"
    if isinstance(type, llvm.LLVMPointerType):
        space = getattr(type.addr_space, "data", 0)
        return f"ptr addrspace({space})" if space else "ptr"
    if type.__class__ in _FLOATS:
        return _FLOATS[type.__class__]
    return _aggregate(type)


def _aggregate(type: Attribute) -> str:
    if isinstance(type, VectorType) and len(type.get_shape()) == 1:
        return f"<{type.element_count()} x {type_text(type.element_type)}>"
    if isinstance(type, llvm.LLVMArrayType):
        return f"[{type.size.data} x {type_text(type.type)}]"
    if isinstance(type, llvm.LLVMStructType):
        return f"{{ {', '.join(map(type_text, type.types))} }}"
    if isinstance(type, llvm.LLVMVoidType):
        return "void"
    raise Unsupported("ll-type", f"type {type} has no LLVM form", remedy="convert the operation that makes it")


def _constant(value: Attribute, type: Attribute) -> str:
    if isinstance(value, builtin.IntegerAttr):
        return str(value.value.data) if type != builtin.i1 else "true" if value.value.data else "false"
    if isinstance(value, builtin.FloatAttr):
        # Every float constant may be written as the bits of the double of the same value.
        return f"0x{struct.unpack('<Q', struct.pack('<d', value.value.data))[0]:016X}"
    raise Unsupported("ll-constant", f"constant {value} of type {type} has no LLVM form")


# Functions ------------------------------------------------------------------------------------------------------------


class FunctionWriter:
    """The lines of one function."""

    def __init__(self, debug: DebugMetadata):
        self.debug = debug
        self.lines: list[str] = []
        self.names: dict[int, str] = {}  # by the value's identity
        self.blocks: dict[Block, str] = {}
        self._count = 0

    def name(self, value: SSAValue) -> str:
        """The spelling of a value: a constant, a global, or a register."""
        if (known := self.names.get(id(value))) is None:
            known = self.names[id(value)] = self.fresh()
        return known

    def fresh(self) -> str:
        """A name for a register."""
        self._count += 1
        return f"%v{self._count - 1}"

    def typed(self, value: SSAValue) -> str:
        """Type and spelling."""
        return f"{type_text(value.type)} {self.name(value)}"

    def typed_list(self, values: Iterable[SSAValue]) -> str:
        """Types and spellings, as a call takes them."""
        return ", ".join([f"{type_text(value._type)} {self.name(value)}" for value in values])

    def emit(self, op: Operation, text: str) -> None:
        """A line, naming the result if there is one."""
        if (place := op.attributes.get(DBG)) is not None:
            text = f"{text}, !dbg !{self.debug.number(place)}"
        for result in op.results:
            text = f"{self.name(result)} = {text}"
        self.lines.append(f"  {text}")


Writer = Callable[[FunctionWriter, Operation], None]
WRITERS: dict[type[Operation], Writer] = {}

BINARY = {
    llvm.AddOp: "add", llvm.SubOp: "sub", llvm.MulOp: "mul", llvm.UDivOp: "udiv", llvm.SDivOp: "sdiv",
    llvm.URemOp: "urem", llvm.SRemOp: "srem", llvm.AndOp: "and", llvm.OrOp: "or", llvm.XOrOp: "xor",
    llvm.ShlOp: "shl", llvm.LShrOp: "lshr", llvm.AShrOp: "ashr", llvm.FAddOp: "fadd", llvm.FSubOp: "fsub",
    llvm.FMulOp: "fmul", llvm.FDivOp: "fdiv", llvm.FRemOp: "frem",
}  # fmt: skip
CASTS = {
    llvm.ZExtOp: "zext", llvm.SExtOp: "sext", llvm.TruncOp: "trunc", llvm.FPExtOp: "fpext", llvm.FPTruncOp: "fptrunc",
    llvm.BitcastOp: "bitcast", llvm.PtrToIntOp: "ptrtoint", llvm.IntToPtrOp: "inttoptr", llvm.SIToFPOp: "sitofp",
    UIToFPOp: "uitofp", FPToSIOp: "fptosi", FPToUIOp: "fptoui", AddrSpaceCastOp: "addrspacecast",
    vector.BitcastOp: "bitcast",
}  # fmt: skip


def writes(*operations: type[Operation]) -> Callable[[Writer], Writer]:
    """Register the writer of some operations."""

    def register(function: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(operations, function))
        return function

    return register


@writes(*BINARY)
def _binary(w: FunctionWriter, op: Operation) -> None:
    left, right = op.operands
    w.emit(op, f"{BINARY[type(op)]} {w.typed(left)}, {w.name(right)}")


@writes(*CASTS)
def _cast(w: FunctionWriter, op: Operation) -> None:
    w.emit(op, f"{CASTS[type(op)]} {w.typed(op.operands[0])} to {type_text(op.results[0].type)}")


@writes(llvm.ConstantOp)
def _constant_op(w: FunctionWriter, op: llvm.ConstantOp) -> None:
    w.names[id(op.results[0])] = _constant(op.value, op.result.type)


@writes(llvm.UndefOp, llvm.ZeroOp)
def _empty(w: FunctionWriter, op: Operation) -> None:
    pointer = isinstance(op.results[0].type, llvm.LLVMPointerType)
    zero = "null" if pointer else "zeroinitializer"
    w.names[id(op.results[0])] = "poison" if isinstance(op, llvm.UndefOp) else zero


@writes(llvm.AddressOfOp)
def _address_of(w: FunctionWriter, op: llvm.AddressOfOp) -> None:
    w.names[id(op.results[0])] = f"@{llvm_symbol(op.global_name.root_reference.data)}"


@writes(llvm.ICmpOp)
def _compare(w: FunctionWriter, op: llvm.ICmpOp) -> None:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    w.emit(op, f"icmp {predicate} {w.typed(op.lhs)}, {w.name(op.rhs)}")


@writes(llvm.SelectOp)
def _select(w: FunctionWriter, op: llvm.SelectOp) -> None:
    w.emit(op, f"select {', '.join(w.typed(value) for value in op.operands)}")


@writes(llvm.FCmpOp)
def _compare_floats(w: FunctionWriter, op: llvm.FCmpOp) -> None:
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)
    w.emit(op, f"fcmp {predicate} {w.typed(op.lhs)}, {w.name(op.rhs)}")


@writes(llvm.FNegOp)
def _negate(w: FunctionWriter, op: llvm.FNegOp) -> None:
    w.emit(op, f"fneg {w.typed(op.arg)}")


def _alignment(op: Operation) -> str:
    found = op.properties.get("alignment")
    return f", align {found.value.data}" if found is not None else ""


@writes(llvm.AllocaOp)
def _alloca(w: FunctionWriter, op: llvm.AllocaOp) -> None:
    w.emit(op, f"alloca {type_text(op.elem_type)}, {w.typed(op.size)}{_alignment(op)}")


@writes(llvm.GEPOp)
def _gep(w: FunctionWriter, op: llvm.GEPOp) -> None:
    dynamic = iter(op.ssa_indices)
    indices = [
        w.typed(next(dynamic)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.get_values()
    ]
    w.emit(op, f"getelementptr {type_text(op.elem_type)}, {w.typed(op.ptr)}, {', '.join(indices)}")


@writes(llvm.LoadOp)
def _load(w: FunctionWriter, op: llvm.LoadOp) -> None:
    volatile = "volatile " if VOLATILE in op.attributes else ""
    invariant = f", !invariant.load !{EMPTY_NODE}" if INVARIANT in op.attributes else ""
    type = type_text(op.results[0].type)
    w.emit(op, f"load {volatile}{type}, {w.typed(op.operands[0])}{_alignment(op)}{invariant}")


@writes(llvm.StoreOp)
def _store(w: FunctionWriter, op: llvm.StoreOp) -> None:
    w.emit(op, f"store {w.typed(op.operands[0])}, {w.typed(op.operands[1])}{_alignment(op)}")


@writes(llvm.InsertElementOp)
def _insert_element(w: FunctionWriter, op: llvm.InsertElementOp) -> None:
    w.emit(op, f"insertelement {w.typed_list(op.operands)}")


@writes(ExtractElementOp)
def _extract_element(w: FunctionWriter, op: ExtractElementOp) -> None:
    w.emit(op, f"extractelement {w.typed_list(op.operands)}")


@writes(llvm.ExtractValueOp)
def _extract_value(w: FunctionWriter, op: llvm.ExtractValueOp) -> None:
    w.emit(op, f"extractvalue {w.typed(op.container)}, {', '.join(map(str, op.position.get_values()))}")


@writes(llvm.InsertValueOp)
def _insert_value(w: FunctionWriter, op: llvm.InsertValueOp) -> None:
    position = ", ".join(map(str, op.position.get_values()))
    w.emit(op, f"insertvalue {w.typed(op.container)}, {w.typed(op.value)}, {position}")


@writes(vector.ExtractOp)
def _extract(w: FunctionWriter, op: vector.ExtractOp) -> None:
    (position,) = op.static_position.get_values()
    w.emit(op, f"extractelement {w.typed(op.vector)}, i32 {position}")


@writes(FromElementsOp)
def _from_elements(w: FunctionWriter, op: FromElementsOp) -> None:
    type, current = type_text(op.result.type), "poison"
    for position, value in enumerate(op.elements):
        last = position + 1 == len(op.elements)
        name = w.name(op.result) if last else f"{w.name(op.result)}.{position}"
        w.lines.append(f"  {name} = insertelement {type} {current}, {w.typed(value)}, i32 {position}")
        current = name


@writes(llvm.CallOp)
def _call(w: FunctionWriter, op: llvm.CallOp) -> None:
    result = type_text(op.returned.type) if op.returned else "void"
    w.emit(op, f"call {result} @{llvm_symbol(op.callee.root_reference.data)}({w.typed_list(op.args)})")


def _instruction(w: FunctionWriter, op: Operation, row: Row) -> None:
    """An operation of the book by its row."""
    if isinstance(row, Intrinsic):
        operands = [_operand(w, value, row) for value in row.values(op)]
        return _call_named(w, op, row.intrinsic(op), ", ".join(operands), row.result)
    text, result = _spelling(op, row)
    operands = ", ".join([text for value in row.values(op) for text in _registers(w, value)])
    return w.emit(op, f"call {result} {text}({operands}){' #0' if row.convergent else ''}")


def _registers(w: FunctionWriter, value: SSAValue) -> list[str]:
    """An operand of assembly, which takes a struct as its fields."""
    if not isinstance(value._type, llvm.LLVMStructType):
        return [w.typed(value)]
    fields = [w.fresh() for _ in value._type.types]
    w.lines += [f"  {name} = extractvalue {w.typed(value)}, {index}" for index, name in enumerate(fields)]
    return [f"{type_text(type)} {name}" for type, name in zip(value._type.types, fields)]


def _spelling(op: Operation, row: Assembly) -> tuple[str, str]:
    """The assembly of an operation and its result's type; those of equal attributes and types are spelled once."""
    marks = {name: value for name, value in op.attributes.items() if name != DBG}
    held = (*marks.values(), *op.properties.values(), *[value._type for value in (*op._operands, *op.results)])
    key = (op.__class__, *marks, *map(id, held), *(constants(op) if row.immediates else ()))
    if (known := _SPELLINGS.get(key)) is None:
        if len(_SPELLINGS) > MOST_SPELLINGS:
            _SPELLINGS.clear()
        result = type_text(op.results[0].type) if op.results else "void"
        text = _assembly(row.text(op), row.constraints(op), row.effects != NONE)
        # What the key names is kept, so that nothing else gets its identity.
        known = _SPELLINGS[key] = text, result, held
    return known[:2]


_SPELLINGS: dict[tuple, tuple[str, str, tuple[Attribute, ...]]] = {}
MOST_SPELLINGS = 4096


def _operand(w: FunctionWriter, value: Argument, row: Intrinsic) -> str:
    if isinstance(value, SSAValue):
        return w.typed(value)
    if isinstance(value, int):
        return f"{type_text(row.constants)} {value}"
    if isinstance(value, Widened):
        name, type = w.fresh(), type_text(value.type)
        w.lines.append(f"  {name} = zext {w.typed(value.value)} to {type}")
        return f"{type} {name}"
    return f"{type_text(value.type)} {_constant(value, value.type)}"


@writes(llvm.CallIntrinsicOp)
def _call_intrinsic(w: FunctionWriter, op: llvm.CallIntrinsicOp) -> None:
    _call_named(w, op, op.intrin.data, w.typed_list(op.args))


def _call_named(w: FunctionWriter, op: Operation, name: str, arguments: str, dropped: Attribute | None = None) -> None:
    """``dropped``: the type of a result that the operation does not have."""
    type = op.results[0].type if op.results else dropped
    result = "void" if type is None else type_text(type)
    w.emit(op, f"call {_range(op)}{result} @{name}({arguments})")


def _range(op: Operation) -> str:
    bound = op.attributes.get("range") or op.properties.get("range")
    if bound is None:
        return ""
    return f"range({type_text(bound.type)} {bound.lower.data}, {bound.upper.data}) "


@writes(llvm.InlineAsmOp)
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

# Type -> the suffix of the intrinsic that hides a value from optimization.
MOVES = {"i16": "i16", "i32": "i32", "i64": "i64", "float": "float", "double": "double", "ptr addrspace(1)": "ptr.p1"}
MOVES |= {"ptr": "ptr.p0"}
# The others through assembly of a register of so many bits: LLVM has no intrinsic for them.
MOVE_ASSEMBLY = ("half", "bfloat", "i8")


@writes(MoveOp)
def _move(w: FunctionWriter, op: MoveOp) -> None:
    type = type_text(op.source.type)
    if type in MOVE_ASSEMBLY:
        return _assemble(w, op, "mov.b16 $0, $1;", "=h,h", w.typed(op.source), True, False)
    if type not in MOVES:
        raise Unsupported("ll-move", f"a value of type {type} cannot be pinned for a debugger")
    return _call_named(w, op, f"llvm.nvvm.move.{MOVES[type]}", w.typed(op.source))


@writes(DbgValueOp, DbgDeclareOp, DbgAddrOp)
def _describe(w: FunctionWriter, op: DebugIntrinsic) -> None:
    number, place = w.debug.number, op.attributes.get(DBG)
    if place is None:
        return  # LLVM wants a place for each
    kind = "declare" if isinstance(op, DbgDeclareOp) else "value"
    expression = expression_text(op.expression)
    w.lines.append(f"  #dbg_{kind}({w.typed(op.value)}, !{number(op.varInfo)}, {expression}, !{number(place)})")


@writes(llvm.BrOp)
def _branch(w: FunctionWriter, op: llvm.BrOp) -> None:
    w.emit(op, f"br label %{w.blocks[op.successor]}")


@writes(llvm.CondBrOp)
def _conditional_branch(w: FunctionWriter, op: llvm.CondBrOp) -> None:
    w.emit(op, f"br {w.typed(op.cond)}, label %{w.blocks[op.then_block]}, label %{w.blocks[op.else_block]}")


@writes(llvm.ReturnOp)
def _return(w: FunctionWriter, op: llvm.ReturnOp) -> None:
    w.emit(op, f"ret {w.typed(op.arg)}" if op.arg is not None else "ret void")


@writes(llvm.UnreachableOp)
def _unreachable(w: FunctionWriter, op: llvm.UnreachableOp) -> None:
    w.emit(op, "unreachable")


Incoming = dict[Block, list[tuple[Block, Sequence[SSAValue]]]]


def _incoming(blocks: Sequence[Block]) -> Incoming:
    """For each block its predecessors, each with the values that it passes."""
    found: Incoming = {block: [] for block in blocks}
    for source in blocks:
        last = source.last_op
        if isinstance(last, llvm.BrOp):
            found[last.successor].append((source, last.arguments))
        elif isinstance(last, llvm.CondBrOp):
            found[last.then_block].append((source, last.then_arguments))
            found[last.else_block].append((source, last.else_arguments))
    return found


# Modules --------------------------------------------------------------------------------------------------------------

# Function attributes that LLVM knows as strings.
LAUNCH = ("nvvm.reqntid", "nvvm.maxntid", "nvvm.maxnreg", "nvvm.minctasm", "nvvm.cluster_dim", "nvvm.blocksareclusters")


UNSAID_FEATURES = ("", DEFAULTS["features"])  # those of the GPU
MANIFEST, EMPTY_NODE = "tileiras.manifest", 0
VOLATILE, INVARIANT = "volatile_", "invariant"
FIRST_FLAG = 90  # metadata numbers of the module flags; those of debug nodes begin at 100


def write(module: ModuleOp) -> str:
    """LLVM IR text of the functions and globals of a module, and of the gpu.modules in it.

    Raises InvalidInput[no-target] for a gpu.module of kernels that says of no target.
    """
    containers = [module, *(op for op in module.body.blocks[0].ops if isinstance(op, GPUModuleOp))]
    target = serialized_for(module)
    debug = DebugMetadata()
    parts: list[str] = []
    globals: list[str] = []
    for container in containers:
        for op in container.regions[0].blocks[0].ops:
            if isinstance(op, llvm.GlobalOp):
                globals.append(_global(op))
            elif not isinstance(op, GPUModuleOp):
                parts.append(_function(op, debug, "" if target is None else f" {MACHINE}"))
    sections = [_target(target), "\n".join(globals), *parts, _attributes(target), "\n".join(_metadata(containers, target, debug))]
    return "\n\n".join(section for section in sections if section) + "\n"


def _target(target: TargetAttr | None) -> str:
    """What the module's addresses are."""
    triple = TRIPLE if target is None else target.triple.data
    layout = [f'target datalayout = "{DATA_LAYOUTS[triple]}"'] if triple in DATA_LAYOUTS else []
    return "\n".join([*layout, f'target triple = "{triple}"'])


# Of collective instructions: LLVM must not duplicate or sink them.
ATTRIBUTES = "attributes #0 = { convergent nounwind }"
MACHINE = "#1"  # of functions: the machine that they are for


def _attributes(target: TargetAttr | None) -> str:
    if target is None:
        return ATTRIBUTES
    row = serialization_of(target).target
    features = row.llvm_features if target.features.data in UNSAID_FEATURES else target.features.data
    return f'{ATTRIBUTES}\nattributes {MACHINE} = {{ "target-cpu"="{row.llvm_cpu}" "target-features"="{features}" }}'


def _metadata(containers: Sequence[Operation], target: TargetAttr | None, debug: DebugMetadata) -> list[str]:
    lines = [f"!{EMPTY_NODE} = !{{}}"]
    named: list[tuple[str, str]] = []
    for container in containers:
        if (manifest := container.attributes.get(MANIFEST)) is not None:
            named.append((MANIFEST, manifest.data))
    if (library := _linked_library(containers)) is not None:
        named.append(("tileiras.libdevice", library))
    if target is not None:
        named.append((NOTE, serialization_of(target).note))
    for number, (name, text) in enumerate(named, EMPTY_NODE + 1):
        lines += [f"!{name} = !{{!{number}}}", f'!{number} = !{{!"{llvm_string(text)}"}}']
    units = [container.attributes[DBG] for container in containers if DBG in container.attributes]
    return lines + (_debug_metadata(units, debug) if units else [])


def _linked_library(containers: Sequence[Operation]) -> str | None:
    """The bitcode library that the module links: a path, or the bitcode itself (libdevice/blob.py)."""
    found = [op.attributes[LINKED_LIBRARY] for op in containers if LINKED_LIBRARY in op.attributes]
    if len(set(found)) > 1 or not all(isinstance(blob, builtin.StringAttr) for blob in found):
        message = f"{LINKED_LIBRARY} must be one string, but is {', '.join(map(str, found))}"
        raise InvalidInput("libdevice-blob", message, remedy='name a path, or "base64:" and the bitcode')
    return found[0].data if found else None


def _debug_metadata(units: Sequence[Node], debug: DebugMetadata) -> list[str]:
    numbers = ", ".join(f"!{debug.number(unit)}" for unit in units)
    flags = [f"!{FIRST_FLAG + index}" for index in range(len(MODULE_FLAGS))]
    lines = [f"!llvm.dbg.cu = !{{{numbers}}}", f"!llvm.module.flags = !{{{', '.join(flags)}}}"]
    return lines + [f"{name} = {text}" for name, text in zip(flags, MODULE_FLAGS)] + debug.lines()


def _global(op: llvm.GlobalOp) -> str:
    space = op.addr_space.value.data
    kind = "constant" if op.constant else "global"
    linkage = op.linkage.linkage.data
    where = f"addrspace({space}) " if space else ""
    declared = linkage == "external" and op.value is None
    # What is defined and external has no word for it.
    words = f"{linkage} " if declared or linkage != "external" else ""
    body = type_text(op.global_type) + ("" if declared else f" {_initial(op.value)}")
    return f"@{llvm_symbol(op.sym_name.data)} = {words}{where}{kind} {body}{_alignment(op)}"


def _initial(value: Attribute | None) -> str:
    """A global's value."""
    if value is None:
        return "undef"
    if isinstance(value, builtin.StringAttr):
        return f'c"{llvm_string(value.data)}"'
    if not isinstance(value, builtin.DenseIntOrFPElementsAttr):
        raise Unsupported("ll-global", f"a global with the value {value} has no LLVM form")
    width = value.type.element_type.width.data
    size, data = width // 8, value.data.data
    numbers = (int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size))
    return "[" + ", ".join(f"i{width} {number}" for number in numbers) + "]"


def _function(op: Operation, debug: DebugMetadata, machine: str) -> str:
    if not isinstance(op, llvm.FuncOp):
        raise Unsupported("ll-operation", f"operation {op.name} is not of the llvm dialect", remedy="convert it first")
    result, name = type_text(op.function_type.output), llvm_symbol(op.sym_name.data)
    if not op.body.blocks:
        return f"declare {result} @{name}({', '.join(map(type_text, op.function_type.inputs))})"
    writer = FunctionWriter(debug)
    arguments = _arguments(writer, op)
    kernel = "ptx_kernel " if "nvvm.kernel" in op.attributes else ""
    place = f" !dbg !{debug.number(op.attributes[DBG])}" if DBG in op.attributes else ""
    head = f"define {kernel}{result} @{name}({arguments}){machine}{_launch(op)}{place} {{"
    _body(writer, op)
    return "\n".join([head, *writer.lines, "}"])


def _arguments(w: FunctionWriter, op: llvm.FuncOp) -> str:
    """The parameters, with what they are marked as."""
    values = op.body.blocks[0].args
    marks = op.arg_attrs.data if op.arg_attrs is not None else [None] * len(values)
    texts = []
    for value, mark in zip(values, marks):
        if value.name_hint is not None:
            w.names[id(value)] = f"%{value.name_hint}"
        words = [] if mark is None else [MARKS[key](entry) for key, entry in mark.data.items() if key in MARKS]
        texts.append(" ".join([type_text(value.type), *words, w.name(value)]))
    return ", ".join(texts)


# Attribute of an argument -> LLVM's word for it.
MARKS: dict[str, Callable[[Attribute], str]] = {
    "llvm.byval": lambda value: f"byval({type_text(value)})",
    "llvm.align": lambda value: f"align {value.value.data}",
    "nvvm.grid_constant": lambda value: '"nvvm.grid_constant"',
}


def _launch(op: llvm.FuncOp) -> str:
    words = []
    for name in LAUNCH:
        value = op.attributes.get(name)
        if isinstance(value, builtin.DenseArrayBase):
            words.append(f' "{name}"="{",".join(map(str, value.get_values()))}"')
        elif isinstance(value, builtin.IntegerAttr):
            words.append(f' "{name}"="{value.value.data}"')
        elif value is not None:
            words.append(f' "{name}"')
    return "".join(words)


def _body(w: FunctionWriter, function: llvm.FuncOp) -> None:
    blocks = list(function.body.blocks)
    w.blocks |= {block: f"b{index}" for index, block in enumerate(blocks)}
    # Constants, globals and empty values are spelled where they are used, which may be before their block.
    for block in blocks:
        for op in _operations(block):
            if (spell := _SPELLED.get(op.__class__)) is not None:
                spell(w, op)
    incoming = _incoming(blocks)
    for block in blocks:
        w.lines.append(f"{w.blocks[block]}:")
        if block is not blocks[0]:
            _phis(w, block, incoming)
        for op in _operations(block):
            _write(w, op)


def _operations(block: Block) -> Iterator[Operation]:
    """``block.ops``, in half of the time."""
    op = block._first_op
    while op is not None:
        yield op
        op = op._next_op


_SPELLED = {kind: WRITERS.pop(kind) for kind in (llvm.ConstantOp, llvm.UndefOp, llvm.ZeroOp, llvm.AddressOfOp)}


def _write(w: FunctionWriter, op: Operation) -> None:
    if (writer := WRITERS.get(op.__class__)) is not None:
        writer(w, op)
    elif op.__class__ not in _SPELLED:
        _instruction(w, op, _row(op))


def _row(op: Operation) -> Row:
    if not op.name.startswith("nvvm."):
        raise Unsupported("ll-operation", f"operation {op.name} is not of the llvm dialect", remedy="convert it first")
    return row_of(op)


def _phis(w: FunctionWriter, block: Block, incoming: Incoming) -> None:
    """The arguments of a block; their place is that of the first branch to it."""
    sources = incoming[block]
    place = sources[0][0].last_op.attributes.get(DBG) if sources else None
    suffix = f", !dbg !{w.debug.number(place)}" if place is not None else ""
    for index, argument in enumerate(block.args):
        pairs = ", ".join([f"[ {w.name(values[index])}, %{w.blocks[source]} ]" for source, values in sources])
        w.lines.append(f"  {w.name(argument)} = phi {type_text(argument.type)} {pairs}{suffix}")
