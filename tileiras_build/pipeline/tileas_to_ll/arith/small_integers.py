"""Integers of a small range, as unpacked weights are, converted to f16 or bf16, two by one subtraction of halves.

A conversion takes the pipe of special functions, for several times as long as an addition. Of x in a range that starts at l, or at 0, u = x - l
fits into the fraction of a value with an ulp of 1: 1024 + u in f16, 128 + u in bf16. Integer additions make two of them in one word, and a
subtraction of 1024 - l or 128 - l from both leaves x. Every value and every difference is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from ...analysis.integer_ranges import IntegerRanges
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import I32, vector
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from .f32_pairs import halves


class _Format(NamedTuple):
    """The bits of ``2 ** fraction``, whose ulp is 1, and the bits of its fraction."""

    bits: int
    fraction: int


FORMATS = {"f16": _Format(0x6400, 10), "bf16": _Format(0x4300, 7)}
BOTH_HALVES = 0x10001


def halves_of_small_integers(e: KernelEmitter, op: Operation, calls: Sequence[tuple[Value, ...]]) -> list[Value] | None:
    """The results of a conversion of an even number of integers; None for others, and where their range is not known to be small."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if op.name not in ("arith.sitofp", "arith.uitofp") or source.bits not in (8, 16, 32) or len(calls) % 2:
        return None
    format = FORMATS.get(target.name)
    if format is None or target.name == "bf16" and not e.target.has("bf16_native"):
        return None
    least, most = _range(op, source.bits)
    base = min(least, 0)
    if most - base >= 1 << format.fraction or -base > 1 << format.fraction:
        return None
    cast = "sext" if least < 0 else "zext"
    whole = [e.b.cast(cast, x, I32, source.type) if source.bits < 32 else x for (x,) in calls]
    type = vector(2, target.type)
    pairs = (_pair(e.b, pair, base, format, type) for pair in zip(whole[::2], whole[1::2]))
    return [half for both in pairs for half in halves(e.b, both)]


def _range(op: Operation, bits: int) -> tuple[int, int]:
    least, most = IntegerRanges()(op.operands[0])
    return (0, (1 << bits) - 1) if op.name == "arith.uitofp" and least < 0 else (least, most)


def _pair(b: InstructionBuilder, pair: tuple[Value, Value], base: int, format: _Format, type: VectorType) -> SSAValue:
    low, high = pair
    first = (format.bits - base) * BOTH_HALVES
    both = b.add(b.add(b.binary("shl", high, 16), low), first)
    return b.binary("fsub", b.bitcast(both, type), b.bitcast(first, type), type)
