"""Which blocks of a grid are followed: some that stand for all, whole clusters of them."""

from __future__ import annotations

from collections.abc import Iterator

from .launch import Launch, Shape

MOST = 3  # clusters


def sampled_clusters(launch: Launch) -> Iterator[list[Shape]]:
    """The blocks of each cluster that is followed: each stands for an equal part of the grid, in order of the launch."""
    across, down, deep = launch.clusters
    total = across * down * deep
    count = min(total, MOST)
    for step in range(count):
        # The middle of each part.
        yield list(_blocks(launch, (2 * step + 1) * total // (2 * count)))


def _blocks(launch: Launch, number: int) -> Iterator[Shape]:
    across, down, _ = launch.clusters
    corner = (number % across, number // across % down, number // (across * down))
    x, y, z = launch.cluster
    for offset in range(x * y * z):
        within = (offset % x, offset // x % y, offset // (x * y))
        place = [at * part + more for at, part, more in zip(corner, launch.cluster, within, strict=True)]
        yield place[0], place[1], place[2]
