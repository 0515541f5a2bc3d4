"""Threads of a group that take part in something."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .broadcasting import broadcast


class Selection:
    """The threads of a group that take part: rows and columns of the group's shape."""

    __slots__ = ("columns", "mask", "rows", "shape")
    is_all = False  # whether these are all threads of the group
    of: str | None = None  # a name of those that are the same for equal groups

    def __init__(self, group, mask):
        whole = isinstance(mask, np.ndarray) and mask.shape == group.shape
        self.mask = (
            mask if whole else np.ones(group.shape, bool) if mask is True else np.broadcast_to(mask, group.shape)
        )
        self.rows, self.columns = np.nonzero(self.mask)
        self.shape = group.shape

    def pick(self, value):
        """The values of the selected threads, flat; scalars stay scalars."""
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
    """The first thread of each CTA of a product set."""

    __slots__ = ()
    of = "first"

    def __init__(self, group):
        self.rows, self.columns = np.arange(group.shape[0]), np.zeros(group.shape[0], np.int64)
        self.shape, self.mask = group.shape, None


class AllThreads(Selection):
    """All threads of a group. It keeps what it has been asked, but not the group, which would outlive its use."""

    is_all, of = True, "all"

    def __init__(self, group):
        super().__init__(group, True)
        self.cta, self.tid, self.is_product_set, self.machine_shared = (
            group.cta,
            group.tid,
            group.is_product_set,
            group.memories.shared_size,
        )

    @cached_property
    def ctas(self) -> np.ndarray:
        return self.cta[self.rows, 0] if self.is_product_set else self.cta[0, self.columns]

    @cached_property
    def tids(self) -> np.ndarray:
        return self.tid[0, self.columns]

    @cached_property
    def bias(self) -> np.ndarray:
        """Where the shared memory of each one's CTA begins in the batch's."""
        return self.ctas * self.machine_shared


def selected(group, mask) -> Selection:
    """The threads of a group where a mask holds; None: all."""
    if mask is not None:
        return Selection(group, mask)
    threads = group.threads
    if threads.everyone is None:
        threads.everyone = AllThreads(group)
    return threads.everyone


def first_threads(group) -> Selection:
    """The first thread of each CTA of a product set."""
    threads = group.threads
    if threads.firsts is None:
        threads.firsts = FirstThreads(group)
    return threads.firsts


def ctas_of(group, selection) -> np.ndarray:
    """The CTA of each selected thread."""
    if selection.is_all:
        return selection.ctas
    return group.cta[selection.rows, 0] if group.is_product_set else group.cta[0, selection.columns]


def tids_of(group, selection) -> np.ndarray:
    """The number in its CTA of each selected thread."""
    return selection.tids if selection.is_all else group.tid[0, selection.columns]


def bias_of(group, selection) -> np.ndarray:
    """Where the shared memory of each selected thread's CTA begins in the batch's."""
    return selection.bias if selection.is_all else ctas_of(group, selection) * group.memories.shared_size


def flat_threads(group, selection) -> np.ndarray:
    """Index in the batch of each selected thread."""
    if selection.is_all:
        return group.flat
    return ctas_of(group, selection) * group.geometry.threads + tids_of(group, selection)
