"""Dot products that are not exact in float64, in native code: finds them, and computes them exactly, rounded once to float32.

Dot products are exact in float64 if their factors are small multiples of a unit (``MagnitudeRatios``), see ``matmul.py``. The
test is made per block of a few rows and columns, because tiny values are rare even in random matrices.

For the others, the products of a row of A and a column of B are added to an expansion: non-overlapping floats whose sum is
exact. A term is added to its components in ascending order, each addition giving a sum and its error (Shewchuk, "Adaptive Precision
Floating-Point Arithmetic and Fast Robust Geometric Predicates", grow-expansion, theorem 10). Then they are added from the
smallest on, rounded to odd, which the last rounding to float32 does not notice (Boldo and Melquiond, "Emulation of a FMA and
Correctly Rounded Sums", theorem 3): a term is more than twice as large as all below it, so that nothing cancels. Factors have to
have at most 26 significant bits, and products in the range of normal float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..jit.llvm_jit import address, compile_function

LANES = 16  # float64 per iteration: several independent vectors hide latencies

# Loops over groups and their vectors: the largest magnitude, and the smallest but zero.
_RATIOS = """
declare <16 x double> @llvm.fabs.v16f64(<16 x double>)
declare double @llvm.vector.reduce.fmax.v16f64(<16 x double>)
declare double @llvm.vector.reduce.fmin.v16f64(<16 x double>)

define void @ratios(ptr noalias %out, ptr noalias %values, i64 %groups, i64 %vectors, i64 %exponent) {
entry:
  %unit.bits = shl i64 %exponent, 52
  %unit = bitcast i64 %unit.bits to double
  br label %group
group:
  %g = phi i64 [0, %entry], [%g.next, %group.end]
  %g.next = add i64 %g, 1
  %g.at = mul i64 %g, %vectors
  br label %some
some:
  %v = phi i64 [0, %group], [%v.next, %some]
  %most = phi <16 x double> [zeroinitializer, %group], [%most.next, %some]
  %least = phi <16 x double> [splat (double 0x7FF0000000000000), %group], [%least.next, %some]
  %v.next = add i64 %v, 1
  %at = add i64 %g.at, %v
  %from = getelementptr <16 x double>, ptr %values, i64 %at
  %x = load <16 x double>, ptr %from, align 8
  %size = call <16 x double> @llvm.fabs.v16f64(<16 x double> %x)
  %is_more = fcmp ogt <16 x double> %size, %most
  %most.next = select <16 x i1> %is_more, <16 x double> %size, <16 x double> %most
  %is_zero = fcmp oeq <16 x double> %size, zeroinitializer
  %not.zero = select <16 x i1> %is_zero, <16 x double> splat (double 0x7FF0000000000000), <16 x double> %size
  %is_less = fcmp olt <16 x double> %not.zero, %least
  %least.next = select <16 x i1> %is_less, <16 x double> %not.zero, <16 x double> %least
  %is_last.v = icmp eq i64 %v.next, %vectors
  br i1 %is_last.v, label %group.end, label %some
group.end:
  %largest = call nnan double @llvm.vector.reduce.fmax.v16f64(<16 x double> %most.next)
  %smallest = call nnan double @llvm.vector.reduce.fmin.v16f64(<16 x double> %least.next)
  %smallest.bits = bitcast double %smallest to i64
  %power.bits = and i64 %smallest.bits, 9218868437227405312
  %power = bitcast i64 %power.bits to double
  %in.powers = fdiv double %largest, %power
  %ratio = fmul double %in.powers, %unit
  %out.ptr = getelementptr double, ptr %out, i64 %g
  store double %ratio, ptr %out.ptr
  %is_last.g = icmp eq i64 %g.next, %groups
  br i1 %is_last.g, label %done, label %group
done:
  ret void
}
"""


@lru_cache
def _measure() -> Callable[..., int]:
    return compile_function(_RATIOS, "ratios", 2, 3)


class MagnitudeRatios:
    """Of each group of finite float64 (any shape, but for its last two axes, rows of a multiple of ``LANES``): the largest
    magnitude over a unit that all are multiples of, if they have ``bits`` significant bits; 0 where all are zero."""

    def __init__(self, values: np.ndarray, bits: int):
        self.values, self.bits = values, bits
        self.out = np.empty(values.shape[:-2])
        self.address, self.place = address(self.out), address(values)

    def measure(self) -> None:
        """Of the values as they are now."""
        vectors = self.values.shape[-1] * self.values.shape[-2] // LANES
        _measure()(self.address, self.place, self.out.size, vectors, 1023 + self.bits - 1)


# a, b: the packed operands of one step of ``gemm_jit.py``. Loops over the vectors of the tile, over k, and twice over the expansion.
_EXACT_DOT = """
declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)

define internal void @exact(ptr noalias %a, ptr noalias %b, ptr noalias %out, i64 %k) noinline {{
entry:
  %terms = alloca {wide}, i64 %k
  br label %vector
vector:
  %q = phi i64 [0, %entry], [%q.next, %vector.end]
  %q.next = add i64 %q, 1
  %row = udiv i64 %q, {vectors}
  %part = urem i64 %q, {vectors}
  %column = mul i64 %part, {lanes}
  br label %term
term:
  %n = phi i64 [0, %vector], [%n.next, %term.end]
  %n.next = add i64 %n, 1
  %a.k = mul i64 %n, {rows}
  %a.at = add i64 %a.k, %row
  %a.ptr = getelementptr double, ptr %a, i64 %a.at
  %a.one = load double, ptr %a.ptr
  %a.first = insertelement {wide} poison, double %a.one, i64 0
  %a.all = shufflevector {wide} %a.first, {wide} poison, <{lanes} x i32> zeroinitializer
  %b.k = mul i64 %n, {columns}
  %b.at = add i64 %b.k, %column
  %b.ptr = getelementptr double, ptr %b, i64 %b.at
  %b.all = load {wide}, ptr %b.ptr, align 8
  %product = fmul {wide} %a.all, %b.all
  %is_first = icmp eq i64 %n, 0
  br i1 %is_first, label %term.end, label %grow
grow:
  %g = phi i64 [0, %term], [%g.next, %grow]
  %rest = phi {wide} [%product, %term], [%g.sum, %grow]
  %g.next = add i64 %g, 1
  %g.ptr = getelementptr {wide}, ptr %terms, i64 %g
  %g.old = load {wide}, ptr %g.ptr
{grown}
  store {wide} %g.error, ptr %g.ptr
  %is_last.g = icmp eq i64 %g.next, %n
  br i1 %is_last.g, label %term.end, label %grow
term.end:
  %largest = phi {wide} [%product, %term], [%g.sum, %grow]
  %n.ptr = getelementptr {wide}, ptr %terms, i64 %n
  store {wide} %largest, ptr %n.ptr
  %is_last.n = icmp eq i64 %n.next, %k
  br i1 %is_last.n, label %fold, label %term
fold:
  %f = phi i64 [0, %term.end], [%f.next, %fold]
  %below = phi {wide} [zeroinitializer, %term.end], [%odd, %fold]
  %f.next = add i64 %f, 1
  %f.ptr = getelementptr {wide}, ptr %terms, i64 %f
  %f.old = load {wide}, ptr %f.ptr
{folded}
  %bits = bitcast {wide} %f.sum to {longs}
  %last = and {longs} %bits, splat (i64 1)
  %is_even = icmp eq {longs} %last, zeroinitializer
  %is_inexact = fcmp une {wide} %f.error, zeroinitializer
  %moves = and <{lanes} x i1> %is_even, %is_inexact
  %is_up = fcmp ogt {wide} %f.error, zeroinitializer
  %is_positive = fcmp ogt {wide} %f.sum, zeroinitializer
  %toward = xor <{lanes} x i1> %is_up, %is_positive
  %by = select <{lanes} x i1> %toward, {longs} splat (i64 -1), {longs} splat (i64 1)
  %moved = add {longs} %bits, %by
  %odd.bits = select <{lanes} x i1> %moves, {longs} %moved, {longs} %bits
  %odd = bitcast {longs} %odd.bits to {wide}
  %is_last.f = icmp eq i64 %f.next, %k
  br i1 %is_last.f, label %vector.end, label %fold
vector.end:
  %rounded = fptrunc {wide} %odd to {single}
  %out.ptr = getelementptr {single}, ptr %out, i64 %q
  store {single} %rounded, ptr %out.ptr
  %is_last.q = icmp eq i64 %q.next, {count}
  br i1 %is_last.q, label %done, label %vector
done:
  ret void
}}
"""
# The sum of two numbers and its error (Knuth).
_TWO_SUM = """  %{n}.sum = fadd {wide} {x}, {y}
  %{n}.y = fsub {wide} %{n}.sum, {x}
  %{n}.x = fsub {wide} %{n}.sum, %{n}.y
  %{n}.x.error = fsub {wide} {x}, %{n}.x
  %{n}.y.error = fsub {wide} {y}, %{n}.y
  %{n}.error = fadd {wide} %{n}.x.error, %{n}.y.error"""


def exact_dot_ir(rows: int, vectors: int, lanes: int) -> str:
    """IR of ``exact(a, b, out, k)``: the sums of ``rows`` times ``vectors`` vectors of ``lanes``, over k, as float32.

    ``a`` (k, rows) and ``b`` (k, vectors, lanes) are float64.
    """
    wide = f"<{lanes} x double>"
    return _EXACT_DOT.format(
        rows=rows, vectors=vectors, lanes=lanes, columns=vectors * lanes, count=rows * vectors, wide=wide,
        longs=f"<{lanes} x i64>", single=f"<{lanes} x float>", grown=_TWO_SUM.format(n="g", x="%rest", y="%g.old", wide=wide),
        folded=_TWO_SUM.format(n="f", x="%f.old", y="%below", wide=wide),
    )  # fmt: skip
