"""Convert cute, cute_nvgpu and cutlass operations to llvm and nvvm.

In:    cute.*, cute_nvgpu.*, cutlass.*, in functions of any dialect; hand-written or from earlier conversions.
Out:   llvm.* and nvvm.*; values that cross blocks and functions are structs of their leaves. Other dialects stay.
After: layouts and schedules are final. Before: convert_nvgpu_and_gpu_to_nvvm, which converts the remaining gpu
       operations.
Sound: layouts are desugared before the atoms that decompose them; a leaf whose type and value contradict each other is
       rejected; an operation without a rewrite is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ....ir.dialects.fast_xdsl import walk
from ...job import Job
from ...pass_manager import EdgePass
from ...rewriting.dialect_conversion import RuleTable, refuse
from .carried_values import is_carried


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

    crosses = is_carried(everything, kinds, owned)
    if not mine and not crosses:
        return
    from .rewrite_operations import rewrite_operations

    table = rules()
    refuse((op for op in everything if op.__class__ in mine and op.name not in table), name)
    if not crosses:
        everything = [op for op in everything if op.__class__ in mine]
    rewrite_operations(everything, module, job, table, owned)
