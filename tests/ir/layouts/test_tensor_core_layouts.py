"""Fragments of wgmma and tiles in tensor memory against the figures of the PTX ISA."""

from dataclasses import replace

import pytest

from tests.pairwise import pairwise
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.layouts import (
    Atom,
    ScaleColumns,
    SharedLayout,
    mma_tiling,
    shared_access,
    tmem_tile,
    wgmma_tiling,
)
from tileiras_build.pipeline.mma.tcgen05.tmem_verifier import verify_tmem_tile
from tileiras_build.pipeline.mma.wgmma.tiling_verifier import verify_wgmma_tiling
from tileiras_build.pipeline.verifiers.exhaustive_layout_checks import count_conflicts, verify_access

SHAPES = [(64, 32), (64, 64), (64, 256), (128, 32), (128, 128), (256, 64)]


@pytest.mark.parametrize(("shape", "bits", "warps"), pairwise(SHAPES, [8, 16, 32], [4, 8]))
def test_tiles_in_tensor_memory(shape, bits, warps):
    rows, columns = shape
    verify_tmem_tile(tmem_tile(rows, columns, bits, warps))


@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("columns", [32, 64, 256])
def test_half_of_the_rows_of_a_pair(columns, warps):
    verify_tmem_tile(tmem_tile(64, columns, 32, warps, is_pair=True))


@pytest.mark.parametrize(("shape", "bits", "warps"), pairwise([(128, 32), (128, 128), (256, 64)], [16, 32], [4, 8, 16]))
def test_rows_that_four_threads_share(shape, bits, warps):
    verify_tmem_tile(tmem_tile(*shape, bits, warps, shares_rows=True))


def test_a_tile_too_narrow_for_its_warps():
    assert tmem_tile(64, 8, 32, 4) is not None
    assert tmem_tile(64, 8, 32, 8) is None
    assert tmem_tile(32, 64, 32, 4) is None


def test_a_tile_with_its_lanes_exchanged():
    tile = replace(tmem_tile(64, 64, 32, 4))
    tile.__dict__["layout"] = replace(tile.layout, lanes=tile.layout.lanes[::-1])
    with pytest.raises(InternalError, match="the ISA says"):
        verify_tmem_tile(tile)


# One instruction, several down and across, with warpgroups that divide rows and those that divide columns.
FRAGMENTS = pairwise(
    [(64, 64), (128, 32), (256, 64), (64, 512)], [(8, False), (16, False), (32, False), (8, True), (32, True)], [4, 8]
)


@pytest.mark.parametrize(("shape", "element", "warps"), FRAGMENTS)
def test_fragments_of_warpgroups(shape, element, warps):
    (m, n), (bits, scattered) = shape, element
    verify_wgmma_tiling(wgmma_tiling(m, n, 64, bits, warps, scattered))


def test_a_fragment_whose_rows_are_exchanged():
    tiling = wgmma_tiling(64, 32, 16, 32, 4)

    class Exchanged:
        m, n, depth, element_bits, columns = tiling.m, tiling.n, tiling.depth, tiling.element_bits, tiling.columns
        m_tiles, n_tiles, k_tiles, group_n, groups_m = 1, 1, tiling.k_tiles, tiling.group_n, tiling.groups_m
        a_registers, c_registers = tiling.a_registers, tiling.c_registers
        a, c = tiling.a, wgmma_tiling(64, 32, 16, 32, 4, True).c

    with pytest.raises(InternalError, match="the ISA says"):
        verify_wgmma_tiling(Exchanged)


@pytest.mark.parametrize("warps", [(1, 1), (4, 2), (2, 4)])
@pytest.mark.parametrize(
    ("m", "n", "k", "block"), [(128, 128, 128, 32), (64, 32, 256, 32), (128, 64, 32, 32), (64, 64, 128, 8)]
)
def test_scales_are_where_the_instruction_looks(m, n, k, block, warps):
    """Section 9.7.14.3: row r of A has its word in lane 4 (r mod 8) + 2 thread + r div 8, column c of B in 4 c + thread."""
    tiling = mma_tiling(m, n, k, Atom(16, 8, 32, 8), *warps)
    for operand, lines, threads in (("A", 16, 2), ("B", 8, 4)):
        scales = tiling.scales(operand, block)
        for warp in range(warps[0] * warps[1]):
            for tile in range(tiling.m_tiles if operand == "A" else tiling.n_tiles):
                c = tiling.c_registers(*((tile, 0) if operand == "A" else (0, tile)))
                for line in range(lines):
                    at_c = (c[2 * (line // 8)], 4 * (line % 8)) if operand == "A" else (c[line % 2], line // 2)
                    expected = tiling.c.apply(*at_c, warp)[0 if operand == "A" else 1]
                    for step in range(k // block):
                        word, byte, thread = scales.registers(tile, step)
                        lane = 4 * (line % 8) + (2 * thread + line // 8 if operand == "A" else thread)
                        place = (expected, step) if operand == "A" else (step, expected)
                        assert thread < threads and scales.layout.apply(word[byte], lane, warp) == place


SCALES = [(128, 4), (256, 2), (256, 8), (64, 1), (16, 4), (32, 16), (128, 16), (256, 16)]


@pytest.mark.parametrize(("shape", "line_dim", "warps"), pairwise(SCALES, [0, 1], [4, 8]))
def test_scales_in_tensor_memory(shape, line_dim, warps):
    """Section 9.7.16.10.7: line i of an instruction in lane i mod 32, word i div 32, byte by byte along k."""
    lines, count = shape
    columns = ScaleColumns((lines, count)[:: 1 - 2 * line_dim], line_dim, warps)
    per_instruction = min(lines, 256 if line_dim else 128)
    for warp in range(warps):
        for line in range(lines):
            first = line // per_instruction * per_instruction
            for number in range(count):
                word = columns.tmem_column_of(first, number) + (line - first) // 32
                register = word * min(count, 4) + number % 4
                assert word < columns.tmem_columns
                place = (line, number) if line_dim == 0 else (number, line)
                assert columns.layout.apply(register, line % 32, warp) == place


def test_scattered_rows_are_read_without_conflicts():
    """From a tile stored with rows fastest, as TMA puts it."""
    placement = SharedLayout.boxed((128, 32), (0, 1), 32, 128)
    for scattered, conflicts in ((False, 2), (True, 1)):
        layout = wgmma_tiling(128, 64, 32, 32, 8, scattered).a
        access = shared_access(layout, placement)
        verify_access(layout, placement, access)
        assert count_conflicts(access) == conflicts
