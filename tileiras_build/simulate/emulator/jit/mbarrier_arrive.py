"""mbarrier arrivals in native code, for distinct mbarriers without faults (``isa/mbarrier.py``)."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_int64
from functools import lru_cache

import numpy as np

from ..isa.mbarrier_state_word import COUNT_BIAS, COUNT_LIMIT
from .llvm_jit import address, compile_function

REFUSED, COMPLETED = -1, 1


def arrive_and_expect_tx(
    words: np.ndarray, places: np.ndarray, arrivals: np.ndarray, tx: np.ndarray, drop: bool, before: np.ndarray
) -> int:
    """Add ``arrivals`` and bytes ``tx`` (int64, scalar or per mbarrier) to mbarriers ``places`` (int64) of ``words`` (uint64).

    Writes the old words to ``before``. Returns ``COMPLETED`` if a phase completes, or ``REFUSED``, without any change, if the
    places do not ascend or an mbarrier would exceed its range.
    """
    return _compiled_arrive()(
        address(words), address(places), address(arrivals), address(tx), address(before), len(places),
        len(arrivals) > 1, len(tx) > 1, drop,
    )  # fmt: skip


def phases_completed(words: np.ndarray, places: np.ndarray, phase: int) -> bool | None:
    """Whether all mbarriers ``places`` (int64) of ``words`` (uint64) are in a phase other than ``phase``; None if one is invalid."""
    return _PHASE_COMPLETED[_compiled_test()(address(words), address(places), len(places), phase)]


_PHASE_COMPLETED = False, True, None


# A loop that checks, and one that writes.
_TEXT = """
define i64 @change(ptr %words, ptr %places, ptr %arrivals, ptr %tx, ptr %before, i64 %count, i64 %arrivals.step, i64 %tx.step, i64 %drop) {{
entry:
  br label %look
look:
  %i = phi i64 [0, %entry], [%i.next, %next]
  %last = phi i64 [-1, %entry], [%place, %next]
{look}
  %ascends = icmp sgt i64 %place, %last
  %old.above = icmp sgt i64 %bytes, {limit}
  %old.below = icmp slt i64 %bytes, -{limit}
  %new.above = icmp sgt i64 %bytes.new, {limit}
  %new.below = icmp slt i64 %bytes.new, -{limit}
  %too.many = icmp slt i64 %left, 0
  %bad.0 = or i1 %old.above, %old.below
  %bad.1 = or i1 %new.above, %new.below
  %bad.2 = or i1 %bad.0, %bad.1
  %bad.3 = or i1 %bad.2, %too.many
  %fine = xor i1 %bad.3, true
  %good = and i1 %ascends, %fine
  br i1 %good, label %next, label %refuse
next:
  %is.last = icmp eq i64 %i.next, %count
  br i1 %is.last, label %act, label %look
refuse:
  ret i64 {refused}
act:
  %n = phi i64 [0, %next], [%n.next, %act]
  %done.any = phi i1 [false, %next], [%done.next, %act]
{act}
  %old.ptr = getelementptr i64, ptr %before, i64 %n
  store i64 %act.word, ptr %old.ptr
  %none.left = icmp eq i64 %act.left, 0
  %none.to.come = icmp eq i64 %act.bytes.new, 0
  %done = and i1 %none.left, %none.to.come
  %done.next = or i1 %done.any, %done
  %dropped = mul i64 %act.arrived, %drop
  %expects = sub i64 %act.expected, %dropped
  %pending.new = select i1 %done, i64 %expects, i64 %act.left
  %phase = and i64 %act.word, -9223372036854775808
  %flip = select i1 %done, i64 -9223372036854775808, i64 0
  %phase.new = xor i64 %phase, %flip
  %pending.bits = shl i64 %pending.new, 20
  %biased = add i64 %act.bytes.new, {bias}
  %bytes.bits = shl i64 %biased, 40
  %low = or i64 %expects, %pending.bits
  %high = or i64 %bytes.bits, %phase.new
  %all = or i64 %low, %high
  store i64 %all, ptr %act.ptr
  %is.end = icmp eq i64 %n.next, %count
  br i1 %is.end, label %end, label %act
end:
  %result = zext i1 %done.next to i64
  ret i64 %result
}}
"""
_FIELDS = """  %{n}.next = add i64 %{n}, 1
  %{p}place.ptr = getelementptr i64, ptr %places, i64 %{n}
  %{p}place = load i64, ptr %{p}place.ptr
  %{p}ptr = getelementptr i64, ptr %words, i64 %{p}place
  %{p}word = load i64, ptr %{p}ptr
  %{p}arrivals.at = mul i64 %{n}, %arrivals.step
  %{p}arrivals.ptr = getelementptr i64, ptr %arrivals, i64 %{p}arrivals.at
  %{p}arrived = load i64, ptr %{p}arrivals.ptr
  %{p}tx.at = mul i64 %{n}, %tx.step
  %{p}tx.ptr = getelementptr i64, ptr %tx, i64 %{p}tx.at
  %{p}more = load i64, ptr %{p}tx.ptr
  %{p}expected = and i64 %{p}word, 1048575
  %{p}pending.high = lshr i64 %{p}word, 20
  %{p}pending = and i64 %{p}pending.high, 1048575
  %{p}bytes.high = lshr i64 %{p}word, 40
  %{p}bytes.field = and i64 %{p}bytes.high, 8388607
  %{p}bytes = sub i64 %{p}bytes.field, {bias}
  %{p}left = sub i64 %{p}pending, %{p}arrived
  %{p}bytes.new = add i64 %{p}bytes, %{p}more"""


_TEST_TEXT = """
define i64 @left(ptr %words, ptr %places, i64 %count, i64 %wanted) {{
entry:
  br label %look
look:
  %i = phi i64 [0, %entry], [%i.next, %next]
  %all = phi i1 [true, %entry], [%all.next, %next]
  %i.next = add i64 %i, 1
  %place.ptr = getelementptr i64, ptr %places, i64 %i
  %place = load i64, ptr %place.ptr
  %ptr = getelementptr i64, ptr %words, i64 %place
  %word = load i64, ptr %ptr
  %phase = lshr i64 %word, 63
  %is.other = icmp ne i64 %phase, %wanted
  %bytes.high = lshr i64 %word, 40
  %bytes.field = and i64 %bytes.high, 8388607
  %bytes = sub i64 %bytes.field, {bias}
  %above = icmp sgt i64 %bytes, {limit}
  %below = icmp slt i64 %bytes, -{limit}
  %outside = or i1 %above, %below
  %all.next = and i1 %all, %is.other
  br i1 %outside, label %none, label %next
next:
  %is.last = icmp eq i64 %i.next, %count
  br i1 %is.last, label %end, label %look
end:
  %result = zext i1 %all.next to i64
  ret i64 %result
none:
  ret i64 2
}}
"""


@lru_cache
def _compiled_test() -> Callable[..., int]:
    return compile_function(_TEST_TEXT.format(bias=COUNT_BIAS, limit=COUNT_LIMIT), "left", 2, 2, c_int64)


@lru_cache
def _compiled_arrive() -> Callable[..., int]:
    text = _TEXT.format(
        look=_FIELDS.format(n="i", p="", bias=COUNT_BIAS), act=_FIELDS.format(n="n", p="act.", bias=COUNT_BIAS),
        limit=COUNT_LIMIT, bias=COUNT_BIAS, refused=REFUSED,
    )  # fmt: skip
    return compile_function(text, "change", 5, 4, c_int64)
