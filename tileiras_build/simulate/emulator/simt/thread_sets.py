"""Sets of threads of a batch, with caches of derived values.

A loop splits and merges the same sets in every iteration, so values that depend only on the set are computed once.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .broadcasting import broadcast, is_any, run_starts

if TYPE_CHECKING:
    from .thread_selection import AllThreads, FirstThreads

MAX_CACHED_SETS = 256  # sets in a cache
MAX_CACHED_SUBSETS = 32  # per set
MAX_CACHES = 8  # most recently used caches of this process
MAX_CACHED_THREADS = 1 << 13  # larger non-rectangular sets are not cached
ThreadSelector = (
    tuple  # ("rows", index), ("columns", index) or ("flat", rows, columns): positions of a subset in its set
)


class ThreadSetCache:
    """The sets of threads of a batch of CTAs, shared by batches with the same kernel, grid and position in the grid."""

    def __init__(self) -> None:
        self.sets: dict[tuple[bytes, bytes], ThreadSet] = {}
        # Merged sets -> their union, and the positions of each set's threads in it.
        self.joined: dict[tuple[ThreadSet, ...], tuple[ThreadSet, list[np.ndarray]]] = {}

    @property
    def is_full(self) -> bool:
        return len(self.sets) + len(self.joined) >= MAX_CACHED_SETS

    def of(self, cta: np.ndarray, tid: np.ndarray, each: int) -> ThreadSet:
        """The set of these threads."""
        if cta.shape[1] > MAX_CACHED_THREADS:
            return ThreadSet(cta, tid, each, self)
        key = cta.tobytes(), tid.tobytes()
        found = self.sets.get(key)
        if found is None:
            found = ThreadSet(cta, tid, each, self)
            if not self.is_full:
                self.sets[key] = found
        return found


_caches: OrderedDict[tuple, ThreadSetCache] = OrderedDict()


def thread_set_cache(key: tuple) -> ThreadSetCache:
    """The cache of equivalent batches; a new one if it is full."""
    found = _caches.pop(key, None)
    if found is None or found.is_full:
        found = ThreadSetCache()
    _caches[key] = found
    if len(_caches) > MAX_CACHES:
        _caches.popitem(last=False)
    return found


class ThreadSet:
    """A set of threads, of CTAs with ``each`` threads.

    ``cta`` and ``tid`` are index arrays: (CTAs, 1) and (1, threads) for a rectangular set, or both (1, n).
    """

    def __init__(self, cta: np.ndarray, tid: np.ndarray, each: int, cache: ThreadSetCache | None = None):
        self.cta, self.tid, self.each = cta, tid, each
        self.cache = cache or ThreadSetCache()
        self.is_rectangular = cta.shape[1] == 1
        self.shape = (cta.shape[0], tid.shape[1])
        self.whole = tid.shape[1] == each and self.is_rectangular  # complete CTAs
        self.dense = self._is_dense()
        self.memo: dict = {}  # values that instructions have derived from the set
        self.specials: dict = {}  # special registers, except clocks
        self.all_threads: AllThreads | None = None  # created on demand (``selected``)
        self.first_threads: FirstThreads | None = None
        self.subsets: dict[tuple[bool, bytes], tuple[ThreadSet, ThreadSelector]] = {}

    def _is_dense(self) -> bool:
        """Whether the set is whole warps, in order, so that a reshape maps values to (warps, 32)."""
        lanes = self.tid[0]
        if len(lanes) % 32 or is_any(lanes[::32] % 32 != 0) or is_any(np.diff(lanes.reshape(-1, 32), axis=1) != 1):
            return False
        # A rectangular set repeats its lanes per CTA; any other set is sorted by (cta, tid).
        return self.is_rectangular or not is_any(np.diff(self.flat.reshape(-1, 32), axis=1) != 1)

    @cached_property
    def flat(self) -> np.ndarray:
        """Index in the batch of each thread, ascending."""
        return (self.cta * self.each + self.tid).reshape(-1)

    @cached_property
    def scattered(self) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """(position of each thread's value in (warps, 32), mask of the occupied positions, indices of the warps in the batch)."""
        per_cta = -(-self.each // 32)
        cta, tid = np.divmod(self.flat, self.each)
        warps = cta * per_cta + tid // 32  # ascending, like the threads
        is_first = run_starts(warps)
        distinct = warps[is_first]
        slots = (np.cumsum(is_first) - 1, tid % 32)
        present = np.zeros((len(distinct), 32), bool)
        present[slots] = True
        return slots, present, distinct

    # -- subsets ---------------------------------------------------------------------------------------
    def subset(self, mask: np.ndarray) -> tuple[ThreadSet, ThreadSelector]:
        """(the threads in a mask, their positions in this set)."""
        if self.is_rectangular and mask.shape == self.shape:
            mask = narrow_mask(mask)
        if not self.is_rectangular or 1 not in mask.shape:
            return self._scattered_subset(mask)
        key = mask.shape[1] == 1, mask.tobytes()
        found = self.subsets.get(key)
        if found is None:
            found = self._dense_subset(mask)
            if len(self.subsets) < MAX_CACHED_SUBSETS:
                self.subsets[key] = found
        return found

    def _dense_subset(self, mask: np.ndarray) -> tuple[ThreadSet, ThreadSelector]:
        """The subset of rows or columns of a rectangular set."""
        if mask.shape[1] == 1:
            rows = np.flatnonzero(mask[:, 0])
            return self.cache.of(self.cta[rows], self.tid, self.each), ("rows", rows)
        columns = np.flatnonzero(mask[0])
        return self.cache.of(self.cta, self.tid[:, columns], self.each), ("columns", as_slice(columns))

    def _scattered_subset(self, mask: np.ndarray) -> tuple[ThreadSet, ThreadSelector]:
        i, j = np.nonzero(broadcast(mask, self.shape))
        cta = self.cta[i, 0] if self.is_rectangular else self.cta[0, j]
        return self.cache.of(cta[None], self.tid[0, j][None], self.each), ("flat", i, j)


def narrow_mask(mask: np.ndarray) -> np.ndarray:
    """A mask (CTAs, threads) reduced to (1, threads) or (CTAs, 1) if possible, which keeps the subset rectangular."""
    if 1 in mask.shape:
        return mask
    if not is_any(mask != mask[:1]):
        return mask[:1]
    return mask if is_any(mask != mask[:, :1]) else mask[:, :1]


def as_slice(index: np.ndarray) -> np.ndarray | slice:
    """Ascending indices as a slice if they are contiguous: NumPy then copies whole rows."""
    if len(index) and index[-1] - index[0] + 1 == len(index):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
