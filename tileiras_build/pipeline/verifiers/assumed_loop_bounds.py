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
    """Assumed values of unknown bounds: in steps of 1, with ``trips`` trips from the lower bound, or to the upper one where that is
    known, as that of another loop or a constant. The first lower bound is the number of trips: a loop until break may count up to it.

    A loop may start some steps after another loop of the same program, at that loop's bound plus an offset.
    """
    assumed: dict[SSAValue, int] = {}
    loops = [op for op in kernel.walk() if op.name == LOOPS[0]]
    while loops:
        # Loops that share a bound follow one another, in either order.
        loop = next((loop for loop in loops if _is_known(loop, assumed)), loops[0])
        loops.remove(loop)
        _assume(loop, trips[_is_inside_loop(loop)], assumed)
    return assumed


def _is_known(loop: Operation, assumed: dict[SSAValue, int]) -> bool:
    """Whether a bound is a constant, or assumed for other loops."""
    return any(
        value in assumed or _constant(value) is not None for value in (_first(loop.operands[0]), loop.operands[1])
    )


def _assume(loop: Operation, trips: int, assumed: dict[SSAValue, int]) -> None:
    """Assume the unknown bounds of a loop."""
    lower, upper, step = loop.operands[:3]
    first = _first(lower)
    length = trips * _known(step, assumed, 1)
    last = assumed.get(upper, _constant(upper))
    start = _known(first, assumed, length if last is None else last - length)
    assumed.setdefault(lower, start)
    assumed.setdefault(upper, start + length)


def _known(value: SSAValue, assumed: dict[SSAValue, int], other: int) -> int:
    """The value of a constant, or what is assumed, ``other`` from now on where nothing is."""
    constant = _constant(value)
    return assumed.setdefault(value, other) if constant is None else constant


def _first(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, Operation) and value.owner.name == "arith.addi":
        value = value.owner.operands[0]
    return value


def _constant(value: SSAValue) -> int | None:
    """The value of a constant, None of another value."""
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return None
    return cast(IntegerAttr, defining_op(value).properties["value"]).value.data
