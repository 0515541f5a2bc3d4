"""Placements, bank conflicts and the choice of swizzles."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileiras_build.ir.layouts import (
    Atom,
    SharedLayout,
    Swizzle,
    bank_conflicts,
    choose_swizzle,
    coalesced,
    largest_vector,
    matrix_access,
    mma_tiling,
    shared_access,
    storage_bits,
)
from tileiras_build.pipeline.verifiers.exhaustive_layout_checks import (
    count_conflicts,
    verify_access,
    verify_shared_layout,
)

from .strategies import layouts

F16 = Atom(16, 8, 16, 16)
F8 = Atom(16, 8, 32, 8)


def test_swizzle_moves_rows_into_chunks():
    swizzle = Swizzle(3, 3, 3)
    assert [swizzle(64 * row) for row in range(4)] == [0, 64 + 8, 128 + 16, 192 + 24]
    assert all(swizzle(swizzle(offset)) == offset for offset in range(4096))


@pytest.mark.parametrize("fields", [(3, 3, 2), (1, 1 << 31, 1), (1 << 31, 0, 1 << 31), (1, 32, 32)])
def test_swizzles_that_no_offset_has(fields):
    """Text may name any: its masks are not made."""
    with pytest.raises(ValueError, match="needs 0 <= B|exceeds the bits of an offset"):
        Swizzle(*fields)


def test_plain_and_swizzled_placements():
    plain = SharedLayout.plain((4, 8), (1, 0), 32)
    assert plain.element(11) == (1, 3) and plain.offset(11) == 11 and plain.size_bytes == 128
    assert SharedLayout.plain((4, 8), (0, 1), 32).element(11) == (3, 2)
    swizzled = SharedLayout.swizzled((128, 64), (1, 0), 16, 8, 1, 8)
    assert swizzled.swizzle[1] == Swizzle(3, 3, 3)
    for row in (0, 1, 5, 13):
        for column in (0, 9, 63):
            assert swizzled.offset(row * 64 + column) == row * 64 + (column ^ (row % 8) * 8)
    assert storage_bits(1) == 8


@pytest.mark.parametrize("width", [16, 32, 64, 128])
def test_boxes_are_the_tma_placement(width):
    shared = SharedLayout.boxed((64, 128), (1, 0), 16, width)
    verify_shared_layout(shared)
    columns = width // 2
    for row, column in ((0, 0), (3, 17), (9, 127), (63, 64)):
        address = 2 * (column // columns * 64 * columns + row * columns + column % columns)
        # The hardware XORs address bits 7.. into bits 4.., one bit for 32 bytes, two for 64, three for 128.
        expected = address ^ (address >> 7 & (width // 16 - 1)) << 4
        assert 2 * shared.offset(row * 128 + column) == expected


@settings(max_examples=40)
@given(layouts(), st.sampled_from([4, 8, 16, 32, 64]), st.randoms(use_true_random=False))
def test_accesses_of_random_placements(layout, bits, random):
    units = [1 << bit for bit in range(layout.index_bits)]
    random.shuffle(units)
    for _ in range(random.randrange(4)):
        if len(units) > 1:
            i, j = random.sample(range(len(units)), 2)
            units[i] ^= units[j]
    shared = SharedLayout(layout.shape, bits, tuple(units))
    if largest_vector(layout, shared) * bits < 8:
        with pytest.raises(ValueError, match="4-bit"):
            shared_access(layout, shared)
        return
    access = shared_access(layout, shared)
    verify_access(layout, shared, access)
    assert count_conflicts(access) == access.conflicts == bank_conflicts(layout, shared)


def test_the_address_is_base_xor_plus_constant():
    layout = mma_tiling(64, 64, 64, F16, 4, 1).a
    shared = SharedLayout.swizzled((64, 64), (1, 0), 16, 8, 1, 8)
    access = shared_access(layout, shared)
    for lane, warp in ((0, 0), (13, 2), (31, 3)):
        thread = warp * 32 + lane
        base = 0
        for mask, shift in access.thread_terms:
            base ^= (thread & mask) << shift if shift >= 0 else (thread & mask) >> -shift
        assert base == access.base(lane, warp)
    plain = shared_access(layout, SharedLayout.plain((64, 64), (1, 0), 16))
    assert plain.is_additive and not access.is_additive


CASES = {
    "A of f16, row-major": (coalesced((128, 64), (1, 0), 8, 4), mma_tiling(128, 128, 64, F16, 2, 2).a, 16, True),
    "A of f16, column-major": (coalesced((128, 64), (0, 1), 8, 4), mma_tiling(128, 128, 64, F16, 2, 2).a, 16, True),
    "B of f16, row-major": (coalesced((64, 128), (1, 0), 8, 4), mma_tiling(128, 128, 64, F16, 2, 2).b, 16, True),
    "B of f16, column-major": (coalesced((64, 128), (0, 1), 8, 4), mma_tiling(128, 128, 64, F16, 2, 2).b, 16, True),
    "A of f8": (coalesced((128, 128), (1, 0), 16, 4), mma_tiling(128, 128, 128, F8, 2, 2).a, 8, True),
    "B of f8, k contiguous": (coalesced((128, 128), (0, 1), 16, 4), mma_tiling(128, 128, 128, F8, 2, 2).b, 8, True),
    "transposed f32": (coalesced((64, 64), (1, 0), 4, 4), coalesced((64, 64), (0, 1), 4, 4), 32, False),
    "narrow rows": (coalesced((128, 32), (1, 0), 8, 4), mma_tiling(128, 128, 32, F16, 2, 2).a, 16, True),
    "tf32": (coalesced((128, 32), (1, 0), 4, 4), mma_tiling(128, 128, 32, Atom(16, 8, 8, 32), 2, 2).a, 32, True),
}


@pytest.mark.parametrize("name", CASES)
def test_chosen_placements_are_free_of_conflicts(name):
    store, load, bits, matrices = CASES[name]
    shared = choose_swizzle(store, load, store.shape, bits)
    stored = shared_access(store, shared)
    loaded = matrix_access(load, shared) if matrices else shared_access(load, shared)
    assert loaded is not None
    for layout, access in ((store, stored), (load, loaded)):
        verify_access(layout, shared, access)
        assert count_conflicts(access) == access.conflicts == 1
    assert stored.access_bytes == 16
    assert not matrices or shared.swizzle is not None


def test_a_fixed_order_is_preserved():
    store, load = coalesced((128, 64), (1, 0), 8, 4), mma_tiling(128, 128, 64, F16, 2, 2).a
    shared = choose_swizzle(store, load, (128, 64), 16, order=(0, 1))
    places, _ = shared.swizzle
    assert places == (*range(7, 13), *range(7))


def test_one_sided_choice():
    load = mma_tiling(128, 128, 64, F16, 2, 2).a
    shared = choose_swizzle(None, load, (128, 64), 16)
    assert matrix_access(load, shared).conflicts == 1
