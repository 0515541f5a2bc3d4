"""Rename tile operations to their scheduled counterparts.

In:    nv_tileaa.* + arith + math.
Out:   nv_tileas.* + arith + math; nv_tileaa.func, return and global stay until the signature is converted.
After: nothing of this edge. Before: every pass that assigns layouts.
Sound: operands, results, attributes and regions are the same objects.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.nv_tileas.ops import COUNTERPARTS
from ..contracts import EdgePass
from ..job import Job


class ConvertTileAAToTileAS(EdgePass):
    """One to one, in place."""

    name = "convert-tileaa-to-tileas"
    removes = frozenset(f"{name}" for name in COUNTERPARTS)

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if (target := COUNTERPARTS.get(op.name)) is not None:
                _replace(op, target)


def _replace(op: Operation, target: type[Operation]) -> None:
    new = target.create(
        operands=list(op.operands),
        result_types=[result.type for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    op.parent.insert_op_before(new, op)
    for old, result in zip(op.results, new.results):
        old.replace_all_uses_with(result)
    op.detach()
    op.erase()
