"""Sets of threads of a batch, and what instructions have found out about them.

The groups that a loop splits and merges are the same threads again and again: what depends on nothing else is found out once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .shapes import begins_run, is_any, spread

if TYPE_CHECKING:
    from .selection import Everyone, Firsts

MOST_KEPT = 256  # parts of a set, and of those, that are kept for the next branch
Select = tuple  # ("rows", index), ("columns", index) or ("flat", rows, columns): where the threads of a part are


class Threads:
    """Threads of ``each`` in a CTA: ``cta`` and ``tid`` are index arrays, (CTAs, 1) and (1, threads), a product set, or both (1, n)."""

    def __init__(self, cta: np.ndarray, tid: np.ndarray, each: int, room: list[int] | None = None):
        self.cta, self.tid, self.each = cta, tid, each
        self.product = cta.shape[1] == 1
        self.shape = (cta.shape[0], tid.shape[1])
        self.whole = tid.shape[1] == each and self.product  # complete CTAs
        self.dense = self._is_dense()
        self.known: dict = {}  # what instructions have found out
        self.specials: dict = {}  # special registers, but for clocks
        self.everyone: Everyone | None = None  # all threads, once somebody has asked (``selection.selected``)
        self.firsts: Firsts | None = None  # those of each CTA
        self.complete: bool | int | None = (
            None  # whether warps are, or of how many exits it has been said that they are not
        )
        self.parts: dict[tuple[bool, bytes], tuple[Threads, Select]] = {}
        self.room = [MOST_KEPT] if room is None else room  # one number for all parts of parts: how many more are kept

    def _is_dense(self) -> bool:
        """Whether these are whole warps, in order: values map to (warps, 32) by a plain reshape."""
        lanes = self.tid[0]
        if len(lanes) % 32 or is_any(lanes[::32] % 32 != 0) or is_any(np.diff(lanes.reshape(-1, 32), axis=1) != 1):
            return False
        # A product set repeats its lanes per CTA; any other set is sorted by (cta, tid).
        return self.product or not is_any(np.diff(self.flat.reshape(-1, 32), axis=1) != 1)

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
        is_first = begins_run(warps)
        numbers = warps[is_first]
        slots = (np.cumsum(is_first) - 1, tid % 32)
        present = np.zeros((len(numbers), 32), bool)
        present[slots] = True
        return slots, present, numbers

    # -- parts ---------------------------------------------------------------------------------------
    def part(self, mask: np.ndarray) -> tuple[Threads, Select]:
        """The threads where a mask holds, and where they are among these."""
        if self.product and mask.shape == self.shape:
            mask = narrowed(mask)
        if not self.product or 1 not in mask.shape:
            return self._scattered_part(mask)
        key = mask.shape[1] == 1, mask.tobytes()
        found = self.parts.get(key)
        if found is None:
            found = self._part(mask)
            if self.room[0]:
                self.parts[key] = found
                self.room[0] -= 1
        return found

    def _part(self, mask: np.ndarray) -> tuple[Threads, Select]:
        """Rows or columns of a product set."""
        if mask.shape[1] == 1:
            rows = np.flatnonzero(mask[:, 0])
            return Threads(self.cta[rows], self.tid, self.each, self.room), ("rows", rows)
        columns = np.flatnonzero(mask[0])
        return Threads(self.cta, self.tid[:, columns], self.each, self.room), ("columns", neighbors(columns))

    def _scattered_part(self, mask: np.ndarray) -> tuple[Threads, Select]:
        i, j = np.nonzero(spread(mask, self.shape))
        cta = self.cta[i, 0] if self.product else self.cta[0, j]
        return Threads(cta[None], self.tid[0, j][None], self.each, self.room), ("flat", i, j)


def narrowed(mask: np.ndarray) -> np.ndarray:
    """A mask (CTAs, threads) as (1, threads) or (CTAs, 1) where it says no more: a product set then stays one."""
    if 1 in mask.shape:
        return mask
    if not is_any(mask != mask[:1]):
        return mask[:1]
    return mask if is_any(mask != mask[:, :1]) else mask[:, :1]


def neighbors(index: np.ndarray) -> np.ndarray | slice:
    """Ascending indices as a slice where they follow each other: NumPy then moves whole lines."""
    if len(index) and index[-1] - index[0] + 1 == len(index):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
