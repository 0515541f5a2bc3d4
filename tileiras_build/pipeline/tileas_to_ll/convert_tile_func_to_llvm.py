"""Convert tile functions to functions with LLVM's ABI, and mark kernels in two steps.

In:    nv_tileaa.func; a kernel has num_warps (and the entry's optimization hints) or nv_tileaa.kernel_spec, any other
       function is a helper; nv_tileaa.return.
Out:   func.func and func.return (llvm.return inside other operations, where func.return is invalid), arguments in their
       LLVM form (memory references of kernels as bare pointers), casts to the old types for the body. Kernels have
       cute.kernel, nvvm.reqntid, nvvm.minctasm, and if applicable nvvm.maxnreg, nvvm.cluster_dim and
       nvvm.blocksareclusters. FinalizeKernelEntry replaces cute.kernel by nvvm.kernel and converts argument attributes.
After: layouts are assigned (the number of warps is final). Before: the bodies are converted.
Sound: the register limit is the share of the register file per thread at that occupancy; the final marker is set only
       if all arguments are LLVM-compatible.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i32,
)
from xdsl.dialects.llvm import is_compatible_type
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.errors import InternalError, InvalidInput, Unsupported
from ...ir.casting import cast, int_attr, str_attr
from ...ir.dialects.cuda_tile.location import source_location
from ...ir.dialects.fast_xdsl import create, replace_uses, walk
from ...ir.dialects.nv_tileaa.kernel_spec import KernelSpecAttr
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pass_manager import EdgePass
from .type_converter import LLVMTypeConverter

# With fewer, any kernel would spill.
MIN_REGISTERS = 32
SPECIFICATION = "nv_tileaa.kernel_spec"
# The attributes that mark a kernel before it is final, and those that only kernels have.
MARKERS = ("cute.kernel", "tile.kernel")
LAUNCH_BOUNDS = ("nvvm.reqntid", "nvvm.minctasm", "nvvm.maxnreg", "nvvm.cluster_dim")
# Argument attributes before and after the kernel is final.
ARGUMENT_ATTRIBUTES = {"cute_nvgpu.grid_constant": "nvvm.grid_constant"}


class ConvertTileFuncToLLVM(EdgePass):
    """Convert functions to LLVM's ABI, and add launch bounds to kernels."""

    name = "convert-nv-tile-func-to-llvm"
    illegal_ops = frozenset({"nv_tileaa.func", "nv_tileaa.return"})

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in functions(module):
            if op.name == "nv_tileaa.func":
                _convert(op, job)


class FinalizeKernelEntry(EdgePass):
    """Set the NVVM kernel marker, once arguments have their final types."""

    name = "convert-cute-kernel-to-nvvm"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in functions(module):
            if _is_entry(op):
                _finalize(op)


def functions(module: Operation) -> list[Operation]:
    """The functions of a module and of its device modules."""
    found: list[Operation] = []
    for op in module.regions[0].block.ops:
        found += functions(op) if op.name in ("builtin.module", "gpu.module") else [op]
    return found


# ---- functions -------------------------------------------------------------------------------------
def _convert(op: Operation, job: Job) -> None:
    spec = specification(op)
    returns = [inner for inner in walk(op) if inner.name == "nv_tileaa.return"]
    if spec is not None:
        _refuse_results(returns)
    converter = LLVMTypeConverter(index_width=job.index_width, bare_pointers=spec is not None)
    results = [value.type for value in returns[-1].operands] if returns else []
    block = op.regions[0].blocks[0]
    signature = converter.function(block.arg_types, results)
    for argument, type in zip(list(block.args), signature.inputs.data):
        _convert_argument(argument, type, block)
    for inner in returns:
        _convert_return(inner, signature.outputs.data)
    attributes = {key: value for key, value in op.attributes.items() if key not in ("sym_name", "arg_attrs")}
    if spec is not None:
        attributes |= launch_bounds(spec, op, job)
    function = func.FuncOp(
        str_attr(op, "sym_name"),
        signature,
        op.detach_region(0),
        arg_attrs=_kernel_markers(op.attributes.get("arg_attrs")),
    )
    function.attributes |= attributes
    function.location = op.location
    Rewriter.replace_op(op, function, [])


def specification(op: Operation) -> KernelSpecAttr | None:
    """How a kernel is launched; None for a helper function."""
    if isinstance(spec := op.attributes.get(SPECIFICATION), KernelSpecAttr):
        return spec
    if "num_warps" not in op.attributes:
        return None
    warps = int_attr(op, "num_warps") + int_attr(op, "producer_warps", 0)
    return KernelSpecAttr.of(warps, (int_attr(op, "num_ctas", 1), 1, 1))


def _refuse_results(returns: list[Operation]) -> None:
    for inner in returns:
        if inner.operands:
            raise InvalidInput(
                "kernel-return",
                "Kernel functions do not support return with operands",
                location=source_location(inner),
                remedy="store the results through a pointer argument",
            )


def _convert_argument(argument: SSAValue, type: Attribute, block: Block) -> None:
    if argument.type == type:
        return
    old = argument.type
    fresh = Rewriter.replace_value_with_new_type(argument, type)
    cast = create(UnrealizedConversionCastOp, (), (old,))
    [value] = cast.results
    replace_uses(fresh, value)
    cast.operands = [fresh]
    Rewriter.insert_op(cast, InsertPoint.at_start(block))


def _convert_return(op: Operation, types: tuple[Attribute, ...]) -> None:
    values: list[SSAValue] = []
    for value, type in zip(op.operands, types):
        if value.type != type:
            cast, value = UnrealizedConversionCastOp.cast_one(value, type)
            Rewriter.insert_op(cast, InsertPoint.before(op))
        values.append(value)
    made = func.ReturnOp(*values) if _ends_function(op) else _early_return(op, values)
    made.attributes |= op.attributes
    made.location = op.location
    Rewriter.replace_op(op, made, [])


def _ends_function(op: Operation) -> bool:
    around = op.parent_op()
    return around is not None and around.name == "nv_tileaa.func"


def _early_return(op: Operation, values: list[SSAValue]) -> llvm.ReturnOp:
    if len(values) > 1:
        raise Unsupported(
            "early-return",
            f"a return from inside another operation has at most one value, not {len(values)}",
            location=source_location(op),
            remedy="return at the end of the function",
        )
    return llvm.ReturnOp(*values)


# ---- kernels ---------------------------------------------------------------------------------------
def launch_bounds(spec: KernelSpecAttr, op: Operation, job: Job) -> dict[str, Attribute]:
    """The attributes of a kernel whose function is converted."""
    warps = spec.num_warps.data
    bounds: dict[str, Attribute] = {
        "cute.kernel": UnitAttr(),
        "nvvm.reqntid": IntegerAttr(WARP * warps, i32),
        "nvvm.minctasm": IntegerAttr(max(spec.num_ctas.data, _ctas_of_stages(op, job)), i32),
    }
    if limit := spec.max_registers.data or _register_limit(job.target, warps, _ctas_per_sm(op, job)):
        bounds["nvvm.maxnreg"] = IntegerAttr(limit, i32)
    if job.target.has("cluster") and prod(spec.cluster_dim) > 1:
        bounds["nvvm.cluster_dim"] = DenseArrayBase.from_list(i32, spec.cluster_dim)
        if "grid_cluster" not in op.attributes:  # its grid counts CTAs
            bounds["nvvm.blocksareclusters"] = UnitAttr()
    return bounds


def _ctas_per_sm(op: Operation, job: Job) -> int | None:
    """The CTAs per SM that a kernel asks for, or fewer where shared memory does not hold them; None if it asks for none.

    Where warps exchange registers, their counts are for the CTAs that it asks for: none may have more at launch.
    """
    wanted, taken = occupancy(op, job), int_attr(op, "shared_bytes", 0)
    if wanted is None or "partition_registers" in op.attributes:
        return wanted
    return job.target.ctas_with(taken, wanted)


def _ctas_of_stages(op: Operation, job: Job) -> int:
    """The CTAs per SM that the stages of a kernel are for, or fewer where shared memory does not hold them."""
    return job.target.ctas_with(int_attr(op, "shared_bytes", 0), int_attr(op, "ctas_of_stages", 1))


def _register_limit(target: Target, warps: int, ctas: int | None) -> int | None:
    """Registers per thread at this occupancy; None if the kernel requests none.

    ptxas takes this limit literally, and a launch fails if the threads need more than the register file of their
    partition.
    """
    if not ctas:
        return None
    return min(max(target.sm_limits.registers_of(ctas * warps), MIN_REGISTERS), target.max_registers)


def _is_entry(op: Operation) -> bool:
    """Whether a function is a kernel that is not final yet."""
    return "nvvm.kernel" not in op.attributes and not op.attributes.keys().isdisjoint((*MARKERS, *LAUNCH_BOUNDS))


def _finalize(op: Operation) -> None:
    if op.attributes.keys().isdisjoint(MARKERS):
        name = cast(StringAttr, op.properties["sym_name"]).data
        message = f"@{name} has launch bounds, but neither {' nor '.join(MARKERS)} marks it as a kernel"
        raise InternalError("entry-unmarked", message, location=source_location(op))
    block = op.regions[0].blocks[0]
    for type in block.arg_types:
        if not is_compatible_type(type):
            raise InternalError("entry-not-ready", f"a kernel's argument has type {type}, which is not LLVM's")
    for marker in MARKERS:
        op.attributes.pop(marker, None)
    op.attributes["nvvm.kernel"] = UnitAttr()
    threads = op.attributes["nvvm.reqntid"]
    if isinstance(threads, IntegerAttr):
        op.attributes["nvvm.reqntid"] = DenseArrayBase.from_list(i32, [threads.value.data, 1, 1])
    if (marks := _kernel_markers(op.properties.get("arg_attrs"))) is not None:
        op.properties["arg_attrs"] = ArrayAttr([_nvvm_markers(entry) for entry in marks.data])


def _kernel_markers(found: Attribute | None) -> ArrayAttr[DictionaryAttr] | None:
    """The argument attributes of a function."""
    return None if found is None else ArrayAttr([cast(DictionaryAttr, entry) for entry in cast(ArrayAttr, found)])


def _nvvm_markers(marks: DictionaryAttr) -> DictionaryAttr:
    return DictionaryAttr({ARGUMENT_ATTRIBUTES.get(key, key): value for key, value in marks.data.items()})
