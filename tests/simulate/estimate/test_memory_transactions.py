"""simulate/estimate/memory_transactions.py: sectors of global memory and conflicts of shared memory."""

import numpy as np
import pytest

from tests.simulate.estimate.handwritten import code
from tileiras_build.simulate.estimate.lane_values import ALL_LANES, LANES
from tileiras_build.simulate.estimate.memory_transactions import count_transactions

BASE = 1 << 40


def one(text):
    return code(text).instructions[0]


@pytest.mark.parametrize(
    ("addresses", "wavefronts"),
    [
        (4 * LANES, 1),
        (8 * LANES, 2),
        (128 * LANES, 32),  # a column of 32 words
        (132 * LANES, 1),  # the same, padded
        (0 * LANES, 1),  # one word for all
        (4 * (LANES ^ 5), 1),
    ],
)
def test_bank_conflicts(addresses, wavefronts):
    assert count_transactions(one("LDS R0, [R1]"), None, addresses, ALL_LANES).wavefronts == wavefronts


def test_wavefronts_of_wide_accesses():
    assert count_transactions(one("LDS.128 R0, [R1]"), None, 16 * LANES, ALL_LANES).wavefronts == 4
    assert count_transactions(one("LDS.64 R0, [R1]"), None, 8 * LANES, ALL_LANES).wavefronts == 2
    assert count_transactions(one("STS.128 [R1], R4"), None, 128 * LANES, ALL_LANES).wavefronts == 32


def test_wavefronts_of_matrices():
    swizzled = 128 * (LANES % 8) + 16 * ((LANES // 8) ^ (LANES % 8))
    assert count_transactions(one("LDSM.16.M88.4 R0, [R1]"), None, swizzled, ALL_LANES).wavefronts == 4
    assert count_transactions(one("LDSM.16.M88.4 R0, [R1]"), None, 128 * LANES, ALL_LANES).wavefronts == 32


@pytest.mark.parametrize(("text", "stride", "sectors", "lines"), [
    ("LDG.E R0, desc[UR4][R2.64]", 4, 4, 1), ("LDG.E.128 R0, desc[UR4][R2.64]", 16, 16, 4),
    ("LDG.E R0, desc[UR4][R2.64]", 4096, 32, 32), ("LDG.E.U8 R0, desc[UR4][R2.64]", 1, 1, 1),
])  # fmt: skip
def test_sectors_of_global_memory(text, stride, sectors, lines):
    found = count_transactions(one(text), BASE + stride * LANES, None, ALL_LANES)
    assert (found.sectors, found.lines) == ({1: sectors}, lines)


def test_only_active_lanes_count():
    found = count_transactions(one("LDG.E R0, desc[UR4][R2.64]"), BASE + 32 * LANES, None, LANES < 3)
    assert (found.sectors, found.bytes) == ({1: 3}, 12)


def test_unknown_addresses_are_assumed_conflict_free():
    found = count_transactions(one("LDG.E.64 R0, desc[UR4][R2.64]"), None, None, np.ones(32, dtype=bool))
    assert (found.sectors, found.known) == ({0: 8}, False)


def test_generic_accesses_outside_of_arrays_are_of_another_cta():
    """``mapa`` makes an address of a CTA's rank and its place in shared memory."""
    found = count_transactions(one("ST.E.128 [R1], R4"), (1 << 24) + 16 * LANES, None, ALL_LANES)
    assert (found.peer_bytes, found.sectors, found.lines) == (512, {}, 0)
    assert count_transactions(one("ST.E.128 [R1], R4"), BASE + 16 * LANES, None, ALL_LANES).peer_bytes == 0


@pytest.mark.parametrize(
    ("vector", "bytes"), [("F16x2", 4), ("BF16x8", 16), ("F32", 4), ("F32x2", 8), ("F32x4", 16), ("F64", 8)]
)
def test_bytes_of_additions_to_memory(vector, bytes):
    text = f"REDG.E.ADD.{vector}.RN.STRONG.GPU desc[UR4][R2.64], R4"
    assert count_transactions(one(text), BASE + bytes * LANES, None, ALL_LANES).bytes == 32 * bytes


def test_copies_to_shared_memory_read_where_their_predicate_holds():
    """Other lanes write zeros: bank conflicts remain, and no sectors."""
    copy, near = one("LDGSTS.E.BYPASS.128 [R23+0x400], desc[UR4][R2.64], !P1"), 16 * LANES
    found = [count_transactions(copy, BASE + 16 * LANES, near, ALL_LANES, count > LANES) for count in (32, 8, 0)]
    assert [one.sectors for one in found] == [{1: 16}, {1: 4}, {}]
    assert [one.wavefronts for one in found] == [4] * 3 and [one.is_fill for one in found] == [False, False, True]
    assert count_transactions(copy, None, near, ALL_LANES, LANES < 8).sectors == {0: 4}
