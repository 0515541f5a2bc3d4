"""simulate/estimate/tile_order.py: each tile block has one place in the grid, whatever the order."""

from itertools import product

import pytest

from tileiras_build.simulate.estimate.tile_order import TileOrder


@pytest.mark.parametrize("order", [TileOrder(), TileOrder(4), TileOrder(8, 0), TileOrder(1, 1), TileOrder(1, 2)])
@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 7, 2), (3, 16, 1)])
def test_places_and_tiles_are_inverse(order, grid):
    places = list(product(*map(range, grid)))
    tiles = [order.tile(place, grid) for place in places]
    assert sorted(tiles) == places
    assert [order.cta(tile, grid) for tile in tiles] == places


def test_longest_first():
    """Heads of a group side by side, from the last tile of each to the first."""
    grid = (3, 3, 1)
    started = [TileOrder(2, 0).tile((n % 3, n // 3, 0), grid)[:2] for n in range(9)]
    assert started == [(2, 0), (2, 1), (1, 0), (1, 1), (0, 0), (0, 1), (2, 2), (1, 2), (0, 2)]
