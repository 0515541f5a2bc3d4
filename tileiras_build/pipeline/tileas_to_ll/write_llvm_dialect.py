"""LLVM IR text of a module in the ``llvm`` dialect: what hand-written MLIR becomes before the back end.

Kernels of tiles do not come this way (``module_emitter`` writes their text directly); this is the last step after
``convert-nvgpu-and-gpu-to-nvvm`` and ``convert-nvvm-to-llvm``. An operation of another dialect is refused by name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from xdsl.dialects import builtin, llvm, vector
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.gpu_ext import GPUModuleOp
from ...dialects.llvm_ext import AddrSpaceCastOp
from ...dialects.vector_ext import FromElementsOp
from ...errors import Unsupported
from ...names import llvm_string, llvm_symbol

TRIPLE = "nvptx64-nvidia-cuda"

# Types ----------------------------------------------------------------------------------------------------------------

_FLOATS = {
    builtin.Float16Type: "half",
    builtin.BFloat16Type: "bfloat",
    builtin.Float32Type: "float",
    builtin.Float64Type: "double",
}


def type_text(type: Attribute) -> str:
    """LLVM's spelling of a type; raises Unsupported for a type of another dialect."""
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
        return f"{{ {', '.join(type_text(field) for field in type.types)} }}"
    if isinstance(type, llvm.LLVMVoidType):
        return "void"
    raise Unsupported("ll-type", f"type {type} has no LLVM form", remedy="convert the operation that makes it")


def _constant(value: Attribute, type: Attribute) -> str:
    if isinstance(value, builtin.IntegerAttr):
        return str(value.value.data)
    if isinstance(value, builtin.FloatAttr):
        # Every float constant may be written as the bits of the double of the same value.
        return f"0x{struct.unpack('<Q', struct.pack('<d', value.value.data))[0]:016X}"
    raise Unsupported("ll-constant", f"constant {value} of type {type} has no LLVM form")


# Functions ------------------------------------------------------------------------------------------------------------


class FunctionWriter:
    """The lines of one function."""

    def __init__(self):
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self.blocks: dict[Block, str] = {}
        self.declarations: dict[str, str] = {}

    def name(self, value: SSAValue) -> str:
        """The spelling of a value: a constant, a global, or a register."""
        return self.names.setdefault(value, f"%v{len(self.names)}")

    def typed(self, value: SSAValue) -> str:
        """Type and spelling."""
        return f"{type_text(value.type)} {self.name(value)}"

    def emit(self, op: Operation, text: str) -> None:
        """A line, naming the result if there is one."""
        self.lines.append(f"  {self.name(op.results[0])} = {text}" if op.results else f"  {text}")


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
    AddrSpaceCastOp: "addrspacecast", vector.BitcastOp: "bitcast",
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
    w.names[op.result] = _constant(op.value, op.result.type)


@writes(llvm.UndefOp, llvm.ZeroOp)
def _empty(w: FunctionWriter, op: Operation) -> None:
    pointer = isinstance(op.results[0].type, llvm.LLVMPointerType)
    zero = "null" if pointer else "zeroinitializer"
    w.names[op.results[0]] = "poison" if isinstance(op, llvm.UndefOp) else zero


@writes(llvm.AddressOfOp)
def _address_of(w: FunctionWriter, op: llvm.AddressOfOp) -> None:
    w.names[op.result] = f"@{llvm_symbol(op.global_name.root_reference.data)}"


@writes(llvm.ICmpOp)
def _compare(w: FunctionWriter, op: llvm.ICmpOp) -> None:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    w.emit(op, f"icmp {predicate} {w.typed(op.lhs)}, {w.name(op.rhs)}")


@writes(llvm.SelectOp)
def _select(w: FunctionWriter, op: llvm.SelectOp) -> None:
    w.emit(op, f"select {', '.join(w.typed(value) for value in op.operands)}")


@writes(llvm.AllocaOp)
def _alloca(w: FunctionWriter, op: llvm.AllocaOp) -> None:
    alignment = f", align {op.alignment.value.data}" if op.alignment else ""
    w.emit(op, f"alloca {type_text(op.elem_type)}, {w.typed(op.size)}{alignment}")


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
    w.emit(op, f"load {type_text(op.results[0].type)}, {w.typed(op.operands[0])}")


@writes(llvm.StoreOp)
def _store(w: FunctionWriter, op: llvm.StoreOp) -> None:
    w.emit(op, f"store {w.typed(op.operands[0])}, {w.typed(op.operands[1])}")


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
    arguments = ", ".join(w.typed(value) for value in op.args)
    w.emit(op, f"call {result} @{llvm_symbol(op.callee.root_reference.data)}({arguments})")


@writes(llvm.CallIntrinsicOp)
def _call_intrinsic(w: FunctionWriter, op: llvm.CallIntrinsicOp) -> None:
    result = type_text(op.ress.type) if op.ress else "void"
    types = ", ".join(type_text(value.type) for value in op.args)
    w.declarations[op.intrin.data] = f"declare {result} @{op.intrin.data}({types})"
    w.emit(op, f"call {_range(op)}{result} @{op.intrin.data}({', '.join(w.typed(value) for value in op.args)})")


def _range(op: Operation) -> str:
    bound = op.attributes.get("range")
    if bound is None:
        return ""
    return f"range({type_text(bound.type)} {bound.lower.data}, {bound.upper.data}) "


@writes(llvm.InlineAsmOp)
def _inline_assembly(w: FunctionWriter, op: llvm.InlineAsmOp) -> None:
    result = type_text(op.res.type) if op.res else "void"
    effects = "sideeffect " if op.has_side_effects else ""
    convergent = " convergent" if "convergent" in op.attributes else ""
    text = f'asm {effects}"{llvm_string(op.asm_string.data)}", "{op.constraints.data}"'
    w.emit(op, f"call {result} {text}({', '.join(w.typed(value) for value in op.operands_)}){convergent and ' #0'}")


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


def _incoming(block: Block, function: llvm.FuncOp) -> Iterator[tuple[Block, list[SSAValue]]]:
    """The predecessors of a block, each with the values that it passes."""
    for source in function.body.blocks:
        last = source.last_op
        if isinstance(last, llvm.BrOp) and last.successor is block:
            yield source, list(last.arguments)
        elif isinstance(last, llvm.CondBrOp):
            if last.then_block is block:
                yield source, list(last.then_arguments)
            if last.else_block is block:
                yield source, list(last.else_arguments)


# Modules --------------------------------------------------------------------------------------------------------------

# Function attributes that LLVM knows as strings.
LAUNCH = ("nvvm.reqntid", "nvvm.maxntid", "nvvm.cluster_dim", "nvvm.minctasm", "nvvm.maxnreg", "nvvm.blocksareclusters")


def write(module: ModuleOp) -> str:
    """LLVM IR text of the functions and globals of a module, and of the gpu.modules in it."""
    operations = [op for op in module.body.blocks[0].ops if not isinstance(op, GPUModuleOp)]
    for container in [op for op in module.body.blocks[0].ops if isinstance(op, GPUModuleOp)]:
        operations += container.body.blocks[0].ops
    declarations: dict[str, str] = {}
    parts = [f'target triple = "{TRIPLE}"']
    for op in operations:
        parts.append(_global(op) if isinstance(op, llvm.GlobalOp) else _function(op, declarations))
    parts += [*declarations.values(), "attributes #0 = { convergent }"]
    if any(isinstance(op, llvm.FuncOp) and op.sym_name.data.startswith("__nv_") for op in operations):
        parts.append('!tileiras.libdevice = !{!0}\n!0 = !{!"libdevice.10.bc"}')
    return "\n\n".join(parts) + "\n"


def _global(op: llvm.GlobalOp) -> str:
    space = op.addr_space.value.data
    kind = "constant" if op.constant else "global"
    value = f'c"{llvm_string(op.value.data)}"' if isinstance(op.value, builtin.StringAttr) else "poison"
    external = op.linkage.linkage.data == "external" and op.value is None
    alignment = f", align {op.alignment.value.data}" if op.alignment else ""
    where = f"addrspace({space}) " if space else ""
    body = type_text(op.global_type) + ("" if external else f" {value}")
    return f"@{llvm_symbol(op.sym_name.data)} = {op.linkage.linkage.data} {where}{kind} {body}{alignment}"


def _function(op: Operation, declarations: dict[str, str]) -> str:
    if not isinstance(op, llvm.FuncOp):
        raise Unsupported("ll-operation", f"operation {op.name} is not of the llvm dialect", remedy="convert it first")
    result = type_text(op.function_type.output)
    if not op.body.blocks:
        inputs = ", ".join(type_text(type) for type in op.function_type.inputs)
        return f"declare {result} @{llvm_symbol(op.sym_name.data)}({inputs})"
    writer = FunctionWriter()
    arguments = ", ".join(writer.typed(value) for value in op.body.blocks[0].args)
    _body(writer, op)
    declarations.update(writer.declarations)
    kernel = "ptx_kernel " if "nvvm.kernel" in op.attributes else ""
    head = f"define {kernel}{result} @{llvm_symbol(op.sym_name.data)}({arguments}){_launch(op)} {{"
    return "\n".join([head, *writer.lines, "}"])


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
    for op in [op for block in blocks for op in block.ops if type(op) in _SPELLED]:
        WRITERS[type(op)](w, op)
    for block in blocks:
        w.lines.append(f"{w.blocks[block]}:")
        if block is not blocks[0]:
            _phis(w, block, function)
        for op in block.ops:
            _write(w, op)


_SPELLED = (llvm.ConstantOp, llvm.UndefOp, llvm.ZeroOp, llvm.AddressOfOp)


def _write(w: FunctionWriter, op: Operation) -> None:
    if type(op) in _SPELLED:
        return
    if type(op) not in WRITERS:
        raise Unsupported("ll-operation", f"operation {op.name} is not of the llvm dialect", remedy="convert it first")
    WRITERS[type(op)](w, op)


def _phis(w: FunctionWriter, block: Block, function: llvm.FuncOp) -> None:
    sources = list(_incoming(block, function))
    for index, argument in enumerate(block.args):
        pairs = ", ".join(f"[ {w.name(values[index])}, %{w.blocks[source]} ]" for source, values in sources)
        w.lines.append(f"  {w.name(argument)} = phi {type_text(argument.type)} {pairs}")
