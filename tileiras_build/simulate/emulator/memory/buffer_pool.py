"""Large memory that one batch after another uses: the pages of new arrays are zeroed by the system, at every launch."""

from __future__ import annotations

import numpy as np

MAX_POOLED_BYTES = 1 << 26  # bytes that are kept of each

_pool: dict[str, np.ndarray] = {}


def acquire(purpose: str, size: int) -> np.ndarray:
    """``size`` bytes of anything, which nobody else has until they are given back."""
    found = _pool.pop(purpose, None)
    return np.empty(size, np.uint8) if found is None or len(found) < size else found[:size]


def release(purpose: str, memory: np.ndarray) -> None:
    """Keep the bytes of ``take``, which nobody uses any more, for the next batch."""
    whole = memory if memory.base is None else memory.base
    if isinstance(whole, np.ndarray) and whole.dtype == np.uint8 and whole.nbytes <= MAX_POOLED_BYTES:
        _pool[purpose] = whole
