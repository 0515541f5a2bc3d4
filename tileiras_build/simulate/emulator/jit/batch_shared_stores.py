"""Merges adjacent 16-byte stores to shared memory into one call of native code.

Like ``batch_shared_loads.py``, all checks are made before the first byte is written. If one fails, NumPy executes the
stores one by one.
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
from .llvm_jit import address, addresses, compile_function, identities

if TYPE_CHECKING:
    from ..memory.load_store import Site
    from ..simt.thread_group import ThreadGroup

BYTES, WORDS = 16, 4  # per store
_STORE = re.compile(r"(site_\d+)\.store\(g, (\w+), \[(r\d+(?:, r\d+){3})\]\)$")


# -- lines of a function -----------------------------------------------------------------------------
def merge_adjacent_stores(lines: list[str], origin: list[int], space: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The lines of a generated function, and the pc of each, with adjacent stores merged."""

    def parts_of(line: str) -> LineParts | None:
        store = _STORE.match(line)
        return (store[1], store[2], store[3]) if store is not None and stores_16_bytes(space[store[1]]) else None

    def call(stores: list[LineParts]) -> str:
        sites, places, values = map(list, zip(*stores))
        name = f"stores_{len(space)}"
        space[name] = BatchedStores([space[site] for site in sites])
        return f"{name}(g, {', '.join(places)}, {', '.join(values)})"

    return merge_adjacent_lines.merge_adjacent(lines, origin, parts_of, call)


def stores_16_bytes(site) -> bool:
    """Whether a site stores four words of shared memory."""
    return (site.space, site.size, site.count) == ("shared", BYTES // WORDS, WORDS)


# -- execution ------------------------------------------------------------------------------------
class BatchedStores:
    """Merged stores, called with the group, the address and the four words of each store."""

    def __init__(self, sites: Sequence[Site]):
        self.sites = sites
        self.offsets = np.array([site.offset & 0xFFFFFFFF for site in sites], np.int64)
        self.kinds = identities([np.dtype(np.uint32)] * (WORDS * len(sites)))

    def __call__(self, group: ThreadGroup, *operands: np.ndarray) -> None:
        places, values = operands[: len(self.sites)], operands[len(self.sites) :]
        if not self.run_with_jit(group, places, values):
            for i, (site, place) in enumerate(zip(self.sites, places)):
                site.store(group, place, values[WORDS * i : WORDS * (i + 1)])

    def run_with_jit(self, group: ThreadGroup, places: Sequence[np.ndarray], values: tuple[np.ndarray, ...]) -> bool:
        """Try to store by native code; returns False if NumPy must do it, or report the fault."""
        shape = group.shape
        if (
            not group.is_rectangular
            or group.observers.has_any
            or group.geometry.cluster_size > 1
            or not gemm_jit.is_ready()
        ):
            return False
        line = (1, shape[1])
        if group.memories.shared_limit < BYTES or not all(
            p.shape in (shape, line) and p.dtype == np.uint32 for p in places
        ):
            return False
        sources = np.empty(len(values), np.int64)
        if addresses(values, self.kinds, shape, sources):
            return False
        whole = [np.ascontiguousarray(place) for place in places]
        table = np.array([[address(place) for place in whole], [0 if len(place) == 1 else shape[1] for place in whole]])
        marks = None if group.observers.async_copy_marks is None else group.observers.async_copy_marks.marks[BYTES]
        first = np.ascontiguousarray(group.cta.reshape(-1), np.int64)
        return not _code(marks is not None)(
            address(sources), address(table[0]), address(table[1]), address(self.offsets), address(first), address(group.memories.shared),
            address(group.memories.shared if marks is None else marks), len(places), len(first), shape[1], group.memories.shared_size,
            group.memories.shared_limit - BYTES,
        )  # fmt: skip


# -- the code ----------------------------------------------------------------------------------------
# Loops over stores, CTAs and threads, twice: to check, and to write. Marks are tested per 16 bytes.
_LOOP = """
{p}:
  br label %{p}.some
{p}.some:
  %{p}.l = phi i64 [0, %{p}], [%{p}.l.next, %{p}.some.end]
  %{p}.l.next = add i64 %{p}.l, 1
  %{p}.place.ptr = getelementptr i64, ptr %places, i64 %{p}.l
  %{p}.place.number = load i64, ptr %{p}.place.ptr
  %{p}.place = inttoptr i64 %{p}.place.number to ptr
  %{p}.apart.ptr = getelementptr i64, ptr %aparts, i64 %{p}.l
  %{p}.apart = load i64, ptr %{p}.apart.ptr
  %{p}.offset.ptr = getelementptr i64, ptr %offsets, i64 %{p}.l
  %{p}.offset.long = load i64, ptr %{p}.offset.ptr
  %{p}.offset = trunc i64 %{p}.offset.long to i32
{before}
  br label %{p}.cta
{p}.cta:
  %{p}.c = phi i64 [0, %{p}.some], [%{p}.c.next, %{p}.cta.end]
  %{p}.c.next = add i64 %{p}.c, 1
  %{p}.c.ptr = getelementptr i64, ptr %ctas, i64 %{p}.c
  %{p}.c.number = load i64, ptr %{p}.c.ptr
  %{p}.c.at = mul i64 %{p}.c.number, %size
  %{p}.bytes = getelementptr i8, ptr %shared, i64 %{p}.c.at
  %{p}.c.words = lshr i64 %{p}.c.at, 2
  %{p}.marks = getelementptr i8, ptr %marks, i64 %{p}.c.words
  %{p}.first = mul i64 %{p}.c, %{p}.apart
  %{p}.row = mul i64 %{p}.c, %threads
  br label %{p}.thread
{p}.thread:
  %{p}.t = phi i64 [0, %{p}.cta], [%{p}.t.next, %{p}.next]
  %{p}.t.next = add i64 %{p}.t, 1
  %{p}.in.at = add i64 %{p}.first, %{p}.t
  %{p}.in.ptr = getelementptr i32, ptr %{p}.place, i64 %{p}.in.at
  %{p}.given = load i32, ptr %{p}.in.ptr
  %{p}.at.one = add i32 %{p}.given, %{p}.offset
  %{p}.at = zext i32 %{p}.at.one to i64
{act}
{p}.next:
  %{p}.is_last.t = icmp eq i64 %{p}.t.next, %threads
  br i1 %{p}.is_last.t, label %{p}.cta.end, label %{p}.thread
{p}.cta.end:
  %{p}.is_last.c = icmp eq i64 %{p}.c.next, %rows
  br i1 %{p}.is_last.c, label %{p}.some.end, label %{p}.cta
{p}.some.end:
  %{p}.is_last.l = icmp eq i64 %{p}.l.next, %stores
  br i1 %{p}.is_last.l, label %{after}, label %{p}.some
"""
_LOOK = """  %over = icmp ugt i64 %look.at, %last
  %low = and i64 %look.at, 15
  %askew = icmp ne i64 %low, 0
  %wrong = or i1 %over, %askew
  br i1 %wrong, label %bad, label %inside
inside:
"""
_MARK = """  %chunk = lshr i64 %look.at, 4
  %mark.ptr = getelementptr i32, ptr %look.marks, i64 %chunk
  %mark = load i32, ptr %mark.ptr, align 1
  %waits = icmp ne i32 %mark, 0
  br i1 %waits, label %bad, label %look.next"""
_SOURCE = """  %number.{i} = add i64 %first.number, {i}
  %source.{i}.ptr = getelementptr i64, ptr %sources, i64 %number.{i}
  %source.{i}.number = load i64, ptr %source.{i}.ptr
  %source.{i} = inttoptr i64 %source.{i}.number to ptr"""
_WORD = """  %word.{i}.ptr = getelementptr i32, ptr %source.{i}, i64 %from
  %word.{i} = load i32, ptr %word.{i}.ptr
  %words.{i} = insertelement <4 x i32> {before}, i32 %word.{i}, i64 {i}"""
_WRITE = """  %to = getelementptr i8, ptr %write.bytes, i64 %write.at
  store <4 x i32> %words.3, ptr %to, align 1
  br label %write.next"""


@lru_cache
def _code(marked: bool) -> Callable[..., int]:
    words = range(WORDS)
    sources = ["  %first.number = mul i64 %write.l, 4", *(_SOURCE.format(i=i) for i in words)]
    write = ["  %from = add i64 %write.row, %write.t"]
    write += [_WORD.format(i=i, before=f"%words.{i - 1}" if i else "poison") for i in words]
    look = _LOOK + (_MARK if marked else "  br label %look.next")
    text = "\n".join([
        "define i64 @store(ptr %sources, ptr %places, ptr %aparts, ptr %offsets, ptr %ctas, ptr %shared, ptr %marks,",
        "                  i64 %stores, i64 %rows, i64 %threads, i64 %size, i64 %last) {",
        "entry:\n  br label %look",
        _LOOP.format(p="look", before="", act=look, after="write"),
        _LOOP.format(p="write", before="\n".join(sources), act="\n".join([*write, _WRITE]), after="done"),
        "done:\n  ret i64 0\nbad:\n  ret i64 1\n}",
    ])  # fmt: skip
    return compile_function(text, "store", 7, 5, c_int64)
