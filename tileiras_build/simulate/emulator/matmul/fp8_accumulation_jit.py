"""Native code for ``fp8_accumulation.py``, for finite operands: eight columns at a time, in two passes over k.

The first one finds the largest exponent of the terms, the second adds the terms as multiples of the last place that is kept.
These are below 2^15 each, so the conversions to integers are defined, and truncate like NumPy's ``trunc``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..jit.llvm_jit import address, compile_function

LANES = 8  # of a vector of float32
ZERO_EXPONENT = (
    -1000
)  # stands for the exponent of a zero: no sum of two exponents, one of which is it, is one of numbers
NO_TERM_EXPONENT = -40  # an exponent below those of all products


@dataclass(frozen=True)
class Rounding:
    """``bits`` behind the point of the largest term are kept, of a sum as well if it ``is_cut``; ``lowest``: the exponent of the
    accumulator's smallest normal numbers."""

    bits: int
    lowest: int
    truncates_accumulator: bool


def accumulate_fp8(
    total: np.ndarray, left: tuple[np.ndarray, np.ndarray], right: tuple[np.ndarray, np.ndarray], rounding: Rounding
) -> None:
    """Replace C (stack, m, n) of float32, in one piece, by A B + C.

    ``left``, ``right``: float32 and their exponents (int32), (stack or 1, m, k) and (stack or 1, n, k). n is a multiple of LANES.
    """
    stack, m, n = total.shape
    k = left[0].shape[2]
    a = [np.ascontiguousarray(part) for part in left]
    b = [np.ascontiguousarray(part.swapaxes(1, 2)) for part in right]
    dropped = (1 << 23 - rounding.bits) - 1
    _compiled()(
        address(total), *map(address, a), *map(address, b), stack, m, n // LANES, k,
        m * k if len(a[0]) > 1 else 0, k * n if len(b[0]) > 1 else 0,
        rounding.bits, rounding.lowest, ~dropped if rounding.truncates_accumulator else -1, ~dropped,
    )  # fmt: skip


_NUMBERS = ("stacks", "rows", "vectors", "k", "a.matrix", "b.matrix", "bits", "lowest", "mask", "mask.alone")
_SPLAT = """  %{name}.one = trunc i64 %{name} to i32
  %{name}.first = insertelement <8 x i32> poison, i32 %{name}.one, i64 0
  %{name}.all = shufflevector <8 x i32> %{name}.first, <8 x i32> poison, <8 x i32> zeroinitializer"""
_SPREAD = """  %{pass}.a.at = add i64 %a.row, %{pass}
  %{pass}.a.ptr = getelementptr {type}, ptr %{from}, i64 %{pass}.a.at
  %{pass}.a.one = load {type}, ptr %{pass}.a.ptr
  %{pass}.a.first = insertelement <8 x {type}> poison, {type} %{pass}.a.one, i64 0
  %{pass}.a = shufflevector <8 x {type}> %{pass}.a.first, <8 x {type}> poison, <8 x i32> zeroinitializer
  %{pass}.b.k = mul i64 %{pass}, %vectors
  %{pass}.b.number = add i64 %{pass}.b.k, %b.at
  %{pass}.b.ptr = getelementptr <8 x {type}>, ptr %{other}, i64 %{pass}.b.number
  %{pass}.b = load <8 x {type}>, ptr %{pass}.b.ptr, align 4"""
# Loops over matrices, rows, vectors of columns, and twice over k.
_ADD = """
declare <8 x i32> @llvm.smax.v8i32(<8 x i32>, <8 x i32>)

define void @add(ptr noalias %total, ptr noalias %as, ptr noalias %as.exponents, ptr noalias %bs, ptr noalias %bs.exponents, {numbers}) {{
entry:
{splats}
  br label %stack
stack:
  %s = phi i64 [0, %entry], [%s.next, %stack.end]
  %s.next = add i64 %s, 1
  %a.stack = mul i64 %s, %a.matrix
  %b.stack = mul i64 %s, %b.matrix
  %b.first = udiv exact i64 %b.stack, 8
  %s.rows = mul i64 %s, %rows
  br label %row
row:
  %r = phi i64 [0, %stack], [%r.next, %row.end]
  %r.next = add i64 %r, 1
  %r.k = mul i64 %r, %k
  %a.row = add i64 %a.stack, %r.k
  %r.number = add i64 %s.rows, %r
  %r.first = mul i64 %r.number, %vectors
  br label %vector
vector:
  %v = phi i64 [0, %row], [%v.next, %vector.end]
  %v.next = add i64 %v, 1
  %b.at = add i64 %b.first, %v
  %v.number = add i64 %r.first, %v
  %total.ptr = getelementptr <8 x float>, ptr %total, i64 %v.number
  %old = load <8 x float>, ptr %total.ptr, align 4
  %old.bits = bitcast <8 x float> %old to <8 x i32>
  %old.shifted = lshr <8 x i32> %old.bits, splat (i32 23)
  %old.field = and <8 x i32> %old.shifted, splat (i32 255)
  %old.moved = sub <8 x i32> %old.field, splat (i32 127)
  %old.normal = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %old.moved, <8 x i32> %lowest.all)
  %is_zero = icmp eq <8 x i32> %old.field, zeroinitializer
  %old.exponent = select <8 x i1> %is_zero, <8 x i32> splat (i32 -126), <8 x i32> %old.normal
  br label %find
find:
  %f = phi i64 [0, %vector], [%f.next, %find]
  %most = phi <8 x i32> [splat (i32 {none}), %vector], [%most.next, %find]
  %f.next = add i64 %f, 1
{exponents}
  %f.sum = add <8 x i32> %f.a, %f.b
  %most.next = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %most, <8 x i32> %f.sum)
  %is_last.f = icmp eq i64 %f.next, %k
  br i1 %is_last.f, label %begin, label %find
begin:
  %alone = icmp slt <8 x i32> %most.next, splat (i32 {least})
  %most.all = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %most.next, <8 x i32> %old.exponent)
  %largest = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %most.all, <8 x i32> splat (i32 {least}))
  %up = sub <8 x i32> %bits.all, %largest
  %up.field = add <8 x i32> %up, splat (i32 127)
  %up.bits = shl <8 x i32> %up.field, splat (i32 23)
  %scale = bitcast <8 x i32> %up.bits to <8 x float>
  %old.scaled = fmul <8 x float> %old, %scale
  %old.whole = fptosi <8 x float> %old.scaled to <8 x i32>
  br label %one
one:
  %o = phi i64 [0, %begin], [%o.next, %one]
  %sum = phi <8 x i32> [%old.whole, %begin], [%sum.next, %one]
  %o.next = add i64 %o, 1
{values}
  %product = fmul <8 x float> %o.a, %o.b
  %scaled = fmul <8 x float> %product, %scale
  %whole = fptosi <8 x float> %scaled to <8 x i32>
  %sum.next = add <8 x i32> %sum, %whole
  %is_last.o = icmp eq i64 %o.next, %k
  br i1 %is_last.o, label %vector.end, label %one
vector.end:
  %wide = sitofp <8 x i32> %sum.next to <8 x float>
  %down = sub <8 x i32> splat (i32 127), %up
  %down.bits = shl <8 x i32> %down, splat (i32 23)
  %back = bitcast <8 x i32> %down.bits to <8 x float>
  %new = fmul <8 x float> %wide, %back
  %new.bits = bitcast <8 x float> %new to <8 x i32>
  %new.cut = and <8 x i32> %new.bits, %mask.all
  %kept = and <8 x i32> %old.bits, %mask.alone.all
  %y.bits = select <8 x i1> %alone, <8 x i32> %kept, <8 x i32> %new.cut
  %y = bitcast <8 x i32> %y.bits to <8 x float>
  %positive = fadd <8 x float> %y, zeroinitializer
  store <8 x float> %positive, ptr %total.ptr, align 4
  %is_last.v = icmp eq i64 %v.next, %vectors
  br i1 %is_last.v, label %row.end, label %vector
row.end:
  %is_last.r = icmp eq i64 %r.next, %rows
  br i1 %is_last.r, label %stack.end, label %row
stack.end:
  %is_last.s = icmp eq i64 %s.next, %stacks
  br i1 %is_last.s, label %done, label %stack
done:
  ret void
}}
"""


@lru_cache
def _compiled() -> Callable[..., int]:
    text = _ADD.format(
        numbers=", ".join(f"i64 %{name}" for name in _NUMBERS), none=2 * ZERO_EXPONENT, least=NO_TERM_EXPONENT,
        splats="\n".join(_SPLAT.format(name=name) for name in _NUMBERS[-4:]),
        exponents=_SPREAD.format(**{"pass": "f", "type": "i32", "from": "as.exponents", "other": "bs.exponents"}),
        values=_SPREAD.format(**{"pass": "o", "type": "float", "from": "as", "other": "bs"}),
    )  # fmt: skip
    return compile_function(text, "add", 5, len(_NUMBERS))
