"""Convert cute, cute_nvgpu and cutlass operations to llvm and nvvm.

In:    cute.*, cute_nvgpu.*, cutlass.*, in functions of any dialect; hand-written or from earlier conversions.
Out:   llvm.* and nvvm.*; values that cross blocks and functions are structs of their leaves. Other dialects stay.
After: layouts and schedules are final. Before: convert_nvgpu_and_gpu_to_nvvm, which converts the remaining gpu
       operations.
Sound: layouts are desugared before the atoms that decompose them; a leaf whose type and value contradict each other is
       rejected; an operation without a rewrite is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....core.errors import InternalError
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.fast_xdsl import erase, set_type, walk
from ....ir.dialects.op_definition import TableOp
from ...job import Job
from ...pass_manager import EdgePass
from ...rewriting.dialect_conversion import RuleTable, converted_signature, refuse, signature_types
from .converted_values import BLOCK_ARGUMENT_OPS, ConvertedValue, Converter, is_companion, with_static_info

Owned = Callable[[Attribute], bool]


# Rules are imported for modules that have something to convert: most kernels have no tensor cores.
@cache
def cute_rules() -> RuleTable:
    """The rules of cute and cute_nvgpu."""
    from . import atoms, atoms_sm80, atoms_sm90, atoms_sm100, descriptors, layouts, memory  # noqa: F401 - they register atoms

    return RuleTable(layouts.REWRITES, memory.REWRITES, descriptors.REWRITES, atoms.CALLS, atoms.REWRITES)


def cutlass_rules() -> RuleTable:
    """The rules of cutlass."""
    from .pipelines import REWRITES

    return REWRITES


class ConvertCuteAndCuteNvgpuToLLVM(EdgePass):
    """Desugar layouts to integers, descriptors and tuples to values, atoms to instructions."""

    name = "convert-cute-and-cute-nvgpu-to-llvm"
    illegal_ops = frozenset({"cute.", "cute_nvgpu."})

    def run(self, module: ModuleOp, job: Job) -> None:
        convert(module, job, cute_rules, ("cute.", "cute_nvgpu."), self.name)


class ConvertPipelineToNVVM(EdgePass):
    """Lower CUTLASS pipelines to mbarriers in shared memory."""

    name = "convert-pipeline-to-nvvm"
    illegal_ops = frozenset({"cutlass."})

    def run(self, module: ModuleOp, job: Job) -> None:
        convert(module, job, cutlass_rules, ("cutlass.",), self.name)


def convert(module: ModuleOp, job: Job, rules: Callable[[], RuleTable], dialects: tuple[str, ...], name: str) -> None:
    """Rewrite every operation of ``dialects`` by ``rules``. The first failure is reported: later ones may follow from it."""
    everything = walk(module)[1:]
    kinds: set[type[Operation]] = {*map(type, everything)}
    mine = {kind for kind in kinds if kind.name.startswith(dialects)}

    def owned(type: Attribute) -> bool:
        return type.name.startswith(dialects)

    is_carried = _is_carried(everything, kinds, owned)
    if not mine and not is_carried:
        return
    table, cv = rules(), Converter(job, module)
    refuse((op for op in everything if op.__class__ in mine and op.name not in table), name)
    if not is_carried:
        everything = [op for op in everything if op.__class__ in mine]
    replaced: list[Operation] = []
    for op in everything:
        _convert_one(op, cv, table, owned, replaced)
    for op in reversed(replaced):
        erase(op)


def _is_carried(everything: Sequence[Operation], kinds: set[type[Operation]], owned: Owned) -> bool:
    """Whether a value has a companion type. Operations on LLVM types produce none, except those that forward values."""
    foreign = {kind for kind in kinds if kind in BLOCK_ARGUMENT_OPS or not kind.name.startswith(("llvm.", "nvvm."))}
    passing = [op for op in everything if op.__class__ in foreign]
    if any([owned(result.type) for op in passing for result in op.results]):
        return True
    nested = [op for op in everything if op.regions]
    blocks = (block for op in nested for region in op.regions for block in region.blocks)
    types = [argument.type for block in blocks for argument in block.args]
    return any(map(owned, types)) or any(owned(type) for op in nested for type in signature_types(op))


def _convert_one(op: Operation, cv: Converter, table: RuleTable, owned: Owned, replaced: list[Operation]) -> None:
    if op.name in table and isinstance(op, TableOp):
        cv.root = op
        _hold_results(op, table[op.name](cv, op), cv)
        replaced.append(op)
        return
    _convert_operands(op, cv, owned)
    _convert_results(op, cv, owned)
    _convert_signature(op, cv, owned)
    for block in (block for region in op.regions for block in region.blocks):
        _convert_arguments(block, cv, owned)


def _hold_results(op: Operation, values: Sequence[ConvertedValue], cv: Converter) -> None:
    if len(values) != len(op.results):
        raise cv.invalid("cute-results", f"has {len(op.results)} results, but its rewrite returns {len(values)}")
    for result, value in zip(op.results, values):
        if is_companion(result.type):
            cv.held[result] = with_static_info(value, result.type, cv)
            continue
        plain = _as_plain_value(value, result.type, cv)
        plain.name_hint = plain.name_hint or result.name_hint
        result.replace_all_uses_with(plain)


def _as_plain_value(value: ConvertedValue, type: Attribute, cv: Converter) -> SSAValue:
    """A result with a type of another dialect."""
    found = cv.constant(value, type) if isinstance(value, int) else value
    if not isinstance(found, SSAValue) or found.type != type:
        raise cv.invalid("cute-type", f"has a result of type {type}, but its rewrite returns another")
    return found


# ---- across blocks and functions ---------------------------------------------------------------------
def _convert_operands(op: Operation, cv: Converter, owned: Owned) -> None:
    for index, value in enumerate(op.operands):
        if owned(value.type):
            cv.root = op
            if not isinstance(op, BLOCK_ARGUMENT_OPS):
                raise cv.unsupported("cute-user", f"uses a value of type {value.type}")
            op.operands[index] = cv.packed(value)


def _convert_results(op: Operation, cv: Converter, owned: Owned) -> None:
    for result in op.results:
        if owned(result.type):
            _retype(result, cv, op.next_op)


def _convert_arguments(block: Block, cv: Converter, owned: Owned) -> None:
    for argument in block.args:
        if owned(argument.type):
            _retype(argument, cv, block.first_op)


def _retype(value: SSAValue, cv: Converter, before: Operation | None) -> None:
    """Set the LLVM type of a value; for companion operations, insert the unpacking after it."""
    if before is None:
        raise InternalError("cute-block-end", f"no operation follows a value of type {value.type}")
    old = value.type
    set_type(value, cv.types.convert(old))
    cv.root, cv.before[value] = before, old
    cv.held[value] = cv.unpacked(value, old)


def _convert_signature(op: Operation, cv: Converter, owned: Owned) -> None:
    """Convert the type of a function, in whichever property it is stored."""
    if isinstance(op, (func.FuncOp, gpu.GPUFuncOp, llvm.FuncOp)):
        convert = lambda type: cv.types.convert(type) if owned(type) else type
        op.properties["function_type"] = converted_signature(op.properties["function_type"], convert)
