"""Signed bytes converted to f16 or bf16, two by one subtraction of halves in place of two conversions, which take longer each.

A permutation puts two bytes into the low bits of two halves whose high bits are those of a number with an ulp of 1, and subtracting that
number leaves the bytes. f16 has 10 bits of fraction: of u = x + 128, the byte with its sign flipped, it has 1024 + u, less 1152. bf16 has
7: it has 128 plus the low bits of x, less 128, or less 256 where the sign of x is set. Every value and every difference is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ....ir.dialects.nvvm.register_packing import PrmtOp
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I32, vector
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from ..emission.register_values import PackedLane, RegisterValue, materialize

BYTES = 4  # of a word
SELECTORS = 0x4140, 0x4342  # two bytes of the first operand, each below a byte of the second
SIGNS, F16_HIGH, F16_BIAS = 0x80808080, 0x64646464, 0x64806480  # 1024 has the bits 0x6400, 1152 0x6480
LOW_BITS, SIGN_BITS, BF16_128 = 0x007F007F, 0x00800080, 0x43004300  # 128 has the bits 0x4300, 256 0x4380


def halves_of_bytes(e: KernelEmitter, op: Operation) -> list[RegisterValue] | None:
    """The results of a conversion of whole words of signed bytes; None for others, and where few registers hold them until they are used."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if op.name != "arith.sitofp" or source.bits != 8 or target.name not in ("f16", "bf16"):
        return None
    if e.computes_at_use or not e.target.has("bf16_native"):
        return None
    lanes = e.values.packed(op.operands[0])
    groups = [lanes[start : start + BYTES] for start in range(0, len(lanes), BYTES)]
    words = [lane.word for group in groups if (lane := _first_of_word(group)) is not None]
    if len(words) < len(groups):
        return None
    return [half for word in words for half in _halves(e.b, materialize(e.b, word), target)]


def _first_of_word(lanes: Sequence[RegisterValue]) -> PackedLane | None:
    """The first of all bytes of one word, in order; None for other lanes."""
    first = lanes[0]
    if len(lanes) != BYTES or not isinstance(first, PackedLane):
        return None
    whole = [PackedLane(first.word, place, first.element) for place in range(BYTES)]
    return first if list(lanes) == whole else None


def _halves(b: InstructionBuilder, word: Value, target: Element) -> list[PackedLane]:
    pairs = [(_f16_pair if target.name == "f16" else _bf16_pair)(b, word, selector) for selector in SELECTORS]
    type = vector(2, target.type)
    differences = [
        b.bitcast(b.binary("fsub", b.bitcast(left, type), b.bitcast(right, type), type), I32) for left, right in pairs
    ]
    return [PackedLane(b.of(both, I32), place, target) for both in differences for place in range(2)]


def _f16_pair(b: InstructionBuilder, word: Value, selector: int) -> tuple[Value, Value]:
    flipped = b.binary("xor", word, SIGNS)
    return b.issue(PrmtOp, flipped, F16_HIGH, selector, type=I32), F16_BIAS


def _bf16_pair(b: InstructionBuilder, word: Value, selector: int) -> tuple[Value, Value]:
    bytes = b.issue(PrmtOp, word, 0, selector, type=I32)
    low, sign = b.and_(bytes, LOW_BITS), b.and_(bytes, SIGN_BITS)
    return b.or_(low, BF16_128), b.or_(sign, BF16_128)
