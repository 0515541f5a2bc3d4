"""Fragments of wgmma and tiles in tensor memory against the figures of the PTX ISA."""

from dataclasses import replace

import pytest

from tileiras_build.checkers.layouts import check_access, check_tensor_tile, check_warpgroup, count_conflicts
from tileiras_build.errors import InternalError
from tileiras_build.layouts import SharedLayout, shared_access, tensor_memory_tile, warpgroup_tiling


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize(("rows", "columns"), [(64, 32), (64, 64), (64, 256), (128, 32), (128, 128), (256, 64)])
def test_tiles_in_tensor_memory(rows, columns, bits, warps):
    check_tensor_tile(tensor_memory_tile(rows, columns, bits, warps))


def test_a_tile_too_narrow_for_its_warps():
    assert tensor_memory_tile(64, 8, 32, 4) is not None
    assert tensor_memory_tile(64, 8, 32, 8) is None
    assert tensor_memory_tile(32, 64, 32, 4) is None


def test_a_tile_with_its_lanes_exchanged():
    tile = replace(tensor_memory_tile(64, 64, 32, 4))
    tile.__dict__["layout"] = replace(tile.layout, lanes=tile.layout.lanes[::-1])
    with pytest.raises(InternalError, match="the ISA says"):
        check_tensor_tile(tile)


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize(("m", "n"), [(64, 64), (128, 32), (256, 128), (64, 512)])
def test_fragments_of_warpgroups(m, n, bits, warps, scattered):
    check_warpgroup(warpgroup_tiling(m, n, 64, bits, warps, scattered))


def test_a_fragment_whose_rows_are_exchanged():
    tiling = warpgroup_tiling(64, 32, 16, 32, 4)

    class Exchanged:
        m, n, depth, element_bits, columns = tiling.m, tiling.n, tiling.depth, tiling.element_bits, tiling.columns
        m_tiles, n_tiles, k_tiles, group_n, groups_m = 1, 1, tiling.k_tiles, tiling.group_n, tiling.groups_m
        a_registers, c_registers = tiling.a_registers, tiling.c_registers
        a, c = tiling.a, warpgroup_tiling(64, 32, 16, 32, 4, True).c

    with pytest.raises(InternalError, match="the ISA says"):
        check_warpgroup(Exchanged)


def test_scattered_rows_are_read_without_conflicts():
    """From a tile stored with rows fastest, as TMA puts it."""
    placement = SharedLayout.boxed((128, 32), (0, 1), 32, 128)
    for scattered, conflicts in ((False, 2), (True, 1)):
        layout = warpgroup_tiling(128, 64, 32, 32, 8, scattered).a
        access = shared_access(layout, placement)
        check_access(layout, placement, access)
        assert count_conflicts(access) == conflicts
