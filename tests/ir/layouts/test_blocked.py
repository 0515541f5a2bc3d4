"""Blocked and coalesced layouts."""

import pytest

from tileiras_build.ir.layouts import (
    LinearLayout,
    SharedLayout,
    bank_conflicts,
    blocked,
    coalesced,
    matrix_access,
    spread_vector,
    transposing,
)


def test_a_tile_as_large_as_the_block_of_threads():
    layout = blocked((16, 32), (1, 4), (4, 8), (4, 1), (1, 0))
    # 8 threads x 4 columns fill a row; 4 lanes rows, then 4 warps.
    assert layout == LinearLayout((1, 2), (4, 8, 16, 32, 64), (128, 256), (16, 32))


def test_a_larger_tile_repeats_registers_and_a_smaller_one_replicates():
    large = blocked((64, 64), (1, 4), (4, 8), (4, 1), (1, 0))
    assert large.registers == (1, 2, 32, 1024, 2048) and large.is_injective
    small = blocked((4, 16), (1, 4), (4, 8), (4, 1), (1, 0))
    assert small.lanes == (4, 8, 0, 16, 32) and small.warps == (0, 0) and small.is_surjective


def test_registers_shrink_with_a_narrow_tile():
    assert blocked((64, 2), (1, 4), (32, 1), (2, 1), (1, 0)).registers == (1,)


def test_coalesced_fills_vector_lanes_warps_registers():
    layout = coalesced((128, 64), (1, 0), 8, 4)
    assert layout.registers == (1, 2, 4, 1024, 2048, 4096)
    assert layout.lanes == (8, 16, 32, 64, 128) and layout.warps == (256, 512)


def test_coalesced_column_major_is_the_transpose():
    assert coalesced((64, 128), (0, 1), 4, 4) == coalesced((128, 64), (1, 0), 4, 4).transpose()


@pytest.mark.parametrize("shape", [(), (1,), (2,), (16, 4), (4, 8, 2)])
def test_small_tiles_replicate(shape):
    layout = coalesced(shape, tuple(range(len(shape)))[::-1], 4, 8)
    assert layout.is_surjective and layout.num_warps == 8
    assert layout.free_bits("register") == 0


@pytest.mark.parametrize("size,vector", [(4096, 8), (512, 4), (128, 1), (16, 1)])
def test_spread_vector_keeps_threads_busy(size, vector):
    assert spread_vector(size, 4, 8) == vector


def test_a_transposing_layout_moves_words_without_bank_conflicts():
    layout = transposing((32, 128), (1, 0), 32, 8)
    read, written = (SharedLayout.boxed((32, 128), order, 32, 128, 16) for order in ((1, 0), (0, 1)))
    assert bank_conflicts(layout, read) == 1 == bank_conflicts(layout, written)
    assert layout.is_injective and layout.is_surjective and layout.contiguous((0, 1)) == 4


def test_a_transposing_layout_of_bytes_is_read_by_ldmatrix():
    layout = transposing((1, 128, 64), (2, 1, 0), 8, 4)
    squeezed = layout.reshape((128, 64))
    read = matrix_access(squeezed, SharedLayout.boxed((128, 64), (1, 0), 8, 64, 16))
    assert read is not None and read.transposed and read.conflicts == 1
    assert bank_conflicts(squeezed, SharedLayout.boxed((128, 64), (0, 1), 8, 128, 16)) <= 2


def test_a_transposing_layout_widens_halves_to_words_without_bank_conflicts():
    layout = transposing((64, 128), (1, 0), 16, 8)
    read, written = (
        SharedLayout.boxed((64, 128), (1, 0), 16, 128, 16),
        SharedLayout.boxed((64, 128), (0, 1), 32, 128, 16),
    )
    assert bank_conflicts(layout, read) == 1 == bank_conflicts(layout, written)
    assert layout.is_injective and layout.is_surjective and layout.contiguous((1, 0)) == 8


@pytest.mark.parametrize("shape,bits", [((128, 64), 64), ((16, 64), 16), ((8, 64), 8), ((2, 32), 32), ((2, 64, 64), 8)])
def test_other_tiles_have_no_transposing_layout(shape, bits):
    assert transposing(shape, tuple(range(len(shape)))[::-1], bits, 4) is None
