"""mma.sync fragments against the ISA's formulas, and tiled matmuls by multiplying symbols."""

import pytest

from tileiras_build.ir.layouts import ATOMS, Atom, NoOp, fragment, mma_layouts, mma_tiling, plan_conversion, split_warps
from tileiras_build.pipeline.mma.mma_sync.fragment_verifier import FRAGMENTS, verify_fragment, verify_mma_tiling

ROWS = sorted((*shape, bits) for shape, widths in ATOMS.items() for bits in widths)


def test_every_atom_has_a_formula():
    assert set(ROWS) == set(FRAGMENTS)


@pytest.mark.parametrize("operand", "ABC")
@pytest.mark.parametrize("atom", ROWS, ids=str)
def test_fragments_are_the_isa_tables(atom, operand):
    verify_fragment(fragment(*atom[:3], operand, atom[3]), atom, operand)


@pytest.mark.parametrize(
    "m,n,k,atom,warps_m,warps_n,batch,warps_batch",
    [
        (16, 8, 16, (16, 8, 16, 16), 1, 1, None, 1),
        (32, 32, 32, (16, 8, 16, 16), 2, 2, None, 1),
        (32, 16, 64, (16, 8, 32, 8), 1, 2, None, 1),
        (16, 16, 16, (16, 8, 8, 32), 2, 2, None, 1),  # more warps than tiles
        (16, 16, 8, (8, 8, 4, 64), 2, 1, None, 1),
        (16, 16, 16, (16, 8, 16, 16), 1, 1, 4, 2),
        (16, 8, 16, (16, 8, 8, 16), 1, 1, 2, 4),  # more warps than batches
    ],
)
def test_tiled_mmas(m, n, k, atom, warps_m, warps_n, batch, warps_batch):
    tiling = mma_tiling(m, n, k, Atom(*atom), warps_m, warps_n, batch, warps_batch)
    verify_mma_tiling(tiling)
    for layout in mma_layouts(m, n, k, Atom(*atom), warps_m, warps_n, batch, warps_batch):
        assert layout.is_surjective
    lead = () if batch is None else (batch,)
    assert (tiling.a.shape, tiling.b.shape, tiling.c.shape) == ((*lead, m, k), (*lead, k, n), (*lead, m, n))


def test_operands_replicate_over_the_other_sides_warps():
    tiling = mma_tiling(64, 64, 32, Atom(16, 8, 16, 16), 2, 2)
    assert tiling.a.free_bits("warp") == 0b10 and tiling.b.free_bits("warp") == 0b01 and tiling.c.is_injective


def test_a_chained_mma_needs_no_conversion():
    first = mma_tiling(128, 64, 32, Atom(16, 8, 16, 16), 4, 1)
    second = mma_tiling(128, 32, 64, Atom(16, 8, 16, 16), 4, 1)
    assert plan_conversion(first.c, second.a, 16) == NoOp()


def test_tiles_smaller_than_the_atom_are_refused():
    with pytest.raises(ValueError, match="m = 8 is less than the atom's 16"):
        mma_layouts(8, 8, 16, Atom(16, 8, 16, 16), 1, 1)
    with pytest.raises(ValueError, match="no m16n8k16 atom for 4-bit"):
        fragment(16, 8, 16, "A", 4)


@pytest.mark.parametrize(
    "warps,m,n,batch,expected",
    [
        (4, 128, 128, 1, (2, 2, 1)),
        (4, 128, 32, 1, (4, 1, 1)),
        (4, 16, 128, 1, (1, 4, 1)),
        (4, 64, 64, 2, (2, 1, 2)),
        (8, 16, 8, 1, (8, 1, 1)),
    ],
)
def test_split_warps(warps, m, n, batch, expected):
    assert split_warps(warps, m, n, Atom(16, 8, 16, 16), batch) == expected
