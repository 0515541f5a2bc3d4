"""Sampled CTAs represent the whole grid along each axis."""

from __future__ import annotations

from tileiras_build.simulate.estimate.constant_bank_values import Launch
from tileiras_build.simulate.estimate.sample_ctas import cluster_of, sampled_tiles


def _corners(grid, cluster=(1, 1, 1)):
    launch = Launch(grid, (128, 1, 1), (), cluster)
    return [cluster_of(launch, tile)[0] for tile in sampled_tiles(launch)]


def test_samples_are_spread_along_each_axis():
    corners = _corners((32, 32, 1))
    for axis in (0, 1):
        assert [corner[axis] for corner in corners] == [5, 16, 26]


def test_small_grid_is_traced_completely():
    assert _corners((2, 1, 1)) == [(0, 0, 0), (1, 0, 0)]


def test_clusters_are_traced_completely():
    launch = Launch((12, 1, 1), (128, 1, 1), (), (2, 1, 1))
    assert cluster_of(launch, sampled_tiles(launch)[0]) == [(2, 0, 0), (3, 0, 0)]
