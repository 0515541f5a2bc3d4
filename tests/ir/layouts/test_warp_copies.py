"""Layouts of what each warp copies for itself."""

import pytest

from tileiras_build.ir.layouts import LinearLayout, coalesced, coalesced_in_warps, separate_warps


def _of_warps(layout: LinearLayout) -> list[set[int]]:
    return [set(warp.ravel().tolist()) for warp in layout.as_array()[0]]


# A column of rows that lanes share, a row that all warps share, and a tile whose lanes are apart in memory.
SHARED = {
    "column": (LinearLayout((1, 2), (0, 0, 0, 4, 8), (16, 32), (64,)), 4, 4),
    "row": (LinearLayout((1, 2), (4, 8, 0, 0, 0), (0, 0), (1, 16)), 8, 8),
    "apart": (LinearLayout((1, 8), (16, 32, 64, 2, 4), (128,), (16, 16)), 4, 4),
}


@pytest.mark.parametrize(("layout", "vector", "neighbors"), SHARED.values(), ids=SHARED)
def test_a_warp_copies_what_it_has_in_vectors(layout, vector, neighbors):
    order = tuple(range(layout.rank - 1, -1, -1))
    found = coalesced_in_warps(layout, order, vector)
    assert _of_warps(found) == _of_warps(layout) and found.contiguous(order) == neighbors
    assert not found.free_bits("register")


def test_few_neighbors_are_copied_where_warps_have_no_more():
    layout = LinearLayout((4,), (8, 16, 0, 0, 0), (1, 2), (32,))
    assert coalesced_in_warps(layout, (0,), 8).contiguous((0,)) == 1


def test_bits_that_move_along_several_are_not_sorted():
    assert coalesced_in_warps(LinearLayout((1,), (2, 4, 8 | 16, 16, 0), (), (32,)), (0,), 4) is None


def test_warps_with_the_same_elements_have_a_tile_each():
    column, row = (SHARED[name][0] for name in ("column", "row"))
    assert separate_warps(column) is column
    found = separate_warps(row)
    assert found.shape == (4, 1, 16) and not found.free_bits("warp")
    assert [{index % 16 for index in warp} for warp in _of_warps(found)] == _of_warps(row)
    assert sorted(min(warp) for warp in _of_warps(found)) == [0, 16, 32, 48]


def test_some_warps_share():
    layout = coalesced((4, 32), (1, 0), 1, 8)
    found = separate_warps(layout)
    assert found.shape == (2, 4, 32) and found.is_surjective and not found.free_bits("warp")
