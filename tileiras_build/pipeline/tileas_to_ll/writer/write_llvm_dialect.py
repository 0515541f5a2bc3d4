"""Write a module of ``llvm`` and ``nvvm`` operations as LLVM IR text: functions, globals, metadata.

This is the last step of the lowering. Operations of the ``llvm`` dialect are LLVM instructions; operations of ``nvvm``
are written by their rows of the instruction tables (``ir/dialects/nvvm/llvm_lowering.py``). Operations of other
dialects are rejected by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import builtin, llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....core.errors import InvalidInput, Unsupported
from ....core.symbols.check_symbol_names import LINKED_LIBRARY, llvm_string, llvm_symbol
from ....ir.casting import cast, terminator
from ....ir.dialects.debuginfo.attrs import Node
from ....ir.dialects.debuginfo.llvm_debug_metadata import MODULE_FLAGS, DebugMetadata
from ....ir.dialects.fast_xdsl import block_operations, operands_of, segment_sizes
from ....ir.dialects.gpu_ext import GPUModuleOp
from ....ir.dialects.nvvm.target import DEFAULTS, TargetAttr
from ....target.isa.serializer_options import DATA_LAYOUTS, TRIPLE
from ...serialization_target import NOTE
from ..attach_nvvm_target import serialization_of, serialized_for
from ..debug.debug_info import DBG
from .llvm_text import EMPTY_NODE, FunctionWriter, alignment_text, constant_text, type_text
from .write_instructions import SPELLED, write_operation

Incoming = dict[Block, list[tuple[Block, Sequence[SSAValue]]]]


def _incoming(blocks: Sequence[Block]) -> Incoming:
    """For each block its predecessors, each with the values that it passes."""
    found: Incoming = {block: [] for block in blocks}
    for source in blocks:
        last = source.last_op
        if isinstance(last, llvm.BrOp):
            found[last.successor].append((source, last.arguments))
        elif isinstance(last, llvm.CondBrOp):
            condition, taken, _ = segment_sizes(last)
            values = tuple(operands_of(last))[condition:]
            found[last.then_block].append((source, values[:taken]))
            found[last.else_block].append((source, values[taken:]))
    return found


# Modules --------------------------------------------------------------------------------------------------------------

# Function attributes that are string attributes in LLVM.
LAUNCH = ("nvvm.reqntid", "nvvm.maxntid", "nvvm.maxnreg", "nvvm.minctasm", "nvvm.cluster_dim", "nvvm.blocksareclusters")


DEFAULT_FEATURES = ("", DEFAULTS["features"])  # those of the GPU
MANIFEST = "tileiras.manifest"
FIRST_FLAG = 90  # first metadata id of the module flags; ids of debug nodes start at 100


def write(module: ModuleOp) -> str:
    """LLVM IR text of the functions and globals of a module, and of the gpu.modules in it.

    Raises InvalidInput[no-target] for a gpu.module of kernels without a target.
    """
    containers = list(_containers(module))
    target = serialized_for(module)
    debug = DebugMetadata()
    parts: list[str] = []
    globals: list[str] = []
    for container in containers:
        for op in container.regions[0].blocks[0].ops:
            if isinstance(op, llvm.GlobalOp):
                globals.append(_global(op))
            elif not isinstance(op, CONTAINERS):
                parts.append(_function(op, debug, "" if target is None else f" {MACHINE}"))
    sections = [
        _target(target),
        "\n".join(globals),
        *parts,
        _attributes(target),
        "\n".join(_metadata(containers, target, debug)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


CONTAINERS = (GPUModuleOp, ModuleOp)


def _containers(module: Operation) -> Iterator[Operation]:
    """A module and its nested modules; LLVM modules do not nest."""
    yield module
    for op in module.regions[0].block.ops:
        if isinstance(op, CONTAINERS):
            yield from _containers(op)


def _target(target: TargetAttr | None) -> str:
    """The data layout and the triple."""
    triple = TRIPLE if target is None else target.triple.data
    layout = [f'target datalayout = "{DATA_LAYOUTS[triple]}"'] if triple in DATA_LAYOUTS else []
    return "\n".join([*layout, f'target triple = "{triple}"'])


# For collective instructions: LLVM must not duplicate or sink them.
ATTRIBUTES = "attributes #0 = { convergent nounwind }"
MACHINE = "#1"  # of functions: the target CPU and features


def _attributes(target: TargetAttr | None) -> str:
    if target is None:
        return ATTRIBUTES
    row = serialization_of(target).target
    features = row.llvm_features if target.features.data in DEFAULT_FEATURES else target.features.data
    return f'{ATTRIBUTES}\nattributes {MACHINE} = {{ "target-cpu"="{row.llvm_cpu}" "target-features"="{features}" }}'


def _metadata(containers: Sequence[Operation], target: TargetAttr | None, debug: DebugMetadata) -> list[str]:
    lines = [f"!{EMPTY_NODE} = !{{}}"]
    named: list[tuple[str, str]] = []
    for container in containers:
        if MANIFEST in container.attributes:
            named.append((MANIFEST, cast(builtin.StringAttr, container.attributes[MANIFEST]).data))
    if (library := _linked_library(containers)) is not None:
        named.append(("tileiras.libdevice", library))
    if target is not None:
        named.append((NOTE, serialization_of(target).note))
    for number, (name, text) in enumerate(named, EMPTY_NODE + 1):
        lines += [f"!{name} = !{{!{number}}}", f'!{number} = !{{!"{llvm_string(text)}"}}']
    units = [cast(Node, container.attributes[DBG]) for container in containers if DBG in container.attributes]
    return lines + (_debug_metadata(units, debug) if units else [])


def _linked_library(containers: Sequence[Operation]) -> str | None:
    """The bitcode library that the module links: a path, or the bitcode itself (libdevice/resolve_linked_library.py)."""
    found = [op.attributes[LINKED_LIBRARY] for op in containers if LINKED_LIBRARY in op.attributes]
    if len(set(found)) > 1 or not all(isinstance(blob, builtin.StringAttr) for blob in found):
        message = f"{LINKED_LIBRARY} must be one string, but is {', '.join(map(str, found))}"
        raise InvalidInput("libdevice-blob", message, remedy='name a path, or "base64:" and the bitcode')
    return cast(builtin.StringAttr, found[0]).data if found else None


def _debug_metadata(units: Sequence[Node], debug: DebugMetadata) -> list[str]:
    unit_ids = ", ".join(f"!{debug.number(unit)}" for unit in units)
    flags = [f"!{FIRST_FLAG + index}" for index in range(len(MODULE_FLAGS))]
    lines = [f"!llvm.dbg.cu = !{{{unit_ids}}}", f"!llvm.module.flags = !{{{', '.join(flags)}}}"]
    return lines + [f"{name} = {text}" for name, text in zip(flags, MODULE_FLAGS)] + debug.lines()


def _global(op: llvm.GlobalOp) -> str:
    space = op.addr_space.value.data
    kind = "constant" if op.constant else "global"
    linkage = op.linkage.linkage.data
    where = f"addrspace({space}) " if space else ""
    declared = linkage == "external" and op.value is None
    # A definition with external linkage has no keyword.
    words = f"{linkage} " if declared or linkage != "external" else ""
    body = type_text(op.global_type) + ("" if declared else f" {_initial(op.value, op.global_type)}")
    return f"@{llvm_symbol(op.sym_name.data)} = {words}{where}{kind} {body}{alignment_text(op)}"


def _initial(value: Attribute | None, type: Attribute) -> str:
    """The initial value of a global."""
    if value is None:
        return "undef"
    if isinstance(value, builtin.StringAttr):
        return f'c"{llvm_string(value.data)}"'
    if not isinstance(value, builtin.DenseIntOrFPElementsAttr):
        raise Unsupported("ll-global", f"a global with the value {value} has no LLVM form")
    return constant_text(value, type)


def _function(op: Operation, debug: DebugMetadata, machine: str) -> str:
    if not isinstance(op, llvm.FuncOp):
        raise Unsupported("ll-operation", f"operation {op.name} is not of the llvm dialect", remedy="convert it first")
    result, name = type_text(op.function_type.output), llvm_symbol(op.sym_name.data)
    if not op.body.blocks:
        return f"declare {result} @{name}({', '.join(map(type_text, op.function_type.inputs))})"
    writer = FunctionWriter(debug)
    arguments = _arguments(writer, op)
    kernel = "ptx_kernel " if "nvvm.kernel" in op.attributes else ""
    place = f" !dbg !{debug.number(cast(Node, op.attributes[DBG]))}" if DBG in op.attributes else ""
    head = f"define {kernel}{result} @{name}({arguments}){machine}{_launch(op)}{place} {{"
    _body(writer, op)
    return "\n".join([head, *writer.lines, "}"])


def _arguments(w: FunctionWriter, op: llvm.FuncOp) -> str:
    """The parameters with their attributes."""
    values = op.body.blocks[0].args
    marks = op.arg_attrs.data if op.arg_attrs is not None else [None] * len(values)
    texts = []
    for value, mark in zip(values, marks):
        if value.name_hint is not None:
            w.names[id(value)] = f"%{value.name_hint}"
        words = (
            []
            if mark is None
            else [FUNCTION_ATTRIBUTES[key](entry) for key, entry in mark.data.items() if key in FUNCTION_ATTRIBUTES]
        )
        texts.append(" ".join([type_text(value.type), *words, w.name(value)]))
    return ", ".join(texts)


# Argument attribute -> LLVM keyword.
FUNCTION_ATTRIBUTES: dict[str, Callable[[Attribute], str]] = {
    "llvm.byval": lambda value: f"byval({type_text(value)})",
    "llvm.align": lambda value: f"align {cast(IntegerAttr, value).value.data}",
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
    # Constants, globals and undefined values are written at their use, which may precede their block.
    written: list[list[Operation]] = []
    for block in blocks:
        everything = block_operations(block)
        for op in everything:
            if op.__class__ in SPELLED:
                SPELLED[op.__class__](w, op)
        written.append([op for op in everything if op.__class__ not in SPELLED])
    incoming = _incoming(blocks)
    for block, operations in zip(blocks, written):
        w.lines.append(f"{w.blocks[block]}:")
        if block is not blocks[0]:
            _phis(w, block, incoming)
        for op in operations:
            write_operation(w, op)


def _phis(w: FunctionWriter, block: Block, incoming: Incoming) -> None:
    """The arguments of a block as phis, with the location of the first branch to it."""
    sources = incoming[block]
    place = terminator(sources[0][0]).attributes.get(DBG) if sources else None
    suffix = f", !dbg !{w.debug.number(cast(Node, place))}" if place is not None else ""
    names = w.names
    labels = [w.blocks[source] for source, _ in sources]
    columns = zip(*[values for _, values in sources], strict=True) if sources else [()] * len(block.args)
    for argument, values in zip(block.args, columns, strict=True):
        pairs = ", ".join([f"[ {names[id(value)]}, %{label} ]" for value, label in zip(values, labels)])
        w.lines.append(f"  {names[id(argument)]} = phi {type_text(argument.type)} {pairs}{suffix}")
