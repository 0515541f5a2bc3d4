"""Attach #nvvm.target to device modules.

In:    gpu.module operations, or a module that contains kernels itself; nv_tileaa.compute_capability (integer) or, if
       that is absent or names no GPU, nv_tileaa.target_spec ("sm_90"), on the module or an ancestor; the optional
       boolean nv_tileaa.libnvvm_use_nvgpucomp.
Out:   ``nvvm.target``, an array of one target, on each; it replaces an earlier one.
After: all lowering: operations that depend on the target's capabilities exist. Before: the module is serialized.
Sound: the chip is that of the capability; cluster attributes on a GPU without clusters are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from ...core.errors import InternalError, InvalidInput
from ...ir.dialects.gpu_ext import GPUModuleOp
from ...ir.dialects.nvvm.target import TargetAttr
from ...target.isa.serializer_options import find_level, flags_for
from ...target.targets import ALL_TARGETS, Target, find_target
from ..job import Job
from ..pass_manager import EdgePass
from ..serialization_target import Serialization

TARGET = "nvvm.target"
CAPABILITY, SPECIFICATION = "nv_tileaa.compute_capability", "nv_tileaa.target_spec"
USE_NVGPUCOMP = "nv_tileaa.libnvvm_use_nvgpucomp"
KERNEL_MARKERS = ("cute.kernel", "nvvm.kernel")
_SM = re.compile(r"(sm_\d{2,3})[af]?\Z")


def find_attribute(op: Operation | None, name: str) -> Attribute | None:
    """An attribute of an operation or of its nearest ancestor that has it."""
    while op is not None:
        if (value := op.attributes.get(name)) is not None:
            return value
        op = op.parent_op()
    return None


def _from_capability(op: Operation) -> str | None:
    value = find_attribute(op, CAPABILITY)
    if not isinstance(value, IntegerAttr):
        return None
    chip, specified = f"sm_{value.value.data}", _specified(op)
    return f"{chip}f" if specified is not None and specified[0] == f"{chip}f" else chip


def _specified(op: Operation) -> re.Match | None:
    value = find_attribute(op, SPECIFICATION)
    return _SM.match(value.data.lower()) if isinstance(value, StringAttr) else None


def _from_specification(op: Operation) -> str | None:
    match = _specified(op)
    return match[1] if match else None


# In order of precedence.
SOURCES: tuple[Callable[[Operation], str | None], ...] = (_from_capability, _from_specification)


def chip_of(op: Operation) -> str:
    """The chip, as "sm_90", that a device module is for; raises InvalidInput where nothing names a known GPU."""
    for source in SOURCES:
        if (chip := source(op)) in ALL_TARGETS:
            return chip
    raise InvalidInput(
        "target-capability",
        "failed to get compute capability.",
        remedy=f"give the module {CAPABILITY} = 90 : i32 or {SPECIFICATION} = \"sm_90\" (target/targets.py: TARGETS)",
    )


def _requests_nvgpucomp(op: Operation) -> bool:
    value = find_attribute(op, USE_NVGPUCOMP)
    return isinstance(value, IntegerAttr) and bool(value.value.data)


def target_for(op: Operation, job: Job) -> TargetAttr:
    """The target of one device module."""
    return _target(chip_of(op), job.opt_level, job.debug, _requests_nvgpucomp(op))


@cache
def _target(chip: str, level: int | str, debug: bool, nvgpucomp: bool) -> TargetAttr:
    flags = {flag.name: _attribute(flag.value) for flag in flags_for(debug, nvgpucomp, level)}
    return TargetAttr.of(find_level(level).number, chip, flags)


def _attribute(value: bool | int | None) -> Attribute:
    if value is None:
        return UnitAttr()
    return BoolAttr.from_bool(value) if isinstance(value, bool) else IntegerAttr(value, 64)


class AttachNVVMTarget(EdgePass):
    """Attach to each device module the target that it is serialized for."""

    name = "nv-tile-ir-convert-target-to-nvvm"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in device_modules(module):
            op.attributes[TARGET] = ArrayAttr([target_for(op, job)])


def device_modules(module: ModuleOp) -> Iterator[Operation]:
    """The gpu.module operations of a module; itself where it holds kernels directly, as it does while compiling."""
    if _holds_kernels(module):
        yield module
    for op in module.body.block.ops:
        if isinstance(op, GPUModuleOp):
            yield op
        elif isinstance(op, ModuleOp):
            yield from device_modules(op)


def target_of(op: Operation) -> TargetAttr:
    """The resolved target of a device module; raises InvalidInput where it has none, or more than one."""
    targets = op.attributes.get(TARGET)
    found = list(targets.data) if isinstance(targets, ArrayAttr) else []
    if not found:
        raise InvalidInput(
            "no-target", "no target attribute", remedy=f"run {AttachNVVMTarget.name} before the module is serialized"
        )
    if len(found) > 1:
        raise InternalError("two-targets", f"a device module has {len(found)} targets, but is serialized for one")
    return found[0]


def serialization_of(target: TargetAttr) -> Serialization:
    """The serialization options of a target; raises InvalidInput for a chip without a row in targets.py."""
    return Serialization(find_target(target.chip.data).name, target.level.data, tuple(target.options()))


def _serialized(module: ModuleOp) -> list[Operation]:
    """The device modules that the serializer needs the target of: those with kernels, and those with a target
    attribute.
    """
    containers = [module, *(op for op in module.body.block.ops if isinstance(op, GPUModuleOp))]
    return [op for op in containers if TARGET in op.attributes or _holds_kernels(op)]


def _holds_kernels(op: Operation) -> bool:
    return any(marker in inner.attributes for inner in op.regions[0].block.ops for marker in KERNEL_MARKERS)


def serialized_for(module: ModuleOp) -> TargetAttr | None:
    """The one target of a module; None where nothing in it is bound to a target.

    Raises InvalidInput[no-target] for kernels without a target, InternalError[two-targets].
    """
    found = list(dict.fromkeys(map(target_of, _serialized(module))))
    if len(found) > 1:
        raise InternalError("two-targets", f"the device modules have {len(found)} targets, but are serialized for one")
    return found[0] if found else None


def check_serializable(module: ModuleOp, job: Job) -> None:
    """Raise InvalidInput or InternalError for a device module without a target, or with one that it does not fit."""
    for op in _serialized(module):
        made_for = serialization_of(target_of(op)).check(job)
        _check_clusters(op, made_for.target)


def _check_clusters(device_module: Operation, target: Target) -> None:
    """Clusters of thread blocks exist from SM 90 on (PTX ISA 9.0, section 11.1)."""
    if target.has("cluster"):
        return
    for op in device_module.regions[0].block.ops:
        if "nvvm.cluster_dim" in op.attributes or "nvvm.blocksareclusters" in op.attributes:
            raise InvalidInput(
                "target-cluster",
                f"the kernel uses a cluster of thread blocks, which {target.name} does not have",
                remedy="use sm_90 or newer, or a cluster of one",
            )
