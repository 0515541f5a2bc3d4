"""Convert gpu and nvgpu operations to nvvm and llvm.

In:    gpu.*, nvgpu.*, cf.assert, math.* with a libdevice row; hand-written or from earlier conversions.
Out:   llvm.*, nvvm.*; of gpu only the container gpu.module (and gpu.yield) remains, of nvgpu nothing.
After: layouts and schedules are final. Before: translation to LLVM IR.
Sound: an operation without a rewrite is an error that names it; no address is moved to another memory space.

Other dialects (arith, vector, cf, scf, memref) stay; ``builtin.unrealized_conversion_cast`` bridges their types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects import arith, cf, llvm, scf
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp, VectorType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import gpu_ext as gpu
from ....errors import Diagnostics, Unsupported
from ...contracts import EdgePass
from ...job import Job
from . import (  # noqa: F401 - each registers its rewrites
    async_copies,
    functions,
    index_queries,
    launches,
    matrices,
    mbarriers,
    messages,
    packed,
    tensor_maps,
    warpgroups,
    warps,
)
from .conversion import REWRITES, Emitter, convert_type, location_of
from .libdevice_math import convert_math, needs_libdevice, scalarize

LEGAL = (gpu.GPUModuleOp.name, "gpu.yield")
ILLEGAL_DIALECTS = ("gpu.", "nvgpu.")
# Control flow that passes values on: their types change with the values.
STRUCTURAL = (cf.BranchOp, cf.ConditionalBranchOp, scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)


class ScalarizeVectorMath(EdgePass):
    """Take vector math apart into one scalar operation per lane."""

    name = "scalarize-vector-math"

    def run(self, module: ModuleOp, job: Job) -> None:
        """Vectors of unknown length stay."""
        for op in _math_operations(module):
            if isinstance(op.results[0].type, VectorType):
                scalarize(op, Emitter(op, job))


class ConvertMathToLibdevice(EdgePass):
    """Call libdevice for scalar math; vector math is refused."""

    name = "convert-math-to-libdevice"

    def run(self, module: ModuleOp, job: Job) -> None:
        """Every operation without a callee is reported."""
        _convert(_math_operations(module), convert_math, job)


class ConvertNVGPUAndGPUToNVVM(EdgePass):
    """Convert gpu and nvgpu operations, assertions and libdevice math to nvvm and llvm."""

    name = "convert-nvgpu-and-gpu-to-nvvm"
    removes = frozenset(("nvgpu.",))

    def run(self, module: ModuleOp, job: Job) -> None:
        """Vector math first, then every operation by its rewrite; what is left over is reported by name."""
        ScalarizeVectorMath().run(module, job)
        ConvertMathToLibdevice().run(module, job)
        # Launches first: they ask the kernels for their signatures. A function last: rewrites ask the one around them
        # for its launch bounds.
        _convert(_launches(module), launches.convert_launch, job)
        operations = [op for op in device_operations(module) if type(op) in REWRITES]
        operations.sort(key=lambda op: isinstance(op, gpu.GPUFuncOp))
        _convert(operations, lambda op, emit: REWRITES[type(op)](op, emit), job)
        _convert_carried_types(module, job)
        _remove_bridges(module)
        _refuse_leftovers(module)


def device_operations(module: ModuleOp) -> Iterator[Operation]:
    """The operations of the gpu.modules, or of the whole module where there is none; nvgpu ones wherever they are."""
    has_host = any(isinstance(op, gpu.GPUModuleOp) for op in module.body.blocks[0].ops)
    for top in module.body.blocks[0].ops:
        on_device = not has_host or isinstance(top, gpu.GPUModuleOp)
        yield from (op for op in top.walk() if on_device or op.name.startswith("nvgpu."))


def _launches(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]


def _math_operations(module: ModuleOp) -> list[Operation]:
    return [op for op in device_operations(module) if needs_libdevice(op)]


def _convert(operations: list[Operation], convert: Callable[[Operation, Emitter], None], job: Job) -> None:
    """All failures are reported together."""
    found = Diagnostics()
    for op in operations:
        try:
            convert(op, Emitter(op, job))
        except Unsupported as error:
            found.add(error)
    found.raise_if_any()


def _refuse_leftovers(module: ModuleOp) -> None:
    found = Diagnostics()
    for op in device_operations(module):
        if op.name.startswith(ILLEGAL_DIALECTS) and op.name not in LEGAL:
            found.add(
                Unsupported(
                    "illegal-operation",
                    f"failed to legalize operation '{op.name}' that was explicitly marked illegal",
                    location=location_of(op),
                    remedy=f"no rewrite of {ConvertNVGPUAndGPUToNVVM.name} has it as its root",
                )
            )
    found.raise_if_any()


def _is_carried(type: Attribute) -> bool:
    """Whether a type ends with this pass; those of other dialects have lowerings of their own."""
    return type.name.startswith("nvgpu.")


def _convert_carried_types(module: ModuleOp, job: Job) -> None:
    """Give nvgpu values that cross blocks and loops their LLVM types."""
    for op in [op for op in module.walk() if isinstance(op, STRUCTURAL)]:
        emit = Emitter(op, job)
        for index, operand in enumerate(op.operands):
            if _is_carried(operand.type):
                op.operands[index] = emit.converted(operand)
        for result in op.results:
            _retype(result, op.next_op, job)
    for block in [block for op in module.walk() for region in op.regions for block in region.blocks]:
        for argument in block.args:
            _retype(argument, block.first_op, job)


def _retype(value: SSAValue, before: Operation | None, job: Job) -> None:
    if not _is_carried(value.type) or before is None:
        return
    old, uses = value.type, list(value.uses)
    value._type = convert_type(old)  # noqa: SLF001 - xDSL has no other way to change a type in place
    bridge = Emitter(before, job).as_type(value, old)
    for use in uses:
        use.operation.operands[use.index] = bridge


def _remove_bridges(module: ModuleOp) -> None:
    """Join pairs of casts that undo each other, and drop those that nobody reads."""
    for op in [op for op in module.walk() if isinstance(op, arith.IndexCastOp)]:
        _join_index_cast(op)
    for op in reversed([op for op in module.walk() if isinstance(op, UnrealizedConversionCastOp)]):
        source = op.inputs[0].owner if len(op.inputs) == 1 else None
        if isinstance(source, UnrealizedConversionCastOp) and source.inputs.types == tuple(op.result_types):
            op.results[0].replace_all_uses_with(source.inputs[0])
    for op in reversed([op for op in module.walk() if isinstance(op, UnrealizedConversionCastOp)]):
        if not any(list(result.uses) for result in op.results):
            op.detach()
            op.erase()


def _join_index_cast(op: arith.IndexCastOp) -> None:
    """An index that came from an integer goes back to one without being an index between."""
    bridge = op.input.owner
    if not isinstance(bridge, UnrealizedConversionCastOp) or bridge.inputs.types != (i64,):
        return
    if op.result.type == i64:
        op.result.replace_all_uses_with(bridge.inputs[0])
    elif op.result.type == i32:
        trunc = llvm.TruncOp(bridge.inputs[0], i32)
        op.parent.insert_op_before(trunc, op)
        op.result.replace_all_uses_with(trunc.res)
    else:
        return
    op.detach()
    op.erase()
