"""Rewrite matrix products for which the GPU has no instruction into ones that it has.

In:    nv_tileas.dot of any types.
Out:   fp8 operands are f16 where there is no fp8 product: f16 holds every fp8 value, so nothing is lost.
After: convert_tileaa_to_tileas. Before: layouts are assigned.
Sound: both conversions are exact and the sums are the same f32 sums.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f16
from xdsl.ir import SSAValue

from ...dialects.nv_tileas.ops import COUNTERPARTS
from ...errors import Unsupported
from ..contracts import EdgePass
from ..job import Job

FP8 = ("f8E4M3FN", "f8E5M2")
FpToFpOp = COUNTERPARTS["nv_tileaa.fp_to_fp"]


class LegalizeDot(EdgePass):
    """Operand types that the target's rows cover."""

    name = "tileas-legalize-dot"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if op.name == "nv_tileas.dot":
                _legalize(op, job)


def _legalize(op: Any, job: Job) -> None:
    if op.lhs_scale is not None:
        raise _scaled_unsupported(op, job)
    types = [str(value.type.element_type) for value in (op.lhs, op.rhs, op.result)]
    if types[0] in FP8 and not job.target.mma_atoms(*types):
        for index, value in enumerate((op.lhs, op.rhs)):
            op.operands[index] = _as_f16(op, value)


def _scaled_unsupported(op: Any, job: Job) -> Unsupported:
    from ...dialects.cuda_tile.location import source_location

    return Unsupported(
        "scaled-product",
        f"mmaf_scaled of {op.lhs.type} has no lowering yet on {job.target.name}",
        location=source_location(op),
        remedy="scale the operands before mmaf",
    )


def _as_f16(op: Any, value: SSAValue) -> SSAValue:
    type = TensorType(f16, value.type.get_shape())
    new = FpToFpOp.make([value], [type], {"rounding_mode": StringAttr("nearest_even")})
    if "loc" in op.attributes:
        new.attributes["loc"] = op.attributes["loc"]
    op.parent.insert_op_before(new, op)
    return new.results[0]
