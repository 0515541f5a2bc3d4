"""The checker notices wrong plans: each case damages one field of a good one."""

from dataclasses import replace

import pytest

from tileiras_build.core.errors import InternalError
from tileiras_build.ir.layouts import (
    Atom,
    LinearLayout,
    NoOp,
    SharedLayout,
    coalesced,
    fragment,
    matrix_access,
    mma_tiling,
    plan_conversion,
    plan_round_trip,
    shared_access,
)
from tileiras_build.pipeline.mma.mma_sync.fragment_verifier import verify_fragment, verify_mma_tiling
from tileiras_build.pipeline.verifiers.exhaustive_layout_checks import count_conflicts, verify_access, verify_conversion

SOURCE, TARGET = coalesced((16, 32), (1, 0), 4, 2), coalesced((16, 32), (0, 1), 4, 2)
TRIP = plan_round_trip(SOURCE, TARGET, 32)
LANES = LinearLayout((1, 2), (4, 8, 16, 32, 64), (), (128,))
MIXED = LinearLayout((1, 4), (2, 8, 16, 32, 64), (), (128,))
SHUFFLE = plan_conversion(LANES, MIXED, 32)


def with_load(**changes):
    trip = TRIP.passes[0]
    return replace(TRIP, passes=(replace(trip, load=replace(trip.load, **changes)),))


DAMAGED = {
    "a conversion forgotten": (SOURCE, TARGET, NoOp()),
    "lane offsets of a load": (SOURCE, TARGET, with_load(lane_offsets=TRIP.passes[0].load.lane_offsets[::-1])),
    "a vector missing": (SOURCE, TARGET, with_load(vectors=TRIP.passes[0].load.vectors[1:])),
    "a register named wrongly": (SOURCE, TARGET, replace(TRIP, register_source=TRIP.register_source[::-1])),
    "result swaps forgotten": (LANES, MIXED, replace(SHUFFLE, result_swaps=())),
    "source swaps forgotten": (LANES, MIXED, replace(SHUFFLE, source_swaps=())),
    "shuffles in another order": (LANES, MIXED, replace(SHUFFLE, shuffles=SHUFFLE.shuffles[::-1])),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_conversions(name):
    with pytest.raises(InternalError, match="layout-verifier"):
        verify_conversion(*DAMAGED[name])


def test_the_undamaged_ones_pass():
    verify_conversion(SOURCE, TARGET, TRIP)
    verify_conversion(LANES, MIXED, SHUFFLE)


def test_a_scratch_too_small():
    access = TRIP.passes[0].store
    last = access.vectors[-1]
    moved = replace(access, vectors=(*access.vectors[:-1], replace(last, add=last.add + TRIP.scratch_bytes)))
    with pytest.raises(InternalError, match="scratch"):
        verify_conversion(SOURCE, TARGET, replace(TRIP, passes=(replace(TRIP.passes[0], store=moved),)))


def test_damaged_matrix_access():
    layout = mma_tiling(32, 16, 32, Atom(16, 8, 16, 16), 1, 1).a
    shared = SharedLayout.swizzled((32, 32), (1, 0), 16, 8, 2, 4)
    access = matrix_access(layout, shared)
    verify_access(layout, shared, access)
    with pytest.raises(InternalError):
        verify_access(layout, shared, replace(access, transposed=True))
    with pytest.raises(InternalError):
        verify_access(layout, shared, replace(access, lane_offsets=access.lane_offsets[::-1]))


def test_fragments_of_another_operand():
    with pytest.raises(InternalError):
        verify_fragment(fragment(16, 8, 16, "A", 16).transpose(), (16, 8, 16, 16), "A")


def test_a_dot_with_its_tiles_exchanged():
    tiling = mma_tiling(32, 16, 32, Atom(16, 8, 16, 16), 1, 1)

    class Exchanged:
        a, b, c, k, atom = tiling.a, tiling.b, tiling.c, tiling.k, tiling.atom

        @staticmethod
        def atoms():
            parts = list(tiling.atoms())
            return [(a, b, parts[-1 - i][2]) for i, (a, b, _) in enumerate(parts)]

    with pytest.raises(InternalError, match="adds A"):
        verify_mma_tiling(Exchanged)


def test_conflicts_are_counted():
    layout = coalesced((32, 32), (0, 1), 1, 1)
    shared = SharedLayout.plain((32, 32), (1, 0), 32)
    columns = shared_access(layout, shared, vector=1)
    assert count_conflicts(columns) == columns.conflicts == 32
    # Of 16 bytes per lane only 8 lanes meet at once.
    vectors = shared_access(layout, shared)
    assert count_conflicts(vectors) == vectors.conflicts == 8
