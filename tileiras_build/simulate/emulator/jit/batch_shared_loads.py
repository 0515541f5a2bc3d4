"""Merges adjacent 32-bit loads from shared memory into one call of native code.

Like ``ldmatrix_rows.py``, the native code makes all checks. If one fails, NumPy executes the loads one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ctypes import c_int64
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen import merge_adjacent_lines
from ..codegen.merge_adjacent_lines import LineParts
from ..matmul import gemm_jit
from .llvm_jit import address, compile_function

if TYPE_CHECKING:
    from ..memory.load_store import Site
    from ..simt.thread_group import ThreadGroup

WORD, LANES = 4, 8
_LOAD = re.compile(r"(r\d+) = (site_\d+)\.load\(g, (\w+)\)\[0\]$")


# -- lines of a function -----------------------------------------------------------------------------
def merge_adjacent_loads(lines: list[str], origin: list[int], space: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The lines of a generated function, and the pc of each, with adjacent loads merged."""

    def parts_of(line: str) -> LineParts | None:
        load = _LOAD.match(line)
        return (load[1], load[2], load[3]) if load is not None and loads_4_bytes(space[load[2]]) else None

    def call(loads: list[LineParts]) -> str:
        targets, sites, places = map(list, zip(*loads))
        name = f"loads_{len(space)}"
        space[name] = BatchedLoads([space[site] for site in sites])
        return f"{', '.join(targets)} = {name}(g, {', '.join(places)})"

    return merge_adjacent_lines.merge_adjacent(lines, origin, parts_of, call, _reads_no_target)


def _reads_no_target(before: list[LineParts], load: LineParts) -> bool:
    """Whether the address of a load does not depend on the preceding loads."""
    return load[2] not in {target for target, _, _ in before}


def loads_4_bytes(site) -> bool:
    """Whether a site loads one word of shared memory."""
    return (site.space, site.size, site.count) == ("shared", WORD, 1)


# -- execution ------------------------------------------------------------------------------------
class BatchedLoads:
    """Merged loads, called with the group and the address of each load."""

    def __init__(self, sites: Sequence[Site]):
        self.sites = sites
        self.offsets = np.array([site.offset & 0xFFFFFFFF for site in sites], np.int64)

    def __call__(self, group: ThreadGroup, *places: np.ndarray) -> Sequence[np.ndarray] | np.ndarray:
        done = self.run_with_jit(group, places)
        return [site.load(group, place)[0] for site, place in zip(self.sites, places)] if done is None else done

    def run_with_jit(self, group: ThreadGroup, places: Sequence[np.ndarray]) -> np.ndarray | None:
        """The words (loads, CTAs, threads); None if NumPy must do it, or report the fault."""
        shape = group.shape
        if (
            not group.is_rectangular
            or group.observers.has_any
            or group.geometry.cluster_size > 1
            or not gemm_jit.is_ready()
        ):
            return None
        line = (1, shape[1])
        if shape[1] % LANES or group.memories.shared_limit < WORD:
            return None
        if not all(place.shape in (shape, line) and place.dtype == np.uint32 for place in places):
            return None
        whole = [np.ascontiguousarray(place) for place in places]
        table = np.array([[address(place) for place in whole], [0 if len(place) == 1 else shape[1] for place in whole]])
        out = np.empty((len(places), *shape), np.uint32)
        marks = None if group.observers.async_copy_marks is None else group.observers.async_copy_marks.marks[16]
        first = np.ascontiguousarray(group.cta.reshape(-1), np.int64)
        bad = _code(marks is not None)(
            address(out), address(table[0]), address(table[1]), address(self.offsets), address(first), address(group.memories.shared),
            address(group.memories.shared if marks is None else marks), len(places), len(first), shape[1], group.memories.shared_size,
            group.memories.shared_limit - WORD,
        )  # fmt: skip
        return None if bad else out


# -- the code ----------------------------------------------------------------------------------------
# Loops over loads, CTAs and vectors of eight threads. Marks are tested per 16 bytes; if another word is marked, NumPy decides.
_TEXT = """
define i64 @load(ptr noalias %out, ptr %places, ptr %aparts, ptr %offsets, ptr %ctas, ptr %shared, ptr %marks,
                 i64 %loads, i64 %rows, i64 %threads, i64 %size, i64 %last) {{
entry:
  %last.one = trunc i64 %last to i32
  %last.first = insertelement <8 x i32> poison, i32 %last.one, i64 0
  %lasts = shufflevector <8 x i32> %last.first, <8 x i32> poison, <8 x i32> zeroinitializer
  br label %some
some:
  %l = phi i64 [0, %entry], [%l.next, %some.end]
  %l.next = add i64 %l, 1
  %place.ptr = getelementptr i64, ptr %places, i64 %l
  %place.number = load i64, ptr %place.ptr
  %place = inttoptr i64 %place.number to ptr
  %apart.ptr = getelementptr i64, ptr %aparts, i64 %l
  %apart = load i64, ptr %apart.ptr
  %offset.ptr = getelementptr i64, ptr %offsets, i64 %l
  %offset.long = load i64, ptr %offset.ptr
  %offset = trunc i64 %offset.long to i32
  %offset.first = insertelement <8 x i32> poison, i32 %offset, i64 0
  %offset.all = shufflevector <8 x i32> %offset.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %l.rows = mul i64 %l, %rows
  br label %cta
cta:
  %c = phi i64 [0, %some], [%c.next, %cta.end]
  %c.next = add i64 %c, 1
  %c.ptr = getelementptr i64, ptr %ctas, i64 %c
  %c.number = load i64, ptr %c.ptr
  %c.at = mul i64 %c.number, %size
  %bytes = getelementptr i8, ptr %shared, i64 %c.at
  %c.words = lshr i64 %c.at, 2
  %c.marks = getelementptr i8, ptr %marks, i64 %c.words
  %c.first = mul i64 %c, %apart
  %row = add i64 %l.rows, %c
  %row.first = mul i64 %row, %threads
  br label %eight
eight:
  %t = phi i64 [0, %cta], [%t.next, %read]
  %t.next = add i64 %t, 8
  %in.at = add i64 %c.first, %t
  %in.ptr = getelementptr i32, ptr %place, i64 %in.at
  %given = load <8 x i32>, ptr %in.ptr, align 4
  %at = add <8 x i32> %given, %offset.all
  %over = icmp ugt <8 x i32> %at, %lasts
  %low = and <8 x i32> %at, splat (i32 3)
  %askew = icmp ne <8 x i32> %low, zeroinitializer
  %wrong = or <8 x i1> %over, %askew
  %any = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %wrong)
  br i1 %any, label %bad, label %look
look:
  %long = zext <8 x i32> %at to <8 x i64>
{look}
read:
  %from = getelementptr i8, ptr %bytes, <8 x i64> %long
  %words = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> %from, i32 4, <8 x i1> splat (i1 true), <8 x i32> poison)
  %out.at = add i64 %row.first, %t
  %out.ptr = getelementptr i32, ptr %out, i64 %out.at
  store <8 x i32> %words, ptr %out.ptr, align 4
  %is_last.t = icmp uge i64 %t.next, %threads
  br i1 %is_last.t, label %cta.end, label %eight
cta.end:
  %is_last.c = icmp eq i64 %c.next, %rows
  br i1 %is_last.c, label %some.end, label %cta
some.end:
  %is_last.l = icmp eq i64 %l.next, %loads
  br i1 %is_last.l, label %done, label %some
done:
  ret i64 0
bad:
  ret i64 1
}}
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
declare i32 @llvm.vector.reduce.or.v8i32(<8 x i32>)
declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x i32>)
"""
_MARKS = """  %chunk = lshr <8 x i64> %long, splat (i64 4)
  %marks.from = getelementptr i32, ptr %c.marks, <8 x i64> %chunk
  %found = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> %marks.from, i32 4, <8 x i1> splat (i1 true), <8 x i32> poison)
  %waits = call i32 @llvm.vector.reduce.or.v8i32(<8 x i32> %found)
  %is_waiting = icmp ne i32 %waits, 0
  br i1 %is_waiting, label %bad, label %read"""


@lru_cache
def _code(marked: bool) -> Callable[..., int]:
    return compile_function(_TEXT.format(look=_MARKS if marked else "  br label %read"), "load", 7, 5, c_int64)
