"""exp of packed pairs of f32, bit-identical to libdevice: the same operations, two values per instruction where possible.

exp(x) = 2^n 2^f with n near x log2(e) and f = x log2(e) - n. t = x log2(e) / 252 + 1/2 is clamped to [0, 1] and added to a
large constant 252 times, rounded down: the low bits of the result are n with -126 <= n <= 126, and a shift of the same bits
gives the normal number 2^n. f uses log2(e) in two parts; the hardware computes 2^f.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....ir.dialects.nvvm.arithmetic import Ex2Op, FmaPairOp, MulHiOp, SaturateOp
from ....ir.dialects.nvvm.target_independent_intrinsics import FMAOp
from ...common.llvm_type_constructors import FLOAT, I32, I64
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from .f32_pairs import PAIR, halves, pair

# log2(e) / 252, rounded down; log2(e) in two parts.
SLOPE = 0.005724980030208826
LOG2_E, LOG2_E_REST = 1.4426950216293335, 1.925963033500011e-08
RANGE, MIN_EXPONENT = 252.0, -126
# 1.5 * 2^23, whose last bit counts ones, and one more: the bits of the result end in n + 127, the exponent of 2^n.
LARGE = 12582913.0
FRACTION_BITS = 23


def exp_of_pair(b: InstructionBuilder, x: SSAValue) -> SSAValue:
    """exp of both values of a pair."""
    bounded = [_clamped(b, half) for half in halves(b, x)]
    words = [b.bitcast(both, I64) for both in (pair(b, *bounded), splat_pair(b, RANGE), splat_pair(b, LARGE))]
    counts = b.issue(FmaPairOp, *words, type=I64, rounding="rm")
    counted = b.cast("bitcast", counts, PAIR)
    whole = b.binary("fadd", counted, splat_pair(b, -(LARGE - MIN_EXPONENT)), PAIR)
    rest = b.issue(FMAOp, x, splat_pair(b, LOG2_E), b.negate(whole), type=PAIR)
    rest = b.issue(FMAOp, x, splat_pair(b, LOG2_E_REST), rest, type=PAIR)
    powers = [b.issue(Ex2Op, half, type=FLOAT, ftz=True) for half in halves(b, rest)]
    counters = b.cast("trunc", counts, I32), b.issue(MulHiOp, counts, type=I32)
    scales = [b.bitcast(b.shift(counter, FRACTION_BITS), FLOAT) for counter in counters]
    return b.binary("fmul", pair(b, *powers), pair(b, *scales), PAIR)


def _clamped(b: InstructionBuilder, x: Value) -> Value:
    near = b.issue(FMAOp, x, b.float_constant(SLOPE, FLOAT), b.float_constant(0.5, FLOAT), type=FLOAT)
    return b.issue(SaturateOp, near, type=FLOAT)


def splat_pair(b: InstructionBuilder, value: float) -> SSAValue:
    constant = b.float_constant(value, FLOAT)
    return pair(b, constant, constant)
