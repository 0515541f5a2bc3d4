"""tcgen05.ld and .st in native code, for forms in which a register of a warp is a row of 32 cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ..simt.broadcasting import broadcast
from .llvm_jit import address, addresses, compile_function, identities

LANE_ROW_BYTES = 128  # bytes


def load(cells: np.ndarray, bases: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Registers (registers, warps, 32), loaded from rows ``bases`` (warps, int64) plus ``offsets`` (registers) of the cells."""
    out = np.empty((len(offsets), len(bases), LANE_ROW_BYTES // 4), np.uint32)
    places = address(out) + np.arange(len(offsets)) * out[0].nbytes
    _move(is_store=False)(address(places), address(cells), address(bases), address(offsets), len(offsets), len(bases))
    return out


def store(
    cells: np.ndarray, bases: np.ndarray, offsets: np.ndarray, values: Sequence[np.ndarray], shape: tuple[int, int]
) -> None:
    """The inverse of ``load``; ``values`` are registers of a group of ``shape``, whose threads are whole warps in order."""
    places, keep = np.empty(len(values), np.int64), []
    if addresses(tuple(values), _kinds(len(values)), shape, places):
        for i in np.flatnonzero(places == 0).tolist():
            keep.append(np.ascontiguousarray(broadcast(values[i], shape), np.uint32))
            places[i] = address(keep[-1])
    _move(is_store=True)(address(places), address(cells), address(bases), address(offsets), len(offsets), len(bases))
    del keep


@lru_cache
def _kinds(count: int) -> np.ndarray:
    return identities([np.dtype(np.uint32)] * count)


# Loops over registers and warps.
_TEXT = """
define void @move(ptr %places, ptr %cells, ptr %bases, ptr %offsets, i64 %registers, i64 %warps) {{
entry:
  br label %register
register:
  %r = phi i64 [0, %entry], [%r.next, %register.end]
  %r.next = add i64 %r, 1
  %place.ptr = getelementptr i64, ptr %places, i64 %r
  %place.number = load i64, ptr %place.ptr
  %place = inttoptr i64 %place.number to ptr
  %offset.ptr = getelementptr i64, ptr %offsets, i64 %r
  %offset = load i64, ptr %offset.ptr
  br label %warp
warp:
  %w = phi i64 [0, %register], [%w.next, %warp]
  %w.next = add i64 %w, 1
  %base.ptr = getelementptr i64, ptr %bases, i64 %w
  %base = load i64, ptr %base.ptr
  %line = add i64 %base, %offset
  %cell = getelementptr <32 x i32>, ptr %cells, i64 %line
  %lanes = getelementptr <32 x i32>, ptr %place, i64 %w
  %value = load <32 x i32>, ptr {source}, align 4
  store <32 x i32> %value, ptr {target}, align 4
  %is_last.w = icmp eq i64 %w.next, %warps
  br i1 %is_last.w, label %register.end, label %warp
register.end:
  %is_last.r = icmp eq i64 %r.next, %registers
  br i1 %is_last.r, label %done, label %register
done:
  ret void
}}
"""


@lru_cache
def _move(*, is_store: bool) -> Callable[..., int]:
    source, target = ("%lanes", "%cell") if is_store else ("%cell", "%lanes")
    return compile_function(_TEXT.format(source=source, target=target), "move", 4, 2)
