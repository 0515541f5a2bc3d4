"""tcgen05.ld and .st by native code, for forms in which a register of a warp is a row of 32 cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..simt.broadcasting import broadcast
from .native_code import address, addresses, identities, kernel

LANE_ROW_BYTES = 128  # bytes


def load(cells: np.ndarray, bases: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Registers (registers, warps, 32), loaded from rows ``bases`` (warps, int64) plus ``offsets`` (registers) of the cells."""
    out = np.empty((len(offsets), len(bases), LANE_ROW_BYTES // 4), np.uint32)
    places = address(out) + np.arange(len(offsets)) * out[0].nbytes
    _move(places, cells, bases, offsets, is_store=False)
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
    _move(places, cells, bases, offsets, is_store=True)
    del keep


@lru_cache
def _kinds(count: int) -> np.ndarray:
    return identities([np.dtype(np.uint32)] * count)


def _move(places: np.ndarray, cells: np.ndarray, bases: np.ndarray, offsets: np.ndarray, *, is_store: bool) -> None:
    tables = map(address, (places, cells, bases, offsets))
    kernel("move_cells", 7)(*tables, len(offsets), len(bases), is_store)
