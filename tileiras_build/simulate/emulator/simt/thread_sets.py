"""Sets of threads of a batch, and what instructions have found out about them.

The groups that a loop splits and merges are the same threads again and again: what depends on nothing else is found out once.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .broadcasting import broadcast, is_any, run_starts

if TYPE_CHECKING:
    from .thread_selection import AllThreads, FirstThreads

MAX_CACHED_SETS = 256  # sets of a family
MAX_CACHED_SUBSETS = 32  # of a set
MAX_CACHES = 8  # of this process, the last ones
MAX_CACHED_THREADS = 1 << 13  # threads that are no product set: others are not looked for
ThreadSelector = (
    tuple  # ("rows", index), ("columns", index) or ("flat", rows, columns): where the threads of a part are
)


class ThreadSetCache:
    """The sets of threads that a batch of CTAs falls into, and the next batch of the same kernel, grid and place in it."""

    def __init__(self) -> None:
        self.sets: dict[tuple[bytes, bytes], ThreadSet] = {}
        # Sets that have become one, and where the threads of each are in it.
        self.joined: dict[tuple[ThreadSet, ...], tuple[ThreadSet, list[np.ndarray]]] = {}

    @property
    def is_full(self) -> bool:
        return len(self.sets) + len(self.joined) >= MAX_CACHED_SETS

    def of(self, cta: np.ndarray, tid: np.ndarray, each: int) -> ThreadSet:
        """The set of some threads."""
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
    """The family of batches that are alike; anew where it has become too large."""
    found = _caches.pop(key, None)
    if found is None or found.is_full:
        found = ThreadSetCache()
    _caches[key] = found
    if len(_caches) > MAX_CACHES:
        _caches.popitem(last=False)
    return found


class ThreadSet:
    """Threads of ``each`` in a CTA: ``cta`` and ``tid`` are index arrays, (CTAs, 1) and (1, threads), a product set, or both (1, n)."""

    def __init__(self, cta: np.ndarray, tid: np.ndarray, each: int, family: ThreadSetCache | None = None):
        self.cta, self.tid, self.each = cta, tid, each
        self.family = family or ThreadSetCache()
        self.is_product_set = cta.shape[1] == 1
        self.shape = (cta.shape[0], tid.shape[1])
        self.whole = tid.shape[1] == each and self.is_product_set  # complete CTAs
        self.dense = self._is_dense()
        self.known: dict = {}  # what instructions have found out
        self.specials: dict = {}  # special registers, but for clocks
        self.everyone: AllThreads | None = None  # all threads, once somebody has asked (``selection.selected``)
        self.firsts: FirstThreads | None = None  # those of each CTA
        self.subsets: dict[tuple[bool, bytes], tuple[ThreadSet, ThreadSelector]] = {}

    def _is_dense(self) -> bool:
        """Whether these are whole warps, in order: values map to (warps, 32) by a plain reshape."""
        lanes = self.tid[0]
        if len(lanes) % 32 or is_any(lanes[::32] % 32 != 0) or is_any(np.diff(lanes.reshape(-1, 32), axis=1) != 1):
            return False
        # A product set repeats its lanes per CTA; any other set is sorted by (cta, tid).
        return self.is_product_set or not is_any(np.diff(self.flat.reshape(-1, 32), axis=1) != 1)

    @cached_property
    def flat(self) -> np.ndarray:
        """Index in the batch of each thread, ascending."""
        return (self.cta * self.each + self.tid).reshape(-1)

    @cached_property
    def scattered(self) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """(slots, present, numbers): where each thread's value goes in (warps, 32), which places are taken, the warps' in the batch."""
        per_cta = -(-self.each // 32)
        cta, tid = np.divmod(self.flat, self.each)
        warps = cta * per_cta + tid // 32  # ascending, as the threads are
        is_first = run_starts(warps)
        numbers = warps[is_first]
        slots = (np.cumsum(is_first) - 1, tid % 32)
        present = np.zeros((len(numbers), 32), bool)
        present[slots] = True
        return slots, present, numbers

    # -- parts ---------------------------------------------------------------------------------------
    def subset(self, mask: np.ndarray) -> tuple[ThreadSet, ThreadSelector]:
        """The threads where a mask holds, and where they are among these."""
        if self.is_product_set and mask.shape == self.shape:
            mask = narrow_mask(mask)
        if not self.is_product_set or 1 not in mask.shape:
            return self._scattered_subset(mask)
        key = mask.shape[1] == 1, mask.tobytes()
        found = self.subsets.get(key)
        if found is None:
            found = self._dense_subset(mask)
            if len(self.subsets) < MAX_CACHED_SUBSETS:
                self.subsets[key] = found
        return found

    def _dense_subset(self, mask: np.ndarray) -> tuple[ThreadSet, ThreadSelector]:
        """Rows or columns of a product set."""
        if mask.shape[1] == 1:
            rows = np.flatnonzero(mask[:, 0])
            return self.family.of(self.cta[rows], self.tid, self.each), ("rows", rows)
        columns = np.flatnonzero(mask[0])
        return self.family.of(self.cta, self.tid[:, columns], self.each), ("columns", as_slice(columns))

    def _scattered_subset(self, mask: np.ndarray) -> tuple[ThreadSet, ThreadSelector]:
        i, j = np.nonzero(broadcast(mask, self.shape))
        cta = self.cta[i, 0] if self.is_product_set else self.cta[0, j]
        return self.family.of(cta[None], self.tid[0, j][None], self.each), ("flat", i, j)


def narrow_mask(mask: np.ndarray) -> np.ndarray:
    """A mask (CTAs, threads) as (1, threads) or (CTAs, 1) where it says no more: a product set then stays one."""
    if 1 in mask.shape:
        return mask
    if not is_any(mask != mask[:1]):
        return mask[:1]
    return mask if is_any(mask != mask[:, :1]) else mask[:, :1]


def as_slice(index: np.ndarray) -> np.ndarray | slice:
    """Ascending indices as a slice where they follow each other: NumPy then moves whole lines."""
    if len(index) and index[-1] - index[0] + 1 == len(index):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
