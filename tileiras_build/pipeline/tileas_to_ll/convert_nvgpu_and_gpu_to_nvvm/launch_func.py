"""Launches from host code: arguments packed for the driver, and calls of MLIR's CUDA runtime wrappers.

The wrappers (``mgpu*``, MLIR's mlir_cuda_runtime library) check driver errors. The loaded device code is the pointer
variable ``@<module>_module``, which the loader of the cubin sets.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import MemRefType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import unwrap
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.gpu_launch_func import LaunchFuncOp
from ....ir.dialects.llvm_ext import make_global
from ...common.llvm_type_constructors import array
from .llvm_type_helpers import POINTER, struct_of
from .rewriter import Emitter, rewrite
from .symbols import symbol

VOID = llvm.LLVMVoidType()
# Wrapper -> (result, types of its arguments); the sizes come first, those of a cluster before the grid's.
_TAIL = [i32, POINTER, POINTER, POINTER, i64]  # shared memory, stream, arguments, extra, number of arguments
RUNTIME: dict[str, tuple[Attribute, list[Attribute]]] = {
    "mgpuModuleGetFunction": (POINTER, [POINTER, POINTER]),
    "mgpuStreamCreate": (POINTER, []),
    "mgpuStreamSynchronize": (VOID, [POINTER]),
    "mgpuStreamDestroy": (VOID, [POINTER]),
    "mgpuLaunchKernel": (VOID, [POINTER, *[i64] * 6, *_TAIL]),
    "mgpuLaunchClusterKernel": (VOID, [POINTER, *[i64] * 9, *_TAIL]),
}


@rewrite(LaunchFuncOp)
def convert_launch(emit: Emitter, op: LaunchFuncOp) -> None:
    """Look up the kernel, pack the arguments, launch; without a stream of its own the launch waits for the kernel."""
    if op.asyncToken is not None or op.asyncDependencies:
        raise emit.unsupported("launch-async", "has an asynchronous token", "give the launch a stream instead")
    _check_kernel(op, emit)
    function = _function(op, emit)
    arguments = _packed(op, emit)
    stream = op.asyncObject or unwrap(_call(emit, "mgpuStreamCreate"))
    sizes = [_wide(size, emit) for size in (*op.clusterSizes, *op.gridSizes, *op.blockSizes)]
    shared = op.dynamicSharedMemorySize or emit.constant(0)
    count = emit.constant(len(op.kernelOperands), i64)
    name = "mgpuLaunchClusterKernel" if op.clusterSizes else "mgpuLaunchKernel"
    _call(
        emit,
        name,
        function,
        *sizes,
        shared,
        stream,
        arguments,
        emit.insert(llvm.ZeroOp.build(result_types=[POINTER])),
        count,
    )
    if op.asyncObject is None:
        _call(emit, "mgpuStreamSynchronize", stream)
        _call(emit, "mgpuStreamDestroy", stream)
    emit.replace()


def _check_kernel(op: LaunchFuncOp, emit: Emitter) -> None:
    module, name = op.kernel.root_reference.data, op.kernel.nested_references.data[0].data
    container = symbol(emit.symbols, module)
    kernel = symbol(container, name) if isinstance(container, gpu.GPUModuleOp) else None
    if not isinstance(kernel, gpu.GPUFuncOp) or kernel.kernel is None:
        raise emit.unsupported("launch-kernel", f"launches @{module}::@{name}, which is not a kernel of this module")
    if kernel.function_type.inputs.data != op.kernelOperands.types:
        wanted = ", ".join(map(str, kernel.function_type.inputs.data))
        raise emit.unsupported("launch-arguments", f"must give @{module}::@{name} arguments of types ({wanted})")


def _function(op: LaunchFuncOp, emit: Emitter) -> SSAValue:
    module, name = op.kernel.root_reference.data, op.kernel.nested_references.data[0].data
    variable = f"{module}_module"
    if symbol(emit.symbols, variable) is None:
        emit.add_global(make_global(POINTER, variable, "external"))
    loaded = emit.insert(llvm.LoadOp(emit.insert(llvm.AddressOfOp(variable, POINTER)), POINTER))
    text = emit.host_string(f"{module}_{name}_name", name)
    return unwrap(_call(emit, "mgpuModuleGetFunction", loaded, text))


def _packed(op: LaunchFuncOp, emit: Emitter) -> SSAValue:
    """An array of pointers to the arguments, which are in one struct (CUDA driver API, cuLaunchKernel)."""
    values = [_argument(value, emit) for value in op.kernelOperands]
    storage = struct_of([value.type for value in values])
    pointers = array(len(values), POINTER)
    entry = _at_entry(op, emit)
    one = entry.constant(1)
    arguments, addresses = (entry.insert(llvm.AllocaOp(one, type)) for type in (storage, pointers))
    for index, value in enumerate(values):
        place = emit.insert(llvm.GEPOp(arguments, [0, index], storage))
        emit.insert(llvm.StoreOp(value, place))
        emit.insert(llvm.StoreOp(place, emit.insert(llvm.GEPOp(addresses, [0, index], pointers))))
    return addresses


def _argument(value: SSAValue, emit: Emitter) -> SSAValue:
    """The kernel argument of a value; that of a memref is its pointer."""
    return emit.aligned(value) if isinstance(value.type, MemRefType) else emit.converted(value)


def _at_entry(op: Operation, emit: Emitter) -> Emitter:
    """An emitter at the function's entry, where stack storage is allocated once for all launches."""
    function = emit.function
    return emit if function is None else emit.at(unwrap(function.regions[0].blocks[0].first_op))


def _wide(size: SSAValue, emit: Emitter) -> SSAValue:
    value = emit.converted(size)
    return value if value.type == i64 else emit.insert(llvm.ZExtOp(value, i64))


def _call(emit: Emitter, name: str, *arguments: SSAValue) -> SSAValue | None:
    result, types = RUNTIME[name]
    emit.declare(name, llvm.LLVMFunctionType(types, result))
    return emit.insert(llvm.CallOp(name, *arguments, return_type=None if result == VOID else result))
