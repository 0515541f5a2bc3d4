"""Warnings of the classes that a build or ``lower`` selects (``core/warning_classes.py``), from a kernel's artifacts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..core.errors import CompilerWarning, Diagnostics, InvalidInput
from ..core.warning_classes import CLASS_OF_REMARK, WARNINGS, WarningOptions

if TYPE_CHECKING:
    from .optimization_remarks import Remark

FROM_REMARKS = f"{__name__}:of_tileas"


def of_tileas(data: bytes, target: str, classes: Sequence[str]) -> list[CompilerWarning]:
    """The warnings of the kernels of a ``.tileas`` artifact, in program order, each once.

    A kernel that has an aligned variant has none: where it lacks promises, the variant has them. Neither has a variant
    for some grids: those of its kernel are the same.
    """
    from ..ir.casting import as_op
    from ..ir.dialects.op_traits import is_function
    from ..pipeline.analysis.kernel_parameters import is_grid_variant, variant_of
    from ..pipeline.tile_ir_text_format import parse
    from ..target.targets import find_target
    from .optimization_remarks import FAILED, MISSED, collect

    chosen = {name for one in classes for name in WARNINGS[one].remarks}
    module = parse(data)
    kernels = [as_op(op) for op in module.body.block.ops if is_function(op)]
    for_grids = {func.sym_name for func in kernels if is_grid_variant(func)}
    silent = for_grids | {variant_of(func) for func in kernels if func.sym_name not in for_grids}
    remarks = [one for one in collect(module, find_target(target)) if one.function not in silent]
    return [_of_remark(one, target) for one in remarks if one.name in chosen and one.kind in (MISSED, FAILED)]


def _of_remark(remark: Remark, target: str) -> CompilerWarning:
    row = CLASS_OF_REMARK[remark.name]
    reasons = f": {'; '.join(remark.reasons)}" if remark.reasons else ""
    message = f"{remark.message}, in kernel {remark.function} for {target}{reasons}"
    return CompilerWarning(row.name, message, location=remark.location, remedy=row.remedy)


def of_manifest(data: bytes, target: str, classes: Sequence[str]) -> list[CompilerWarning]:
    """The warnings of a launch manifest."""
    kernels = json.loads(data)["kernels"].items() if "spill" in classes else ()
    found = ((name, kernel.get("resources", {})) for name, kernel in kernels)
    return [_spill(name, target, used) for name, used in found if used.get("spill_stores") or used.get("spill_loads")]


def _spill(kernel: str, target: str, used: Mapping[str, int]) -> CompilerWarning:
    row, stores, loads = WARNINGS["spill"], used["spill_stores"], used["spill_loads"]
    message = f"kernel {kernel} for {target} spills registers: {stores} bytes of stores and {loads} of loads"
    return CompilerWarning(row.name, message, remedy=row.remedy)


def report(found: Sequence[CompilerWarning], options: WarningOptions, show: Callable[[str], object]) -> None:
    """Show the warnings; raises them together as InvalidInput if they are errors."""
    if not options.are_errors:
        for warning in found:
            show(str(warning))
        return
    errors = Diagnostics()
    for one in _as_errors(found):
        errors.add(one)
    errors.raise_if_any()


def _as_errors(found: Sequence[CompilerWarning]) -> Iterator[InvalidInput]:
    for one in found:
        yield InvalidInput(one.id, one.message, location=one.location, remedy=one.remedy)
