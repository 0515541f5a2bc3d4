"""Reuses large buffers across batches: the system zeroes the pages of every new allocation."""

from __future__ import annotations

import numpy as np

MAX_POOLED_BYTES = 1 << 26  # maximum bytes of a pooled buffer

_pool: dict[str, np.ndarray] = {}


def acquire(purpose: str, size: int) -> np.ndarray:
    """An exclusive buffer of ``size`` uninitialized bytes."""
    found = _pool.pop(purpose, None)
    return np.empty(size, np.uint8) if found is None or len(found) < size else found[:size]


def release(purpose: str, memory: np.ndarray) -> None:
    """Return a buffer of ``acquire`` to the pool."""
    whole = memory if memory.base is None else memory.base
    if isinstance(whole, np.ndarray) and whole.dtype == np.uint8 and whole.nbytes <= MAX_POOLED_BYTES:
        _pool[purpose] = whole
