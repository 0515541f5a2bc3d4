"""Selects the clusters of a grid that are simulated, as representatives of all of them."""

from __future__ import annotations

from collections.abc import Iterator

from .constant_bank_values import Launch, Shape

MAX_CLUSTERS = 3


def sampled_tiles(launch: Launch) -> list[Shape]:
    """The tile blocks of the sampled clusters; each represents an equal part of the grid along every axis.

    Equal parts of the linear launch order would be biased: in causal attention, all samples could have few keys.
    """
    across, down, deep = launch.clusters
    count = min(across * down * deep, MAX_CLUSTERS)
    found = []
    for step in range(count):
        # The middle of each part.
        x, y, z = ((2 * step + 1) * extent // (2 * count) for extent in launch.clusters)
        found.append((x, y, z))
    return found


def cluster_of(launch: Launch, tile: Shape) -> list[Shape]:
    """The CTAs of the cluster that computes a tile block."""
    return ctas_at(launch, launch.order.cta(tile, launch.clusters))


def persistent_clusters(launch: Launch) -> list[tuple[list[Shape], float]]:
    """The clusters of a persistent kernel with the most and the fewest tile blocks, and the share of clusters that each
    represents. If the division has a remainder, the first clusters run one tile block more."""
    across = launch.clusters[0]
    most = launch.tile_programs % across
    first, last = ctas_at(launch, (0, 0, 0)), ctas_at(launch, (across - 1, 0, 0))
    return [(first, 1.0)] if not most else [(first, most / across), (last, 1 - most / across)]


def ctas_at(launch: Launch, corner: Shape) -> list[Shape]:
    """The CTAs of the cluster at a place in the grid of clusters."""
    return list(_ctas(launch, corner))


def _ctas(launch: Launch, corner: Shape) -> Iterator[Shape]:
    x, y, z = launch.cluster
    for offset in range(x * y * z):
        within = (offset % x, offset // x % y, offset // (x * y))
        place = [at * part + more for at, part, more in zip(corner, launch.cluster, within, strict=True)]
        yield place[0], place[1], place[2]
