"""Assumed values of unknown loop bounds, for runs of the pipeline verifier (``mbarrier_pipelines.py``)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ...ir.casting import cast, defining_op
from .control_flow_paths import LOOPS


def _is_inside_loop(op: Operation) -> bool:
    around = op.parent_op()
    while around is not None and around.name not in LOOPS:
        around = around.parent_op()
    return around is not None


def assumed_bounds(kernel: Operation, trips: tuple[int, int]) -> dict[SSAValue, int]:
    """Assumed values of unknown bounds: from 0 in steps of 1, with ``trips`` trips from the lower bound.

    A loop may start some steps after another loop of the same program, at that loop's bound plus an offset.
    """
    assumed: dict[SSAValue, int] = {}
    for loop in (op for op in kernel.walk() if op.name == LOOPS[0]):
        lower, upper, step = loop.operands[:3]
        for value, number in ((lower, 0), (_first(lower), 0), (step, 1)):
            assumed.setdefault(value, number)
        first, width = (_constant(value, assumed[value]) for value in (_first(lower), step))
        assumed.setdefault(upper, first + trips[_is_inside_loop(loop)] * width)
    return assumed


def _first(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, Operation) and value.owner.name == "arith.addi":
        value = value.owner.operands[0]
    return value


def _constant(value: SSAValue, other: int) -> int:
    """The value of a constant, or ``other``."""
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return other
    return cast(IntegerAttr, defining_op(value).properties["value"]).value.data
