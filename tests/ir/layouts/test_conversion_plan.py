"""Conversion plans, executed by the checker on every thread."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counted import calls_of
from tests.pairwise import pairwise
from tileiras_build.ir.layouts import (
    Atom,
    LinearLayout,
    MatrixAccess,
    NoOp,
    RegisterPermutation,
    SharedLayout,
    SharedRoundTrip,
    WarpShuffle,
    coalesced,
    mma_tiling,
    plan_conversion,
    plan_round_trip,
    plan_warp_shuffle,
    tile_chunks,
    tmem_tile,
    wgmma_tiling,
)
from tileiras_build.pipeline.verifiers.exhaustive_layout_checks import count_conflicts, verify_chunks, verify_conversion

from .strategies import layout_pairs

F16 = Atom(16, 8, 16, 16)
BITS = st.sampled_from([1, 4, 8, 16, 32, 64, 128])


@settings(max_examples=60)
@given(layout_pairs(), BITS, st.booleans(), st.booleans(), st.sampled_from([None, 128, 512]))
def test_random_plans(pair, bits, stmatrix, shuffle, max_scratch):
    source, target = pair
    plan = plan_conversion(source, target, bits, stmatrix=stmatrix, shuffle=shuffle, max_scratch=max_scratch)
    verify_conversion(source, target, plan)


@settings(max_examples=40)
@given(layout_pairs(), BITS, st.booleans(), st.sampled_from([None, 64]))
def test_random_round_trips(pair, bits, stmatrix, max_scratch):
    source, target = pair
    plan = plan_round_trip(source, target, bits, stmatrix=stmatrix, max_scratch=max_scratch)
    verify_conversion(source, target, plan)
    for trip in plan.passes:
        assert count_conflicts(trip.store) == trip.store.conflicts
        assert count_conflicts(trip.load) == trip.load.conflicts


@settings(max_examples=40)
@given(layout_pairs(), st.sampled_from([8, 16, 32]))
def test_random_shuffles(pair, bits):
    source, target = pair
    plan = plan_warp_shuffle(source, target, bits)
    if plan is not None:
        verify_conversion(source, target, plan)
        assert plan.num_shuffles <= target.num_registers


def test_equal_layouts_cost_nothing():
    layout = coalesced((64, 64), (1, 0), 4, 4)
    assert plan_conversion(layout, layout, 32) == NoOp()


def test_register_order_is_renaming():
    layout = coalesced((64, 64), (1, 0), 4, 4)
    turned = layout.with_registers(layout.registers[::-1])
    plan = plan_conversion(layout, turned, 32)
    assert isinstance(plan, RegisterPermutation)
    verify_conversion(layout, turned, plan)


def test_a_broadcast_source_is_renaming():
    layout = coalesced((64, 64), (1, 0), 4, 4)
    small = layout.project(1)
    distinct, _, _ = small.distinct_registers()
    plan = plan_conversion(distinct, small, 32)
    assert isinstance(plan, RegisterPermutation)
    verify_conversion(distinct, small, plan)


def test_a_lane_permutation_is_one_shuffle_for_each_register():
    source = LinearLayout((1, 2), (4, 8, 16, 32, 64), (), (128,))
    target = LinearLayout((1, 2), (8, 4, 16, 64, 32), (), (128,))
    plan = plan_conversion(source, target, 32)
    assert isinstance(plan, WarpShuffle) and plan.num_shuffles == 4 and plan.num_selects == 0
    verify_conversion(source, target, plan)
    packed = plan_conversion(source, target, 8)
    assert packed.num_shuffles == 1
    verify_conversion(source, target, packed)


def test_a_register_and_a_lane_bit_change_places():
    source = LinearLayout((1, 2), (4, 8, 16, 32, 64), (), (128,))
    target = LinearLayout((1, 4), (2, 8, 16, 32, 64), (), (128,))
    plan = plan_conversion(source, target, 32)
    # Half of the registers stay in their lane; one swap before and one after.
    assert plan.is_butterfly and plan.num_shuffles == 2
    assert len(plan.source_swaps) == len(plan.result_swaps) == 1
    verify_conversion(source, target, plan)


def test_a_replicated_source_needs_no_shuffle():
    source = LinearLayout((1, 2, 4), (0, 0, 8, 16, 32), (), (64,))
    target = LinearLayout((4,), (1, 2, 8, 16, 32), (), (64,))
    plan = plan_conversion(source, target, 32)
    assert isinstance(plan, WarpShuffle) and plan.num_shuffles == 0 and plan.num_selects > 0
    verify_conversion(source, target, plan)


MATMUL = {
    "copy to A": (coalesced((128, 64), (1, 0), 8, 4), mma_tiling(128, 128, 64, F16, 2, 2).a, 16),
    "copy to B": (coalesced((64, 128), (1, 0), 8, 4), mma_tiling(128, 128, 64, F16, 2, 2).b, 16),
    "accumulator to f16 store": (mma_tiling(128, 128, 64, F16, 2, 2).c, coalesced((128, 128), (1, 0), 8, 4), 16),
    "accumulator to f32 store": (mma_tiling(128, 128, 64, F16, 2, 2).c, coalesced((128, 128), (1, 0), 4, 4), 32),
    "transposed f32": (coalesced((64, 64), (1, 0), 4, 4), coalesced((64, 64), (0, 1), 4, 4), 32),
    "transposed f16": (coalesced((64, 64), (1, 0), 8, 4), coalesced((64, 64), (0, 1), 8, 4), 16),
    "row statistics": (coalesced((64, 64), (1, 0), 4, 4).drop_dim(1), coalesced((64,), (0,), 1, 4), 32),
}


@pytest.mark.parametrize("stmatrix", [False, True])
@pytest.mark.parametrize("name", MATMUL)
def test_round_trips_of_matmul_are_free_of_conflicts(name, stmatrix):
    source, target, bits = MATMUL[name]
    plan = plan_conversion(source, target, bits, stmatrix=stmatrix)
    assert isinstance(plan, SharedRoundTrip) and plan.scratch_bytes == source.size * bits // 8
    verify_conversion(source, target, plan)
    for trip in plan.passes:
        assert trip.store.conflicts == trip.load.conflicts == 1


def test_matrix_instructions_are_used_where_they_divide():
    plan = plan_conversion(*MATMUL["copy to B"])
    assert isinstance(plan.passes[0].load, MatrixAccess) and plan.passes[0].load.transposed


def test_replicated_sources_store_once():
    source = coalesced((64, 64), (1, 0), 4, 4).drop_dim(1)
    plan = plan_round_trip(source, coalesced((64,), (0,), 1, 4), 32)
    store = plan.passes[0].store
    assert store.free_lanes == 0b01111 and store.free_warps == 0
    holders = [(lane, warp) for lane in range(32) for warp in range(4) if store.is_holder(lane, warp)]
    assert len(holders) * len(store.vectors) * store.vector == 64


@pytest.mark.parametrize("max_scratch,passes", [(None, 1), (1 << 16, 1), (1 << 14, 4), (1 << 12, 16)])
def test_passes_respect_the_scratch(max_scratch, passes):
    source, target, bits = MATMUL["accumulator to f32 store"]
    plan = plan_conversion(source, target, bits, max_scratch=max_scratch)
    assert len(plan.passes) == passes and (max_scratch is None or plan.scratch_bytes <= max_scratch)
    verify_conversion(source, target, plan)


def test_what_cannot_be_converted():
    layout = coalesced((64, 64), (1, 0), 4, 4)
    with pytest.raises(ValueError, match="cannot convert"):
        plan_conversion(layout, coalesced((64, 32), (1, 0), 4, 4), 32)
    with pytest.raises(ValueError, match="every element"):
        plan_conversion(layout.with_registers(layout.registers[:-1]), layout, 32)


def test_planning_is_fast():
    """A bound far above the calls it makes, to notice a change of complexity."""
    source, target, bits = MATMUL["accumulator to f16 store"]
    plan_round_trip.__wrapped__(source, target, bits)
    _, calls = calls_of(lambda: plan_round_trip.__wrapped__(source, target, bits))
    assert calls < 60_000


# ---- parts -------------------------------------------------------------------------------------------
ACCUMULATORS = wgmma_tiling(128, 256, 64, 16, 8).c
ROWS = tmem_tile(128, 256, 32, 8).layout


@pytest.mark.parametrize(("parts", "bits", "matrices"), pairwise([1, 2, 4], [8, 16, 32], [False, True]))
def test_slices_of_accumulators_have_the_layout_of_the_whole(parts, bits, matrices):
    """Warpgroups divide rows: any boxes of columns are a part."""
    shared = SharedLayout.boxed((128, 256), (1, 0), bits, 64)
    found = tile_chunks(ACCUMULATORS, shared, parts, 128 * 64 * 8 // bits, matrices)
    assert len(found.copies) == parts
    verify_chunks(ACCUMULATORS, shared, found)


def test_parts_that_warps_do_not_share():
    """Eight warps divide the columns of tensor memory in two: a part is the same boxes of either half."""
    shared = SharedLayout.boxed((128, 256), (1, 0), 16, 128)
    block = 128 * 64
    assert tile_chunks(ROWS, shared, 4, block, False) is None
    halves = tile_chunks(ROWS, shared, 2, block, False)
    verify_chunks(ROWS, shared, halves)
    assert [halves.chunk_and_offset(box * block) for box in range(4)] == [(0, 0), (1, 0), (0, block), (1, block)]


@settings(max_examples=40)
@given(layout_pairs(), st.sampled_from([8, 16, 32]), st.booleans(), st.sampled_from([2, 4]))
def test_random_parts(pair, bits, matrices, parts):
    layout, _ = pair
    shared = SharedLayout.plain(layout.shape, range(len(layout.shape)), bits)
    found = tile_chunks(layout, shared, parts, 1, matrices) if layout.is_surjective else None
    if found is not None:
        verify_chunks(layout, shared, found)
