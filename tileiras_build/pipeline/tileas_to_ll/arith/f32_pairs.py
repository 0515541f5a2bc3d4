"""Packed f32x2 arithmetic: ``add``, ``sub``, ``mul`` and ``fma`` on two values per instruction.

Each half is rounded as by the scalar instruction (PTX ISA 9.0, ``add{.rnd}{.ftz}{.sat}.f32x2`` and related), so the bits
are the same. A pair is a vector of two, for which LLVM selects the packed instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import typed
from ....ir.dialects.llvm_ext import ExtractElementOp
from ....target.targets import Target
from ...common.llvm_type_constructors import FLOAT, I32, vector
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder

PAIR: VectorType = vector(2, FLOAT)
Arguments = tuple[Value, ...]
OnPairs = Callable[..., SSAValue]


def has_pairs(target: Target, type: Attribute) -> bool:
    """Whether the target has packed arithmetic for a type."""
    return type == FLOAT and target.has("f32x2_native")


def pair(b: InstructionBuilder, low: Value, high: Value) -> SSAValue[VectorType]:
    """Two values as one vector; the two halves of one pair return that pair."""
    return _whole(b, low, high) or b.vector((low, high), vector(2, b.uniqued(low).type))


def _whole(b: InstructionBuilder, low: Value, high: Value) -> SSAValue[VectorType] | None:
    if isinstance(low, int) or isinstance(high, int):
        return None
    first, second = low.owner, high.owner
    if not (isinstance(first, ExtractElementOp) and isinstance(second, ExtractElementOp)):
        return None
    places = first.operands[1], second.operands[1]
    if first.operands[0] is not second.operands[0] or places != (b.constant(0, I32), b.constant(1, I32)):
        return None
    return typed(first.operands[0], VectorType)


def halves(b: InstructionBuilder, value: SSAValue) -> tuple[Value, Value]:
    """The two values of a pair."""
    both = typed(value, VectorType)
    return b.element(both, 0), b.element(both, 1)


def in_pairs(
    b: InstructionBuilder, calls: Sequence[Arguments], on_pairs: OnPairs, on_one: Callable[..., Value]
) -> list[Value]:
    """Apply ``on_pairs`` to the arguments of two calls at a time, and ``on_one`` to an odd last call."""
    results: list[Value] = []
    for first, second in zip(calls[::2], calls[1::2]):
        operands = [pair(b, low, high) for low, high in zip(first, second)]
        results += halves(b, on_pairs(*operands))
    return results + [on_one(*calls[-1])] if len(calls) % 2 else results
