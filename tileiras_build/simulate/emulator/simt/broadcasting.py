"""Fast paths of NumPy's broadcasting and reductions for values that already have the shape of a group."""

from __future__ import annotations

import numpy as np


def broadcast(value: np.ndarray | np.generic | bool | int, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only value, broadcast to a shape."""
    if isinstance(value, np.ndarray) and value.shape == shape:
        return value
    return np.broadcast_to(value, shape)


def is_any(mask: np.ndarray) -> bool:
    """Whether any element of a mask is true; several times faster than ``any`` for small masks."""
    return np.count_nonzero(mask) != 0


def are_all(mask: np.ndarray) -> bool:
    """Whether all elements of a mask are true."""
    return np.count_nonzero(mask) == mask.size


def broadcast_int64(value: np.ndarray | np.generic | int, count: int) -> np.ndarray:
    """A value, or ``count`` values, as a read-only int64 array of ``count``."""
    if isinstance(value, np.ndarray) and value.ndim:
        return (
            value if value.dtype == np.int64 and len(value) == count else np.broadcast_to(value, count).astype(np.int64)
        )
    out = np.empty(count, np.int64)
    out.fill(value)
    return out


def run_starts(values: np.ndarray) -> np.ndarray:
    """A mask of the values that differ from their predecessor."""
    found = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def unique_integers(values: np.ndarray | np.generic) -> np.ndarray:
    """The distinct integers of an array, ascending.

    ``np.unique`` imports NumPy's masked arrays, which takes longer than the launch of a small kernel.
    """
    ordered = np.sort(values, axis=None)
    return ordered[run_starts(ordered)]


def contiguous_rows(value: np.ndarray | np.generic, shape: tuple[int, int]) -> tuple[np.ndarray, int]:
    """(a value as a contiguous array of rows, the stride between the rows of two CTAs: 0 if all CTAs share one row)."""
    if np.shape(value) != shape:
        value = np.broadcast_to(value, shape if np.ndim(value) and value.shape[0] > 1 else (1, shape[1]))
    return np.ascontiguousarray(value), 0 if value.shape[0] == 1 else shape[1]
