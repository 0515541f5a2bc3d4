"""GPU functions, their buffers, and dynamic shared memory."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType, MemRefType, UnitAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....ir.casting import unwrap
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.checked_cast import type_as
from ....ir.dialects.llvm_ext import AddrSpaceCastOp, make_function, make_global
from ....ir.dialects.nvgpu.types import SHARED, address_space
from ...common.llvm_type_constructors import array
from ..type_converter import LLVMTypeConverter
from .llvm_type_helpers import SHARED_POINTER, element_bytes, static_strides, struct_of
from .rewriter import Emitter, rewrite

DYNAMIC_SHARED = "__dynamic_shmem__"
DYNAMIC_ALIGNMENT = 16  # bytes that the driver guarantees for the start of dynamic shared memory

# Attribute of gpu.func -> attribute of the kernel.
LAUNCH_BOUNDS = {
    "known_block_size": "nvvm.reqntid",
    "gpu.known_block_size": "nvvm.reqntid",
    "known_cluster_size": "nvvm.cluster_dim",
    "gpu.known_cluster_size": "nvvm.cluster_dim",
}
_DROPPED = ("known_grid_size", "gpu.known_grid_size")


@rewrite(gpu.GPUFuncOp)
def convert_function(emit: Emitter, op: gpu.GPUFuncOp) -> None:
    """``llvm.func`` with the converted signature; buffers become globals in shared memory, or stack objects."""
    body = emit.root.regions[0]
    entry = body.blocks[0]
    count = len(op.function_type.inputs.data)
    inside = emit.at(unwrap(entry.first_op))
    _bind_buffers(op, list(entry.args[count:]), inside)
    converter = LLVMTypeConverter(index_width=emit.job.index_width, bare_pointers=op.kernel is not None)
    for argument in entry.args:
        if converter.bare_pointers:
            _check_strides(argument, emit)
        inside.retype(argument, converter.argument(argument.type))
    type = llvm.LLVMFunctionType([argument.type for argument in entry.args], _result(op, converter))
    made = make_function(op.sym_name.data, type, op.detach_region(body))
    made.properties |= {"arg_attrs": op.arg_attrs} if op.arg_attrs is not None else {}
    made.attributes |= _attributes(op)
    emit.replace_with(made)


def _result(op: gpu.GPUFuncOp, converter: LLVMTypeConverter) -> Attribute:
    types = [converter.convert(type) for type in op.function_type.outputs.data]
    return llvm.LLVMVoidType() if not types else types[0] if len(types) == 1 else struct_of(types)


def _attributes(op: gpu.GPUFuncOp) -> dict[str, Attribute]:
    kept = {LAUNCH_BOUNDS.get(name, name): value for name, value in op.attributes.items() if name not in _DROPPED}
    return kept | ({"gpu.kernel": UnitAttr(), "nvvm.kernel": UnitAttr()} if op.kernel is not None else {})


def _check_strides(argument: BlockArgument, emit: Emitter) -> None:
    """Reject strides that a bare pointer cannot represent: a kernel needs separate arguments for them."""
    if isinstance(type := argument.type, MemRefType) and static_strides(type) is None:
        message = f"takes the pointer of a '{type}' alone, and not its strides"
        raise emit.unsupported("kernel-strides", message, "pass what is known at run time as arguments of their own")


def _bind_buffers(op: gpu.GPUFuncOp, buffers: list[BlockArgument], inside: Emitter) -> None:
    for position, buffer in enumerate(buffers):
        bind = _shared_buffer if position < op.workgroup_count else _private_buffer
        address = bind(op, position, type_as(buffer, MemRefType), inside)
        buffer.replace_all_uses_with(inside.as_type(address, buffer.type))
        buffer.block.erase_arg(buffer)


def _storage(type: MemRefType, inside: Emitter) -> llvm.LLVMArrayType:
    if not type.has_static_shape():
        raise inside.unsupported("buffer-shape", f"cannot allocate a buffer of type {type}")
    return array(type.element_count(), inside.types.convert(type.element_type))


def _shared_buffer(op: gpu.GPUFuncOp, position: int, type: MemRefType, inside: Emitter) -> SSAValue:
    name = inside.fresh_symbol(f"__wg_{op.sym_name.data}_{position}")
    size = element_bytes(type.element_type)
    inside.add_global(make_global(_storage(type, inside), name, "internal", SHARED, alignment=max(size, 16)))
    return inside.insert(llvm.AddressOfOp(name, SHARED_POINTER))


def _private_buffer(op: gpu.GPUFuncOp, position: int, type: MemRefType, inside: Emitter) -> SSAValue:
    storage, wanted = _storage(type, inside), inside.types.memory_pointer(type)
    buffer = inside.insert(llvm.AllocaOp(inside.constant(1), storage, max(element_bytes(type.element_type), 16)))
    return buffer if buffer.type == wanted else inside.insert(AddrSpaceCastOp(buffer, wanted))


@rewrite(gpu.ReturnOp)
def convert_return(emit: Emitter, op: gpu.ReturnOp) -> None:
    """``llvm.return`` of nothing, a value, or a struct of values."""
    values = [emit.converted(value) for value in op.args]
    single = emit.struct(values) if len(values) > 1 else next(iter(values), None)
    emit.replace_with(llvm.ReturnOp(single))


@rewrite(gpu.DynamicSharedMemoryOp)
def convert_dynamic_shared_memory(emit: Emitter, op: gpu.DynamicSharedMemoryOp) -> None:
    """One unsized global per module, whose size the launch sets: an existing one, or a new one."""
    if address_space(type_as(op.result, MemRefType).memory_space) != SHARED:
        raise emit.unsupported("dynamic-shared-space", f"must be in shared memory, but got '{op.result.type}'")
    if (found := _dynamic_shared(emit.symbols)) is None:
        type = array(0, IntegerType(8))
        made = make_global(type, DYNAMIC_SHARED, "external", SHARED, alignment=DYNAMIC_ALIGNMENT)
        found = emit.add_global(made)
    emit.replace(llvm.AddressOfOp(found.sym_name, SHARED_POINTER))


def _dynamic_shared(module: Operation) -> llvm.GlobalOp | None:
    variables = (op for op in module.regions[0].block.ops if isinstance(op, llvm.GlobalOp))
    return next((op for op in variables if _is_dynamic_shared(op)), None)


def _is_dynamic_shared(variable: llvm.GlobalOp) -> bool:
    type = variable.global_type
    has_no_size = isinstance(type, llvm.LLVMArrayType) and type.size.data == 0
    return has_no_size and variable.addr_space.value.data == SHARED and variable.linkage.linkage.data == "external"
