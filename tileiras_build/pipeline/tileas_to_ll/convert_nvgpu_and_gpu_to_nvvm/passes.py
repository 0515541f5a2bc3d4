"""Convert gpu and nvgpu operations to nvvm and llvm.

In:    gpu.*, nvgpu.*, cf.assert, math.* with a libdevice row, arith.* on LLVM types; hand-written or from earlier
       passes.
Out:   llvm.*, nvvm.*; of gpu only the container gpu.module (and gpu.yield) remains, of nvgpu nothing.
After: layouts and schedules are final. Before: translation to LLVM IR.
Sound: an operation without a rewrite is an error that names it; no address changes its memory space.

Other dialects (vector, cf, scf, memref, arith on index) stay; ``builtin.unrealized_conversion_cast`` bridges their
types. Kernels are large, so one walk collects the operations of all passes, and rewrites record the operations that
they add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from xdsl.dialects import arith, cf, func, llvm, scf
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp, VectorType, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ....ir.casting import parent_block
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.fast_xdsl import erase, item, operands_of, ops_of_kind, replace_uses, walk
from ...job import Job
from ...pass_manager import EdgePass
from ...rewriting.dialect_conversion import apply_rules, converted_signature, refuse
from . import arith_to_llvm, gpu_functions, index_queries, libdevice_math  # noqa: F401 - each registers its rewrites
from .libdevice_math import ROOTS, needs_libdevice, scalarize
from .llvm_type_helpers import converter_of
from .rewriter import REWRITES, Emitter

LEGAL = (gpu.GPUModuleOp.name, "gpu.yield")
ILLEGAL = ("gpu.", "nvgpu.", "cf.assert")  # name prefixes; math is illegal if libdevice has the function
# Control flow that forwards values: its types change with those of the values.
STRUCTURAL = (
    cf.BranchOp, cf.ConditionalBranchOp, scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp,
    func.FuncOp, func.CallOp, func.ReturnOp,
)  # fmt: skip


# Collected operations -------------------------------------------------------------------------------------------------

MATH, LAUNCH, ROOT, STRUCTURE, CAST, LEFTOVER = "math", "launch", "root", "structure", "cast", "leftover"
REDUCTION = "reduction"  # converts to operations of several roles
HOST_OR_DEVICE = (LAUNCH, STRUCTURE, CAST)  # the others are device code, or nvgpu operations


# Imported for modules with operations that have no rewrite yet: most kernels only have functions and their indices here.
@cache
def import_rewrites() -> None:
    """Import the other rewrites."""
    from . import (  # noqa: F401 - each registers its rewrites
        assert_printf_barrier,
        cp_async,
        launch_func,
        mbarriers,
        mma_sparse,
        mma_sync_and_ldmatrix,
        packed_arithmetic,
        shuffle_and_subgroup_reduce,
        tensor_maps,
        wgmma,
    )


@cache
def role_of(kind: type[Operation]) -> str | None:
    """The role of an operation class in this conversion; None for classes that it ignores."""
    if kind.name.startswith(ILLEGAL) and kind.name not in REWRITES and kind.name not in LEGAL:
        import_rewrites()
    if kind is gpu.LaunchFuncOp:
        return LAUNCH
    if kind is gpu.AllReduceOp:
        return REDUCTION
    if kind in ROOTS:
        return MATH
    if kind.name in REWRITES:
        return ROOT
    if kind in STRUCTURAL:
        return STRUCTURE
    if kind in (UnrealizedConversionCastOp, arith.IndexCastOp):
        return CAST
    return LEFTOVER if kind.name.startswith(ILLEGAL) and kind.name not in LEGAL else None


Cast = TypeVar("Cast", bound=Operation)


@dataclass
class DeviceOps:
    """The operations of a module by role, and the operations that rewrites add."""

    operations: dict[str, list[Operation]] = field(default_factory=dict)
    carried: list[BlockArgument] = field(default_factory=list)  # block arguments of types that this pass converts
    added: list[Operation] = field(default_factory=list)
    shared: dict[tuple[Block, object], SSAValue] = field(default_factory=dict)  # values that rewrites share

    def of(self, role: str) -> list[Operation]:
        """The operations of a role, in program order."""
        return self.operations.get(role, [])

    def rewriter(self, job: Job) -> Callable[[Operation], Emitter]:
        """Makes the rewriter of an operation."""
        return lambda op: Emitter(op, job, self.added, self.shared)

    def casts(self, kind: type[Cast]) -> list[Cast]:
        """The casts of the module, then those that rewrites added."""
        return [op for op in ops_of_kind((*self.of(CAST), *self.added), kind) if op.parent is not None]


def collect_device_ops(module: ModuleOp) -> DeviceOps:
    """Collect the operations in one walk."""
    found = DeviceOps()
    for everything, on_device in _parts(module):
        roles = {kind: role_of(kind) for kind in {*map(type, everything)} if _is_seen(kind, on_device)}
        for op in everything:
            if (role := roles.get(op.__class__)) is not None:
                found.operations.setdefault(role, []).append(op)
            if op.regions:
                arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
                found.carried += [argument for argument in arguments if _is_carried(argument.type)]
    return found


def _is_seen(kind: type[Operation], on_device: bool) -> bool:
    return on_device or role_of(kind) in HOST_OR_DEVICE or kind.name.startswith("nvgpu.")


def _parts(module: ModuleOp) -> Iterator[tuple[list[Operation], bool]]:
    """Every operation, and whether it is device code: in a gpu.module, or anywhere if the module has none."""
    has_host = any(isinstance(op, gpu.GPUModuleOp) for op in module.body.blocks[0].ops)
    for top in module.body.blocks[0].ops:
        on_device = not has_host or isinstance(top, gpu.GPUModuleOp)
        yield walk(top), on_device


def device_operations(module: ModuleOp) -> Iterator[Operation]:
    """The operations of the device code, and nvgpu ones wherever they are."""
    return (op for part, on_device in _parts(module) for op in part if on_device or op.name.startswith("nvgpu."))


# Passes ---------------------------------------------------------------------------------------------------------------


class ScalarizeVectorMath(EdgePass):
    """Scalarize vector math."""

    name = "scalarize-vector-math"

    def run(self, module: ModuleOp, job: Job) -> None:
        """Scalable vectors stay."""
        _scalarize(collect_device_ops(module), job)


class ConvertMathToLibdevice(EdgePass):
    """Call libdevice for scalar math; reject vector math."""

    name = "convert-math-to-libdevice"

    def run(self, module: ModuleOp, job: Job) -> None:
        """Report every operation without a callee."""
        _convert_math(collect_device_ops(module), job)


class ConvertNVGPUAndGPUToNVVM(EdgePass):
    """Convert gpu and nvgpu operations, assertions and libdevice math to nvvm and llvm."""

    name = "convert-nvgpu-and-gpu-to-nvvm"
    illegal_ops = frozenset(("nvgpu.",))

    def run(self, module: ModuleOp, job: Job) -> None:
        """Vector math first, then every operation by its rewrite; remaining operations are reported by name."""
        found = collect_device_ops(module)
        if reduced := found.of(REDUCTION):
            from .all_reduce import expand

            apply_rules(reduced, {gpu.AllReduceOp.name: expand}, found.rewriter(job))
            found = collect_device_ops(module)
        _scalarize(found, job)
        _convert_math(found, job)
        # Launches first: they read the signatures of kernels. Functions last: rewrites read the launch bounds of the
        # enclosing function.
        apply_rules(found.of(LAUNCH), REWRITES, found.rewriter(job))
        roots = sorted([*found.of(ROOT), *_without_math(found)], key=lambda op: isinstance(op, gpu.GPUFuncOp))
        apply_rules(roots, REWRITES, found.rewriter(job))
        _convert_carried_types(found, job)
        _remove_bridge_casts(found)
        refuse(found.of(LEFTOVER), self.name)


def _convert_math(found: DeviceOps, job: Job) -> None:
    apply_rules(_math(found), libdevice_math.RULES, found.rewriter(job))


def _math(found: DeviceOps) -> list[Operation]:
    added = [op for op in found.added if role_of(op.__class__) == MATH]
    return [op for op in (*found.of(MATH), *added) if op.parent is not None and needs_libdevice(op)]


def _without_math(found: DeviceOps) -> list[Operation]:
    """The operations without a libdevice function that have a rewrite."""
    return [op for op in found.of(MATH) if op.parent is not None and op.name in REWRITES]


def _scalarize(found: DeviceOps, job: Job) -> None:
    for op in _math(found):
        if isinstance(op.results[0].type, VectorType):
            scalarize(op, found.rewriter(job)(op))


def _is_carried(type: Attribute) -> bool:
    """Whether this pass converts a type; those of other dialects have lowerings of their own."""
    return type.name.startswith("nvgpu.")


def _convert_carried_types(found: DeviceOps, job: Job) -> None:
    """Set the LLVM types of nvgpu values that cross blocks and loops."""
    convert = lambda type: converter_of(job.index_width).convert(type) if _is_carried(type) else type
    at = found.rewriter(job)
    for op in found.of(STRUCTURE):
        for index, operand in enumerate(op.operands):
            if _is_carried(operand.type):
                op.operands[index] = at(op).as_type(operand, convert(operand.type))
        for result in op.results:
            if op.next_op is not None:
                at(op.next_op).retype(result, convert(result.type))
    for argument in found.carried:
        if argument.block.first_op is not None:
            at(argument.block.first_op).retype(argument, convert(argument.type))
    for function in ops_of_kind(found.of(STRUCTURE), func.FuncOp):
        function.properties["function_type"] = converted_signature(function.function_type, convert)


def _remove_bridge_casts(found: DeviceOps) -> None:
    """Cancel pairs of inverse casts, and drop unused casts."""
    for cast in found.casts(arith.IndexCastOp):
        _join_index_cast(cast)
    bridges = found.casts(UnrealizedConversionCastOp)
    for op in reversed(bridges):
        source = _has_bridge_cast(op)
        if isinstance(source, UnrealizedConversionCastOp) and len(operands_of(source)) == 1:
            before, after = item(operands_of(source), 0), item(op.results, 0)
            if before.type == after.type:
                replace_uses(after, before)
    for op in bridges:
        _erase_unused(op)


def _has_bridge_cast(op: Operation) -> Operation | Block | None:
    """The definition of a bridge cast's value; None if it has several."""
    return item(operands_of(op), 0).owner if len(operands_of(op)) == 1 else None


def _erase_unused(op: Operation | Block | None) -> None:
    """Erase an unused bridge cast, and those that only it used."""
    while isinstance(op, UnrealizedConversionCastOp) and op.parent is not None and not any(r.uses for r in op.results):
        source = _has_bridge_cast(op)
        erase(op)
        op = source


def _join_index_cast(op: arith.IndexCastOp) -> None:
    """Cancel an index cast of an integer that was cast to index."""
    bridge = op.input.owner
    if not isinstance(bridge, UnrealizedConversionCastOp) or bridge.inputs.types != (i64,):
        return
    if op.result.type == i64:
        op.result.replace_all_uses_with(bridge.inputs[0])
    elif op.result.type == i32:
        trunc = llvm.TruncOp(bridge.inputs[0], i32)
        parent_block(op).insert_op_before(trunc, op)
        op.result.replace_all_uses_with(trunc.res)
    else:
        return
    erase(op)
