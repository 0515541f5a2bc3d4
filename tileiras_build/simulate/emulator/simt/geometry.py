"""The geometry of a batch of CTAs: its position in the grid, block and cluster shapes, and the coordinates of its threads.

The CTAs of a batch are indexed by cluster, then by rank; a cluster is never split over batches (PTX ISA 9.0,
section 2.2.2). Functions accept an index of a CTA in the batch, as an integer or an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import EmulatorError

RANK_SHIFT = 24  # bits of a shared memory address from this one on are the rank of its CTA
RANK_MASK = 0xFF
OFFSET_MASK = (1 << RANK_SHIFT) - 1
MAX_CTAS_PER_CLUSTER = 16  # the non-portable limit


def check_shape(shape, grid) -> None:
    """Raise EmulatorError unless a grid can be launched in clusters of a shape."""
    size = int(np.prod(shape))
    if not 1 <= size <= MAX_CTAS_PER_CLUSTER:
        raise EmulatorError(f"invalid cluster of {size} CTAs: expected 1 to {MAX_CTAS_PER_CLUSTER}")
    if any(g % c for g, c in zip(grid, shape)):
        raise EmulatorError(f"grid {tuple(grid)} is not divisible into clusters of {tuple(shape)}")


@dataclass(frozen=True)
class Geometry:
    """``first`` is the index in the grid, in the same order, of the first of the batch's ``ctas`` CTAs."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster_shape: tuple[int, int, int]
    first: int
    ctas: int

    @cached_property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @cached_property
    def cluster_size(self) -> int:
        return int(np.prod(self.cluster_shape))

    @cached_property
    def cta_column(self) -> np.ndarray:
        """The indices of the CTAs as a column."""
        return np.arange(self.ctas)[:, None]

    def cta_coordinates(self, cta) -> tuple:
        """ctaid.x, .y, .z."""
        gx, gy, _ = self.grid
        linear = self.first + cta
        if self.cluster_size == 1:
            return linear % gx, linear // gx % gy, linear // (gx * gy)
        cluster, inside = self.cluster_coordinates(cta), self.rank_coordinates(cta)
        return tuple(c * n + i for c, n, i in zip(cluster, self.cluster_shape, inside))

    def cluster_coordinates(self, cta) -> tuple:
        """clusterid.x, .y, .z."""
        cx, cy, _ = (g // n for g, n in zip(self.grid, self.cluster_shape))
        number = (self.first + cta) // self.cluster_size
        return number % cx, number // cx % cy, number // (cx * cy)

    def rank_coordinates(self, cta) -> tuple:
        """cluster_ctaid.x, .y, .z."""
        x, y, _ = self.cluster_shape
        rank = self.rank(cta)
        return rank % x, rank // x % y, rank // (x * y)

    def rank(self, cta):
        """The rank of CTAs in their clusters."""
        return (self.first + cta) % self.cluster_size

    def ctas_with_rank(self, cta, rank):
        """The CTAs of the batch with these ranks in the clusters of ``cta``."""
        return cta - self.rank(cta) + rank

    def thread_name(self, cta: int, tid: int) -> tuple:
        """((ctaid), (tid)) of a thread of the batch."""
        bx, by, _ = self.block
        tid = int(tid)
        return self.cta_coordinates(int(cta)), (tid % bx, tid // bx % by, tid // (bx * by))

    def thread_at(self, flat: int) -> tuple:
        """((ctaid), (tid)) of a thread by its index in the batch."""
        return self.thread_name(*divmod(int(flat), self.threads))
