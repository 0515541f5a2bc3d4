"""The clusters that represent a launch, traced; and how long each of the others takes beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...target.sm_limits import WARP
from .constant_bank_values import Launch, Shape
from .sample_ctas import cluster_of, persistent_clusters, sampled_tiles
from .trace_warps import Tracer, WarpTrace, path_id

Cluster = list[list[WarpTrace]]  # the warps of each CTA
MAX_CLUSTERS = 1 << 16  # with lengths of their own; the tail of larger launches is negligible


@dataclass(frozen=True)
class TracedSample:
    """Clusters, and the share of the launch that each represents. ``axis``: the one axis of the grid along which paths
    differ, if there is just one, and ``places`` where the clusters are along it.
    """

    clusters: list[Cluster]
    shares: list[float]
    axis: int | None = None
    places: tuple[int, ...] = ()

    def lengths(self, launch: Launch, clocks: Sequence[float]) -> tuple[float, ...]:
        """The time of each cluster of the launch in its order, as a multiple of the mean, from ``clocks`` of the sample;
        empty if all take the same time.
        """
        x, y, z = extents = launch.clusters
        if self.axis is None or x * y * z > MAX_CLUSTERS:
            return ()
        known = sorted(dict(zip(self.places, clocks, strict=True)).items())
        along = [_interpolated(known, place) for place in range(extents[self.axis])]
        ctas = ((n % x, n // x % y, n // (x * y)) for n in range(x * y * z))
        found = [along[launch.order.tile(cta, extents)[self.axis]] for cta in ctas]
        mean = sum(found) / len(found)
        return tuple(one / mean for one in found)


def _interpolated(known: Sequence[tuple[int, float]], at: int) -> float:
    """The piecewise linear function through the points, continued beyond them; no less than a tenth of the least."""
    after = next((n for n in range(1, len(known) - 1) if at < known[n][0]), len(known) - 1)
    (left, low), (right, high) = known[after - 1 : after + 1]
    return max(low + (high - low) * (at - left) / (right - left), min(value for _, value in known) / 10)


class _Sampler:
    """Traces clusters of a launch by their tile blocks."""

    def __init__(self, tracer: Tracer, launch: Launch):
        self.tracer, self.launch = tracer, launch

    def at(self, tile: Shape) -> Cluster:
        """The cluster that computes a tile block."""
        return self.of(cluster_of(self.launch, tile))

    def of(self, blocks: list[Shape]) -> Cluster:
        """The warps of each CTA of a cluster."""
        warps = range(-(-self.launch.threads // WARP))
        return [[self.tracer.warp(place, number) for number in warps] for place in blocks]

    def deciding_axis(self, first: Shape, last: Shape, path: int) -> int | None:
        """The axis along which a step from the first to the last sample leads to the path of the last one."""
        for axis in range(3):
            tile = list(first)
            tile[axis] = last[axis]
            if first[axis] != last[axis] and path_id(self.at((tile[0], tile[1], tile[2]))) == path:
                return axis
        return None


def trace_sample(tracer: Tracer, launch: Launch) -> TracedSample:
    """The clusters that represent the grid: one, if the first and the last take the same paths."""
    sampler = _Sampler(tracer, launch)
    if launch.tile_programs:
        blocks, shares = zip(*persistent_clusters(launch), strict=True)
        return TracedSample(list(map(sampler.of, blocks)), list(shares))
    tiles = sampled_tiles(launch)
    first = sampler.at(tiles[0])
    last = sampler.at(tiles[-1]) if len(tiles) > 1 else first
    if path_id(first) == path_id(last):
        return TracedSample([first], [1.0])
    found = [first, *map(sampler.at, tiles[1:-1]), last]
    axis = sampler.deciding_axis(tiles[0], tiles[-1], path_id(last))
    places = () if axis is None else tuple(tile[axis] for tile in tiles)
    return TracedSample(found, [1 / len(found)] * len(found), axis, places)
