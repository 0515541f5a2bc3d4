"""cp.async in native code: elements of global memory are read at the issue, and written to shared memory at the wait.

Like ``ldmatrix_rows.py``, the native code makes all checks. If one fails, NumPy reports the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_int64
from functools import lru_cache

import numpy as np

from ..memory.address_space import Region
from ..simt.broadcasting import contiguous_rows
from .llvm_jit import address, compile_function


def issue(
    shape: tuple[int, int], to: np.ndarray, source: np.ndarray, sizes: np.ndarray | None, offsets: tuple[int, int],
    cta: np.ndarray, shared_size: int, limit: int, region: Region, dtype: type[np.generic], marks: np.ndarray, mark: int,
) -> tuple[np.ndarray, np.ndarray] | None:  # fmt: skip
    """(indices in the batch's shared memory, values) of the elements that threads (CTAs, threads) of CTAs ``cta`` copy; marks them.

    ``to`` (uint32) and ``source`` (uint64) are addresses, to which ``offsets`` are added. ``sizes`` (uint32) are source sizes:
    the element size, or 0 for no read. Each array has values per thread, per CTA, or one. ``marks`` are per element. Returns
    None if an address is misaligned or out of bounds, or for other sizes.
    """
    size = np.dtype(dtype).itemsize
    if limit < size or region.size < size:
        return None
    operands = [contiguous_rows(to, shape), contiguous_rows(source, shape)]
    operands.append((source, 0) if sizes is None else contiguous_rows(sizes, shape))
    index, data = np.empty(shape, np.int64), np.empty(shape, dtype)
    first = np.ascontiguousarray(cta.reshape(-1), np.int64)
    bad = _compiled_issue(size, sizes is not None)(
        address(index), address(data), *(address(values) for values, _ in operands), address(first), address(marks),
        *shape, *(apart for _, apart in operands), offsets[0] & 0xFFFFFFFF, (offsets[1] - region.origin) & _INT64_MASK,
        region.at, region.pad, region.end - size - region.pad, shared_size, limit - size, mark,
    )  # fmt: skip
    return None if bad else (index.reshape(-1), data.reshape(-1))


def write_elements(index: np.ndarray, data: np.ndarray, shared: np.ndarray, marks: np.ndarray) -> None:
    """Write elements to shared memory, and clear their marks."""
    _compiled_write(data.itemsize)(address(index), address(data), address(shared), address(marks), len(index))


_INT64_MASK = (1 << 64) - 1
_TYPES = {4: "i32", 8: "i64", 16: "<4 x i32>"}  # bytes of an element -> its type
_MARKS = {4: "i8", 8: "i16", 16: "i32"}  # bytes of an element -> type of its marks

_ISSUE = """
define i64 @issue(ptr noalias %index, ptr noalias %data, ptr %to, ptr %source, ptr %sizes, ptr %ctas, ptr noalias %marks,
                  i64 %rows, i64 %threads, i64 %to.apart, i64 %source.apart, i64 %sizes.apart, i64 %to.offset,
                  i64 %source.offset, i64 %at, i64 %pad, i64 %limit, i64 %shared.size, i64 %last, i64 %mark) {{
entry:
  %to.offset.word = trunc i64 %to.offset to i32
  %last.word = trunc i64 %last to i32
  %mark.word = trunc i64 %mark to {mark}
  %memory = inttoptr i64 %at to ptr
  br label %cta
cta:
  %c = phi i64 [0, %entry], [%c.next, %cta.end]
  %c.next = add i64 %c, 1
  %c.ptr = getelementptr i64, ptr %ctas, i64 %c
  %c.number = load i64, ptr %c.ptr
  %c.bytes = mul i64 %c.number, %shared.size
  %c.first = mul i64 %c, %threads
  %to.first = mul i64 %c, %to.apart
  %source.first = mul i64 %c, %source.apart
  %sizes.first = mul i64 %c, %sizes.apart
  br label %thread
thread:
  %t = phi i64 [0, %cta], [%t.next, %keep]
  %t.next = add i64 %t, 1
  %n = add i64 %c.first, %t
  %to.n = add i64 %to.first, %t
  %to.ptr = getelementptr i32, ptr %to, i64 %to.n
  %to.given = load i32, ptr %to.ptr
  %place = add i32 %to.given, %to.offset.word
  %to.low = and i32 %place, {low}
  %is.askew = icmp ne i32 %to.low, 0
  %is.over = icmp ugt i32 %place, %last.word
  %to.bad = or i1 %is.askew, %is.over
  br i1 %to.bad, label %bad, label %size
size:
{sized}
read:
  %source.n = add i64 %source.first, %t
  %source.ptr = getelementptr i64, ptr %source, i64 %source.n
  %source.given = load i64, ptr %source.ptr
  %offset = add i64 %source.given, %source.offset
  %source.low = and i64 %offset, {low}
  %source.askew = icmp ne i64 %source.low, 0
  %inside = sub i64 %offset, %pad
  %source.over = icmp ugt i64 %inside, %limit
  %source.bad = or i1 %source.askew, %source.over
  br i1 %source.bad, label %bad, label %load
load:
  %from = getelementptr i8, ptr %memory, i64 %offset
  %loaded = load {type}, ptr %from, align 1
  br label %keep
keep:
  %value = phi {type} [%loaded, %load]{zero}
  %place.long = zext i32 %place to i64
  %byte = add i64 %place.long, %c.bytes
  %number = lshr i64 %byte, {shift}
  %index.ptr = getelementptr i64, ptr %index, i64 %n
  store i64 %number, ptr %index.ptr
  %data.ptr = getelementptr {type}, ptr %data, i64 %n
  store {type} %value, ptr %data.ptr, align 1
  %mark.ptr = getelementptr {mark}, ptr %marks, i64 %number
  store {mark} %mark.word, ptr %mark.ptr
  %is_last.t = icmp eq i64 %t.next, %threads
  br i1 %is_last.t, label %cta.end, label %thread
cta.end:
  %is_last.c = icmp eq i64 %c.next, %rows
  br i1 %is_last.c, label %done, label %cta
done:
  ret i64 0
bad:
  ret i64 1
}}
"""
_SIZE = """  %sizes.n = add i64 %sizes.first, %t
  %sizes.ptr = getelementptr i32, ptr %sizes, i64 %sizes.n
  %given = load i32, ptr %sizes.ptr
  switch i32 %given, label %bad [
    i32 {bytes}, label %read
    i32 0, label %keep
  ]"""
_WRITE_ELEMENTS = """
define void @land(ptr noalias %index, ptr noalias %data, ptr noalias %shared, ptr noalias %marks, i64 %count) {{
entry:
  br label %one
one:
  %n = phi i64 [0, %entry], [%n.next, %one]
  %n.next = add i64 %n, 1
  %index.ptr = getelementptr i64, ptr %index, i64 %n
  %number = load i64, ptr %index.ptr
  %data.ptr = getelementptr {type}, ptr %data, i64 %n
  %value = load {type}, ptr %data.ptr, align 1
  %to = getelementptr {type}, ptr %shared, i64 %number
  store {type} %value, ptr %to, align 1
  %mark.ptr = getelementptr {mark}, ptr %marks, i64 %number
  store {mark} 0, ptr %mark.ptr
  %is_last = icmp eq i64 %n.next, %count
  br i1 %is_last, label %done, label %one
done:
  ret void
}}
"""


def _form(text: str, size: int, **more: str) -> str:
    return text.format(
        type=_TYPES[size], mark=_MARKS[size], bytes=size, low=size - 1, shift=size.bit_length() - 1, **more
    )  # fmt: skip


@lru_cache
def _compiled_issue(size: int, sized: bool) -> Callable[..., int]:
    choice = _SIZE.format(bytes=size) if sized else "  br label %read"
    zero = ", [zeroinitializer, %size]" if sized else ""
    return compile_function(_form(_ISSUE, size, sized=choice, zero=zero), "issue", 7, 13, c_int64)


@lru_cache
def _compiled_write(size: int) -> Callable[..., int]:
    return compile_function(_form(_WRITE_ELEMENTS, size), "land", 4, 1)
