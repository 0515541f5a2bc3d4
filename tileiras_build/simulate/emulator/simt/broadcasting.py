"""Values in the shape of a group: most have it already, and NumPy's ``broadcast_to`` takes as long where nothing is to be done."""

from __future__ import annotations

import numpy as np


def broadcast(value: np.ndarray | np.generic | bool | int, shape: tuple[int, ...]) -> np.ndarray:
    """A value in a shape that it can be broadcast to; nobody may write it."""
    if isinstance(value, np.ndarray) and value.shape == shape:
        return value
    return np.broadcast_to(value, shape)


def is_any(mask: np.ndarray) -> bool:
    """Whether a mask holds somewhere: ``any`` and ``all`` are Python first, and take several times as long where there are few."""
    return np.count_nonzero(mask) != 0


def are_all(mask: np.ndarray) -> bool:
    """Whether a mask holds everywhere."""
    return np.count_nonzero(mask) == mask.size


def broadcast_int64(value: np.ndarray | np.generic | int, count: int) -> np.ndarray:
    """A value, or one for each of ``count``, as int64 for each; nobody may write it."""
    if isinstance(value, np.ndarray) and value.ndim:
        return (
            value if value.dtype == np.int64 and len(value) == count else np.broadcast_to(value, count).astype(np.int64)
        )
    out = np.empty(count, np.int64)
    out.fill(value)
    return out


def run_starts(values: np.ndarray) -> np.ndarray:
    """Which of some values are not what the one before is."""
    found = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def unique_integers(values: np.ndarray | np.generic) -> np.ndarray:
    """The different integers among some, in ascending order. ``np.unique`` imports NumPy's masked arrays to ask for them, which
    takes longer than the whole launch of a small kernel."""
    ordered = np.sort(values, axis=None)
    return ordered[run_starts(ordered)]


def contiguous_rows(value: np.ndarray | np.generic, shape: tuple[int, int]) -> tuple[np.ndarray, int]:
    """The numbers (CTAs, threads) of a value in one piece of memory, and how far those of the next CTA are: 0 where all have the
    same."""
    if np.shape(value) != shape:
        value = np.broadcast_to(value, shape if np.ndim(value) and value.shape[0] > 1 else (1, shape[1]))
    return np.ascontiguousarray(value), 0 if value.shape[0] == 1 else shape[1]
