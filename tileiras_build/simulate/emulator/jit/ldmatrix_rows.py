"""ldmatrix in native code: loads 16-byte rows of shared memory to registers, with all checks.

If a check fails, NumPy executes the instruction and reports the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..matmul.pack_operands_jit import transpose
from .llvm_jit import address, compile_function

ROW, ROWS = 16, 8  # bytes of a row; rows of a matrix


def load(
    addresses: np.ndarray, offset: int, cta: np.ndarray, shared: np.ndarray, marks: np.ndarray | None,
    size: int, limit: int, count: int, transposed: bool,
) -> np.ndarray | None:  # fmt: skip
    """``count`` registers (count, warps, 32) of the rows at ``addresses`` (CTAs or 1, threads) plus ``offset``.

    ``cta``: the CTAs' indices (CTAs, 1); each has ``size`` bytes of ``shared``, of which it may access ``limit``; ``marks`` has
    a byte per word, 0 if no copy to it is in flight. None if an address is misaligned, out of bounds or marked.
    """
    if limit < ROW:
        return None
    rows, threads = addresses.shape
    warps = len(cta) * threads // 32
    out = np.empty((count, warps, 32), np.uint32)
    first = np.ascontiguousarray(cta.reshape(-1), np.int64)
    code = _code(count, transposed, marks is not None)
    bad = code(
        address(out), address(addresses), address(first), address(shared), address(shared if marks is None else marks),
        len(first), threads // 32, 0 if rows == 1 else 4 * threads, warps * 128, offset & 0xFFFFFFFF, size, limit - ROW,
    )  # fmt: skip
    return None if bad else out


# Loops over CTAs, warps and matrices.
_LOOPS = """
define i64 @load(ptr noalias %out, ptr noalias %addresses, ptr noalias %ctas, ptr noalias %shared, ptr noalias %marks,
                 i64 %rows, i64 %warps, i64 %apart, i64 %register, i64 %offset, i64 %size, i64 %last) {{
entry:
  %offset.one = trunc i64 %offset to i32
  %offset.first = insertelement <8 x i32> poison, i32 %offset.one, i64 0
  %offsets = shufflevector <8 x i32> %offset.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %last.one = trunc i64 %last to i32
  %last.first = insertelement <8 x i32> poison, i32 %last.one, i64 0
  %lasts = shufflevector <8 x i32> %last.first, <8 x i32> poison, <8 x i32> zeroinitializer
  br label %cta
cta:
  %c = phi i64 [0, %entry], [%c.next, %cta.end]
  %waits.c = phi i32 [0, %entry], [%waits.next, %cta.end]
  %c.next = add i64 %c, 1
  %c.ptr = getelementptr i64, ptr %ctas, i64 %c
  %c.number = load i64, ptr %c.ptr
  %c.at = mul i64 %c.number, %size
  %bytes = getelementptr i8, ptr %shared, i64 %c.at
  %c.words = lshr i64 %c.at, 2
  %c.marks = getelementptr i8, ptr %marks, i64 %c.words
  %c.first = mul i64 %c, %warps
  %c.addresses = mul i64 %c, %apart
  br label %warp
warp:
  %w = phi i64 [0, %cta], [%w.next, %warp.end]
  %waits.w = phi i32 [%waits.c, %cta], [%waits.next, %warp.end]
  %w.next = add i64 %w, 1
  %number = add i64 %c.first, %w
  %w.at = mul i64 %number, 128
  %a.number = mul i64 %w, 128
  %a.at = add i64 %c.addresses, %a.number
  %w.addresses = getelementptr i8, ptr %addresses, i64 %a.at
  %w.out = getelementptr i8, ptr %out, i64 %w.at
  br label %matrix
matrix:
  %m = phi i64 [0, %warp], [%m.next, %read]
  %waits = phi i32 [%waits.w, %warp], [%waits.next, %read]
  %m.next = add i64 %m, 1
  %m.at = mul i64 %m, 32
  %m.addresses = getelementptr i8, ptr %w.addresses, i64 %m.at
  %given = load <8 x i32>, ptr %m.addresses, align 4
  %places = add <8 x i32> %given, %offsets
  %over = icmp ugt <8 x i32> %places, %lasts
  %low = and <8 x i32> %places, splat (i32 15)
  %askew = icmp ne <8 x i32> %low, zeroinitializer
  %wrong = or <8 x i1> %over, %askew
  %any = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %wrong)
  br i1 %any, label %bad, label %read
read:
{rows}
  %m.to = mul i64 %m, %register
  %to = getelementptr i8, ptr %w.out, i64 %m.to
{stores}
  %is_last.m = icmp eq i64 %m.next, {count}
  br i1 %is_last.m, label %warp.end, label %matrix
warp.end:
  %is_last.w = icmp eq i64 %w.next, %warps
  br i1 %is_last.w, label %cta.end, label %warp
cta.end:
  %is_last.c = icmp eq i64 %c.next, %rows
  br i1 %is_last.c, label %done, label %cta
done:
  %waiting = zext i32 %waits.next to i64
  ret i64 %waiting
bad:
  ret i64 1
}}
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
"""
_ROW = """  %place.{i}.one = extractelement <8 x i32> %places, i64 {i}
  %place.{i} = zext i32 %place.{i}.one to i64
  %row.{i}.ptr = getelementptr i8, ptr %bytes, i64 %place.{i}
  %row.{i} = load <8 x i16>, ptr %row.{i}.ptr, align 16"""
_MARK = """  %word.{i} = lshr i64 %place.{i}, 2
  %mark.{i}.ptr = getelementptr i8, ptr %c.marks, i64 %word.{i}
  %mark.{i} = load i32, ptr %mark.{i}.ptr, align 4
  %waits.{next} = or i32 {before}, %mark.{i}"""
_STORE = """  %to.{i} = getelementptr i8, ptr %to, i64 {at}
  store <8 x i16> {row}, ptr %to.{i}, align 4"""


@lru_cache
def _code(count: int, transposed: bool, marked: bool) -> Callable[..., int]:
    from ctypes import c_int64

    lines = [_ROW.format(i=i) for i in range(ROWS)]
    if marked:
        counts = ["%waits", *(f"%waits.{i}" for i in range(ROWS - 1))]
        lines += [_MARK.format(i=i, next=i if i < ROWS - 1 else "next", before=counts[i]) for i in range(ROWS)]
    else:
        lines.append("  %waits.next = or i32 %waits, 0")
    rows = [f"%row.{i}" for i in range(ROWS)]
    if transposed:
        rows = transpose(rows, "row", "<8 x i16>", lines)
    stores = [_STORE.format(i=i, at=ROW * i, row=row) for i, row in enumerate(rows)]
    text = _LOOPS.format(rows="\n".join(lines), stores="\n".join(stores), count=count)
    return compile_function(text, "load", 5, 7, c_int64)
