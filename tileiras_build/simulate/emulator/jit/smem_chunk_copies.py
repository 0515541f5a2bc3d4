"""Accesses of 16-byte chunks of shared memory in native code: writes of TMA boxes, and reads of MMA operands.

Unlike NumPy, it needs no index array: it computes positions on the fly, and clears or tests the marks of copies in flight
(``async_copy_hazards.py``) in the same loop.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .llvm_jit import address, compile_function

CHUNK = 16


def write_boxes(
    shared: np.ndarray, marks: np.ndarray, source: int, corners: np.ndarray, steps: np.ndarray, targets: np.ndarray,
    row_chunks: int, start: int, swizzle: tuple[int, int], are_rounded: bool = False,
) -> None:  # fmt: skip
    """Copy boxes to shared memory, and clear the marks there.

    The rows of box b start ``corners[b] + steps`` bytes (int64) after ``source``, and have ``row_chunks`` chunks each. They are
    written in order from chunk ``targets[b] + start`` on, with chunk c after ``targets[b]`` at ``c ^ (c >> 3 & mask) << shift``;
    ``swizzle`` is (mask, shift) (``tensor_map.CHUNK_XOR``). ``are_rounded``: round float32 to tf32, to nearest even; infinities
    and NaNs are unchanged.
    """
    _compiled("land.tf32" if are_rounded else "land")(
        address(shared), address(marks), source, address(corners), address(steps), address(targets),
        len(targets), len(steps), row_chunks, start, *swizzle,
    )  # fmt: skip


def gather(
    shared: np.ndarray, marks: np.ndarray | None, starts: np.ndarray, places: np.ndarray, out: np.ndarray
) -> bool:
    """Read the chunks ``places`` (any shape, int64) relative to each of ``starts`` (int64) into ``out`` (starts, places).

    Returns whether none of them is marked.
    """
    zeros = _ZEROS if marks is None else marks
    return not _compiled("gather")(
        address(out), address(shared), address(zeros), address(starts), address(places), len(starts), places.size,
        0 if marks is None else 4,
    )  # fmt: skip


def chunks_equal(shared: np.ndarray, starts: np.ndarray, places: np.ndarray, before: np.ndarray) -> bool:
    """Whether the chunks that ``gather`` reads equal ``before``."""
    code = _compiled("compare")
    return not code(address(before), address(shared), address(starts), address(places), len(starts), places.size)


_ZEROS = np.zeros(4, np.uint8)  # replaces missing marks


@lru_cache
def _compiled(name: str) -> Callable[..., int]:
    text, pointers, numbers, result = _FUNCTIONS[name]
    return compile_function(text, name.split(".")[0], pointers, numbers, result)


_WRITE_BOXES = """
define void @land(ptr noalias %shared, ptr noalias %marks, ptr noalias %source, ptr noalias %corners, ptr noalias %steps,
                  ptr noalias %targets, i64 %boxes, i64 %rows, i64 %chunks, i64 %start, i64 %mask, i64 %shift) {
entry:
  br label %box
box:
  %b = phi i64 [0, %entry], [%b.next, %box.end]
  %b.next = add i64 %b, 1
  %corner.ptr = getelementptr i64, ptr %corners, i64 %b
  %corner = load i64, ptr %corner.ptr
  %from.box = getelementptr i8, ptr %source, i64 %corner
  %target.ptr = getelementptr i64, ptr %targets, i64 %b
  %target = load i64, ptr %target.ptr
  br label %row
row:
  %r = phi i64 [0, %box], [%r.next, %row.end]
  %first = phi i64 [%start, %box], [%first.next, %row.end]
  %r.next = add i64 %r, 1
  %first.next = add i64 %first, %chunks
  %step.ptr = getelementptr i64, ptr %steps, i64 %r
  %step = load i64, ptr %step.ptr
  %from.row = getelementptr i8, ptr %from.box, i64 %step
  br label %chunk
chunk:
  %k = phi i64 [0, %row], [%k.next, %chunk]
  %k.next = add i64 %k, 1
  %from = getelementptr <4 x i32>, ptr %from.row, i64 %k
  %value = load <4 x i32>, ptr %from, align 1
ROUND
  %number = add i64 %first, %k
  %line = lshr i64 %number, 3
  %bits = and i64 %line, %mask
  %moved = shl i64 %bits, %shift
  %swizzled = xor i64 %number, %moved
  %place = add i64 %target, %swizzled
  %to = getelementptr <4 x i32>, ptr %shared, i64 %place
  store <4 x i32> %landed, ptr %to, align 1
  %mark = getelementptr i32, ptr %marks, i64 %place
  store i32 0, ptr %mark, align 1
  %is_last.k = icmp eq i64 %k.next, %chunks
  br i1 %is_last.k, label %row.end, label %chunk
row.end:
  %is_last.r = icmp eq i64 %r.next, %rows
  br i1 %is_last.r, label %box.end, label %row
box.end:
  %is_last.b = icmp eq i64 %b.next, %boxes
  br i1 %is_last.b, label %done, label %box
done:
  ret void
}
"""
_AS_IS = "  %landed = or <4 x i32> %value, zeroinitializer"
_ROUNDED = """  %upper = lshr <4 x i32> %value, splat (i32 13)
  %odd = and <4 x i32> %upper, splat (i32 1)
  %half = add <4 x i32> %odd, splat (i32 4095)
  %sum = add <4 x i32> %value, %half
  %kept = and <4 x i32> %sum, splat (i32 -8192)
  %exponent = and <4 x i32> %value, splat (i32 2139095040)
  %is_finite = icmp ne <4 x i32> %exponent, splat (i32 2139095040)
  %landed = select <4 x i1> %is_finite, <4 x i32> %kept, <4 x i32> %value"""
_CHUNK_LOOP = """
entry:
  br label %cta
cta:
  %c = phi i64 [0, %entry], [%c.next, %cta.end]
  %found.c = phi i32 [0, %entry], [%found.next, %cta.end]
  %c.next = add i64 %c, 1
  %start.ptr = getelementptr i64, ptr %starts, i64 %c
  %start = load i64, ptr %start.ptr
  %c.first = mul i64 %c, %count
  br label %chunk
chunk:
  %i = phi i64 [0, %cta], [%i.next, %chunk]
  %found = phi i32 [%found.c, %cta], [%found.next, %chunk]
  %i.next = add i64 %i, 1
  %place.ptr = getelementptr i64, ptr %places, i64 %i
  %place = load i64, ptr %place.ptr
  %at = add i64 %start, %place
  %from = getelementptr <4 x i32>, ptr %shared, i64 %at
  %value = load <4 x i32>, ptr %from, align 1
  %number = add i64 %c.first, %i
  %other = getelementptr <4 x i32>, ptr %data, i64 %number
ACT
  %found.next = or i32 %found, %this
  %is_last.i = icmp eq i64 %i.next, %count
  br i1 %is_last.i, label %cta.end, label %chunk
cta.end:
  %is_last.c = icmp eq i64 %c.next, %ctas
  br i1 %is_last.c, label %done, label %cta
done:
  %result = zext i32 %found.next to i64
  ret i64 %result
}
"""
_GATHER = "define i64 @gather(ptr noalias %data, ptr noalias %shared, ptr noalias %marks, ptr noalias %starts, ptr noalias %places, i64 %ctas, i64 %count, i64 %mark.bytes) {" + _CHUNK_LOOP.replace(
    "ACT",
    """  store <4 x i32> %value, ptr %other, align 1
  %mark.at = mul i64 %at, %mark.bytes
  %mark = getelementptr i8, ptr %marks, i64 %mark.at
  %this = load i32, ptr %mark, align 1""",
)  # fmt: skip
_COMPARE = "define i64 @compare(ptr noalias %data, ptr noalias %shared, ptr noalias %starts, ptr noalias %places, i64 %ctas, i64 %count) {" + _CHUNK_LOOP.replace(
    "ACT",
    """  %before = load <4 x i32>, ptr %other, align 1
  %both = xor <4 x i32> %value, %before
  %this = call i32 @llvm.vector.reduce.or.v4i32(<4 x i32> %both)""",
) + "declare i32 @llvm.vector.reduce.or.v4i32(<4 x i32>)\n"  # fmt: skip
# Name -> text, pointer and integer parameters, result.
_FUNCTIONS: dict[str, tuple[str, int, int, type | None]] = {
    "land": (_WRITE_BOXES.replace("ROUND", _AS_IS), 6, 6, None),
    "land.tf32": (_WRITE_BOXES.replace("ROUND", _ROUNDED), 6, 6, None),
    "gather": (_GATHER, 5, 3, ctypes.c_int64),
    "compare": (_COMPARE, 4, 2, ctypes.c_int64),
}
