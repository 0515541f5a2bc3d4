"""Selections: the active threads of a group in an instruction."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .broadcasting import broadcast


class Selection:
    """Selected threads of a group, as rows and columns of its shape."""

    __slots__ = ("columns", "mask", "rows", "shape")
    is_all = False  # whether all threads of the group are selected
    of: str | None = None  # a cache key of selections that are equal for equal groups

    def __init__(self, group, mask):
        whole = isinstance(mask, np.ndarray) and mask.shape == group.shape
        self.mask = (
            mask if whole else np.ones(group.shape, bool) if mask is True else np.broadcast_to(mask, group.shape)
        )
        self.rows, self.columns = np.nonzero(self.mask)
        self.shape = group.shape

    def pick(self, value):
        """The values of the selected threads, flat; scalars remain scalars."""
        if not isinstance(value, np.ndarray) or not value.ndim:
            return value
        if self.is_all:
            return broadcast(value, self.shape).reshape(-1)
        if value.shape == self.shape:
            return value[self.rows, self.columns]
        if value.shape == (1, self.shape[1]):
            return value[0, self.columns]
        if value.shape == (self.shape[0], 1):
            return value[self.rows, 0]
        return np.broadcast_to(value, self.shape)[self.rows, self.columns]


class FirstThreads(Selection):
    """The first thread of each CTA of a rectangular set."""

    __slots__ = ()
    of = "first"

    def __init__(self, group):
        self.rows, self.columns = np.arange(group.shape[0]), np.zeros(group.shape[0], np.int64)
        self.shape, self.mask = group.shape, None


class AllThreads(Selection):
    """All threads of a group. Caches its properties without a reference to the group, which would keep it alive."""

    is_all, of = True, "all"

    def __init__(self, group):
        super().__init__(group, True)
        self.cta, self.tid, self.is_rectangular, self.machine_shared = (
            group.cta,
            group.tid,
            group.is_rectangular,
            group.memories.shared_size,
        )

    @cached_property
    def ctas(self) -> np.ndarray:
        return self.cta[self.rows, 0] if self.is_rectangular else self.cta[0, self.columns]

    @cached_property
    def tids(self) -> np.ndarray:
        return self.tid[0, self.columns]

    @cached_property
    def bias(self) -> np.ndarray:
        """The offset of each thread's shared memory in that of the batch."""
        return self.ctas * self.machine_shared


def selected(group, mask) -> Selection:
    """The threads of a group in a mask; None: all."""
    if mask is not None:
        return Selection(group, mask)
    threads = group.threads
    if threads.all_threads is None:
        threads.all_threads = AllThreads(group)
    return threads.all_threads


def first_threads(group) -> Selection:
    """The first thread of each CTA of a rectangular set."""
    threads = group.threads
    if threads.first_threads is None:
        threads.first_threads = FirstThreads(group)
    return threads.first_threads


def ctas_of(group, selection) -> np.ndarray:
    """The CTA of each selected thread."""
    if selection.is_all:
        return selection.ctas
    return group.cta[selection.rows, 0] if group.is_rectangular else group.cta[0, selection.columns]


def tids_of(group, selection) -> np.ndarray:
    """The index in its CTA of each selected thread."""
    return selection.tids if selection.is_all else group.tid[0, selection.columns]


def bias_of(group, selection) -> np.ndarray:
    """The offset of each selected thread's shared memory in that of the batch."""
    return selection.bias if selection.is_all else ctas_of(group, selection) * group.memories.shared_size


def flat_threads(group, selection) -> np.ndarray:
    """Index in the batch of each selected thread."""
    if selection.is_all:
        return group.flat
    return ctas_of(group, selection) * group.geometry.threads + tids_of(group, selection)
