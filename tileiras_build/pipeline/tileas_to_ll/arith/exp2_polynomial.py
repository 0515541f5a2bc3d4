"""exp2 of f32 by a polynomial instead of the special function unit (MUFU), for the share of values that
``exp2_polynomial`` sets.

2^x = 2^n 2^f with n = floor(x), f = x - n. x is clamped to [-126, 126] and added to a large constant, rounded down: the
low bits of the result are n, and a shift of the same bits gives the normal number 2^n. 2^f is a polynomial of degree 3
with value 1 at 0. Its largest relative error on [0, 1] is 8.6e-5, that of f16 is 4.9e-4. Results below x = -126 are
zero, and NaN propagates, as with ``ex2.approx.ftz``.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.dialects.nvvm.arithmetic import FmaPairOp, MulHiOp, MulOp, SaturateOp
from ....ir.dialects.nvvm.target_independent_intrinsics import FMAOp, MaximumOp
from ...analysis.scratch_memory_sizes import SPILL_VECTOR_REGS
from ...common.llvm_type_constructors import FLOAT, I32, I64
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from .elementwise_rule_helpers import flushes, register_type
from .exp_f32_pairs import FRACTION_BITS, LARGE, MIN_EXPONENT, RANGE, splat_pair
from .f32_pairs import PAIR, halves, has_pairs, pair

# 1 / 252, rounded down, and the coefficients of f, f^2 and f^3.
SLOPE = 0.003968253731727600
FIRST, SECOND, THIRD = 0.6951168179512024, 0.22764481604099274, 0.07706719636917114
LOWEST = -127.0
# Length, in groups, of the period in which the share of polynomials is counted.
EXP2, GROUPS = "nv_tileas.exp2", 4


def uses_polynomial(e: KernelEmitter, op: Operation, count: int) -> bool:
    """Whether the first two values of a group use the polynomial.

    That is the case for some of every four groups, where the left operand of an MMA is computed chunk by chunk.
    """
    share = e.job.exp2_polynomial
    if (
        not share
        or op.name != EXP2
        or count != SPILL_VECTOR_REGS
        or e.is_spilling
        or not e.computes_at_use
        or e.computes_where_fewer_remain
        or not flushes(op)
    ):
        return False
    if not has_pairs(e.target, register_type(op.results[0])):
        return False
    e.exp2_groups += 1
    return e.exp2_groups % GROUPS < share // 2


def exp2_of_pair(b: InstructionBuilder, x: SSAValue) -> list[Value]:
    """exp2 of both values of a pair."""
    held = [b.issue(MaximumOp, half, b.float_constant(LOWEST, FLOAT), type=FLOAT) for half in halves(b, x)]
    within = pair(b, *held)
    words = [
        b.bitcast(value, I64)
        for value in (pair(b, *(_clamped(b, h) for h in held)), splat_pair(b, RANGE), splat_pair(b, LARGE))
    ]
    counts = b.issue(FmaPairOp, *words, type=I64, rounding="rm")
    whole = b.binary("fadd", b.cast("bitcast", counts, PAIR), splat_pair(b, -(LARGE - MIN_EXPONENT)), PAIR)
    rest = b.binary("fsub", within, whole, PAIR)
    power = b.issue(FMAOp, rest, splat_pair(b, THIRD), splat_pair(b, SECOND), type=PAIR)
    power = b.issue(FMAOp, rest, power, splat_pair(b, FIRST), type=PAIR)
    power = b.issue(FMAOp, rest, power, splat_pair(b, 1.0), type=PAIR)
    counters = b.cast("trunc", counts, I32), b.issue(MulHiOp, counts, type=I32)
    scales = [b.bitcast(b.shift(counter, FRACTION_BITS), FLOAT) for counter in counters]
    results = zip(halves(b, power), scales, strict=True)
    return [b.issue(MulOp, value, scale, type=FLOAT, rounding="rn", ftz=True) for value, scale in results]


def _clamped(b: InstructionBuilder, x: Value) -> Value:
    near = b.issue(FMAOp, x, b.float_constant(SLOPE, FLOAT), b.float_constant(0.5, FLOAT), type=FLOAT)
    return b.issue(SaturateOp, near, type=FLOAT)
