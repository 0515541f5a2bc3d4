"""Sums and differences of f32 and halves that are not widened first, on GPUs with instructions for them.

``add.f32.f16`` widens its first factor itself (PTX ISA 9.0, section 9.7.5, mixed precision), which is exact, and rounds once: the
bits are those of a conversion and an addition. A pair of halves takes two instructions instead of two conversions and one
addition of pairs, and a thread holds one register for both until then. Not where anything else wants the widened numbers.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.cute import layout_of
from ....dialects.definition import TableOperation
from ....dialects.nvvm.arithmetic import AddMixedOp, SubMixedOp
from ...analysis.kinds import is_tile
from ...analysis.narrow_sources import PAIR_TYPES, narrow_source
from ...shared.accessors import owner, row
from ...shared.element_types import element_of
from ...shared.llvm_types import FLOAT, I16
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.thread_code import Value
from .arithmetic import emit_elementwise, emit_with
from .float_arithmetic import is_plain

WIDENING, REDUCE = "nv_tileas.fp_to_fp", "nv_tileas.reduce"
# The instruction, and which operands may be the half.
MIXED: dict[str, tuple[type[TableOperation], tuple[int, ...]]] = {
    "nv_tileas.addf": (AddMixedOp, (0, 1)),
    "nv_tileas.subf": (SubMixedOp, (0,)),
}


def emit_sum(e: KernelEmitter, op: Operation) -> None:
    """``nv_tileas.addf`` and ``subf``: with the half as it is where that saves its conversion."""
    place = _half_operand(e, op)
    if place is None:
        return emit_elementwise(e, op)
    narrow, wide = _source(op.operands[place]), op.operands[1 - place]
    kind, b, halves = MIXED[op.name][0], e.b, _half_type(narrow)

    def added(half: Value, other: Value) -> Value:
        return b.issue(kind, b.bitcast(half, I16), b.of(other, FLOAT), type=FLOAT, halves=halves)

    return emit_with(e, op, (narrow, wide), lambda calls: [added(*arguments) for arguments in calls])


def _half_operand(e: KernelEmitter, op: Operation) -> int | None:
    """The operand that is a half widened for this operation alone."""
    exact = element_of(op.results[0].type).type == FLOAT and is_plain(op, FLOAT)
    # In rows that are parked, ptxas spills for the order in which it then has the numbers of a thread.
    if not exact or not is_tile(op.results[0]) or not e.target.has("mixed_float"):
        return None
    return next((place for place in MIXED[op.name][1] if _is_widened_for(op, op.operands[place])), None)


def _is_widened_for(op: Operation, value: SSAValue) -> bool:
    widening = value.owner
    if (
        not isinstance(widening, Operation)
        or widening.name != WIDENING
        or _type(widening.operands[0]) not in PAIR_TYPES
    ):
        return False
    others = {use.operation for use in value.uses} - {op}
    alone = sum(operand is value for operand in op.operands) == 1
    return alone and layout_of(widening.operands[0]) == layout_of(value) and all(map(_reads_narrow, others))


def _reads_narrow(op: Operation) -> bool:
    return op.name == REDUCE and narrow_source(row(op)) is not None


def _source(value: SSAValue) -> SSAValue:
    return owner(value).operands[0]


def _half_type(value: SSAValue) -> str:
    return PAIR_TYPES[_type(value)].removesuffix("x2")


def _type(value: SSAValue) -> Attribute:
    return element_of(value.type).type


HANDLERS: dict[str, Handler] = dict.fromkeys(MIXED, emit_sum)
