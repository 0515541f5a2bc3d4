"""Remove the casts that bridge a conversion.

In:    builtin.unrealized_conversion_cast between types before and after conversion.
Out:   no cast; users of a cast use its source.
After: every conversion. Before: translation to LLVM IR.
Sound: a cast without an inverse is an error that names its types.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp

from ...core.errors import InternalError
from ...ir.dialects.fast_xdsl import walk
from ..job import Job
from ..pass_manager import EdgePass


def reconcile_casts(module: ModuleOp) -> None:
    """Remove the casts that bridge a conversion; raises InternalError[cast-survives] for a cast without an inverse."""
    casts = [op for op in walk(module) if isinstance(op, UnrealizedConversionCastOp)]
    for cast in casts:
        source = cast
        while isinstance(owner := source.inputs[0].owner if source.inputs else None, UnrealizedConversionCastOp):
            if source.inputs.types != owner.results.types or tuple(source.inputs) != tuple(owner.results):
                break
            source = owner
        if source.inputs.types == cast.results.types:
            for result, value in zip(cast.results, source.inputs):
                result.replace_all_uses_with(value)
    for cast in reversed(casts):
        if any(result.uses for result in cast.results):
            types = ", ".join(str(type) for type in cast.inputs.types)
            made = ", ".join(str(type) for type in cast.results.types)
            raise InternalError("cast-survives", f"a cast from {types} to {made} remains after the conversion")
        cast.detach()
        cast.erase()


class ReconcileUnrealizedCasts(EdgePass):
    """Remove the casts between types before and after conversion."""

    name = "reconcile-unrealized-casts"
    illegal_ops = frozenset({UnrealizedConversionCastOp})

    def run(self, module: ModuleOp, job: Job) -> None:
        reconcile_casts(module)
