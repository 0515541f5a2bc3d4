"""ldmatrix and stmatrix by division, proved by executing them as the ISA describes."""

import pytest

from tileiras_build.ir.layouts import (
    Atom,
    LinearLayout,
    SharedLayout,
    coalesced,
    matrix_access,
    mma_tiling,
    wgmma_tiling,
)
from tileiras_build.pipeline.verifiers.exhaustive_layout_checks import count_conflicts, verify_access

CASES = [
    # atom, m, n, k, operand, order of the placement, transposed (None: impossible)
    ((16, 8, 16, 16), 64, 32, 32, "a", (1, 0), False),
    ((16, 8, 16, 16), 64, 32, 32, "a", (0, 1), True),
    ((16, 8, 16, 16), 64, 32, 32, "b", (0, 1), False),
    ((16, 8, 16, 16), 64, 32, 32, "b", (1, 0), True),
    ((16, 8, 8, 16), 32, 32, 16, "b", (1, 0), True),
    ((16, 8, 32, 8), 32, 32, 64, "a", (1, 0), False),
    ((16, 8, 32, 8), 32, 32, 64, "b", (0, 1), False),
    ((16, 8, 32, 8), 32, 32, 64, "b", (1, 0), None),
    ((16, 8, 8, 32), 32, 32, 32, "a", (1, 0), False),
    ((16, 8, 8, 32), 32, 32, 32, "b", (1, 0), None),
    ((16, 8, 64, 4), 32, 32, 128, "a", (1, 0), False),
    ((16, 8, 16, 64), 32, 32, 32, "a", (1, 0), None),
]


@pytest.mark.parametrize("swizzled", [False, True])
@pytest.mark.parametrize("atom,m,n,k,operand,order,transposed", CASES)
def test_operands(atom, m, n, k, operand, order, transposed, swizzled):
    layout = getattr(mma_tiling(m, n, k, Atom(*atom), 2, 2), operand)
    chunk = 128 // atom[3]
    rows = layout.shape[order[0]] // chunk
    shared = (
        SharedLayout.swizzled(layout.shape, order, atom[3], chunk, 1, min(8, rows))
        if swizzled
        else SharedLayout.plain(layout.shape, order, atom[3])
    )
    access = matrix_access(layout, shared)
    assert (access is None) == (transposed is None)
    if access is not None:
        assert access.transposed == transposed
        verify_access(layout, shared, access)
        assert count_conflicts(access) == access.conflicts


@pytest.mark.parametrize("m, per_phase, phases", [(128, 1, 8), (64, 2, 4), (256, 1, 8)])
@pytest.mark.parametrize("k, warps", [(32, 4), (128, 4), (64, 8)])
def test_pairs_of_bytes(m, per_phase, phases, k, warps):
    """Of a left operand that lies along m; lines of 128 bytes, or of 64, in their swizzles."""
    layout = wgmma_tiling(m, 64, k, 8, warps, a_via_registers=True).a
    shared = SharedLayout.swizzled((m, k), (0, 1), 8, 16, per_phase, phases)
    access = matrix_access(layout, shared)
    assert (access.transposed, access.count, access.conflicts) == (True, 4, 1)
    verify_access(layout, shared, access)
    assert count_conflicts(access) == 1


def test_pairs_of_bytes_that_need_no_exchange():
    """Without a swizzle all rows begin in one bank, however they are chosen."""
    layout = wgmma_tiling(128, 64, 32, 8, 4, a_via_registers=True).a
    access = matrix_access(layout, SharedLayout.plain((128, 32), (0, 1), 8))
    assert (access.swapped_lanes, access.conflicts) == (0, 8)
    verify_access(layout, SharedLayout.plain((128, 32), (0, 1), 8), access)


@pytest.mark.parametrize("registers", [(1,), (1, 64)])
def test_pairs_of_bytes_of_too_few_rows(registers):
    """A thread's pair, or two of them, are no two matrices."""
    layout = LinearLayout(registers, (16, 32, 2, 4, 8), (), (2 << len(registers), 16))
    assert matrix_access(layout, SharedLayout.plain(layout.shape, (1, 0), 8)) is None


@pytest.mark.parametrize("most,instructions", [(4, 2), (2, 4), (1, 8)])
def test_instructions_of_fewer_matrices(most, instructions):
    layout = mma_tiling(32, 16, 16, Atom(16, 8, 16, 16), 1, 1).a
    shared = SharedLayout.plain((32, 16), (1, 0), 16)
    access = matrix_access(layout, shared, most)
    assert (access.count, len(access.instructions)) == (most, instructions)
    verify_access(layout, shared, access)


def test_layouts_that_do_not_divide():
    shared = SharedLayout.plain((64, 64), (1, 0), 16)
    assert matrix_access(coalesced((64, 64), (1, 0), 8, 4), shared) is None
    rows_of_8_bytes = SharedLayout.swizzled((64, 64), (1, 0), 16, 4, 1, 8)
    assert matrix_access(mma_tiling(64, 64, 64, Atom(16, 8, 16, 16), 4, 1).a, rows_of_8_bytes) is None
