"""simulate/estimate/sass_semantics.py, integers.py: what instructions compute, for one number and for a number in each lane."""

import numpy as np
import pytest

from tests.simulate.estimate.handwritten import LAYOUT, code, launch
from tileiras_build.simulate.estimate.constant_bank_values import Constants
from tileiras_build.simulate.estimate.lane_values import LANES, pair
from tileiras_build.simulate.estimate.sass_operands import PREDICATE, REGISTER, Operand
from tileiras_build.simulate.estimate.sass_semantics import handler_of
from tileiras_build.simulate.estimate.warp_registers import Warp
from tileiras_build.target.gpu_rates import CONSTANT_BANK_LAYOUTS

R = lambda number: Operand(REGISTER, number)
P = lambda number: Operand(PREDICATE, number)
MASK = 0xFFFFFFFF


def executed(text: str, words: dict[int, object], truths: dict[int, object] | None = None) -> Warp:
    """A warp with these registers that has executed an instruction."""
    warp = Warp({"SR_TID.X": LANES}, Constants.of(launch(), LAYOUT, {}))
    for number, value in words.items():
        warp.set(R(number), value)
    for number, value in (truths or {}).items():
        warp.set_predicate(P(number), value)
    [one] = code(text).instructions
    handler = handler_of(one)
    assert handler is not None
    handler(warp, one)
    return warp


A, B, C = 0x12345678, 0xFFFFFFF0, 77
ROWS = [
    ("IADD3 R0, R1, R2, R3", (A + B + C) & MASK),
    ("IADD3 R0, R1, -R2, RZ", (A - B) & MASK),
    ("IMAD R0, R1, R2, R3", (A * B + C) & MASK),
    ("IMAD.MOV.U32 R0, RZ, RZ, R3", C),
    ("IMAD.HI.U32 R0, R1, R2, RZ", A * B >> 32),
    ("IMAD.HI R0, R1, R2, RZ", (A * -16 >> 32) & MASK),
    ("LEA R0, R3, R1, 0x4", (C * 16 + A) & MASK),
    ("LEA.HI R0, R1, R3, RZ, 0x8", (A >> 24) + C),
    ("LEA.HI.SX32 R0, R2, R3, 0x1c", C - 1),
    ("LOP3.LUT R0, R1, R2, R3, 0xc0, !PT", A & B),
    ("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", A ^ B ^ C),
    ("LOP3.LUT R0, R1, R2, R3, 0xf8, !PT", A | (B & C)),
    ("SHF.R.U32.HI R0, RZ, 0x4, R2", B >> 4),
    ("SHF.R.S32.HI R0, RZ, 0x4, R2", MASK),
    ("SHF.L.U32 R0, R1, 0x8, RZ", 0x34567800),
    ("SHF.L.U64.HI R0, R1, 0x8, R3", C << 8 | 0x12),
    ("SHF.R.U64 R0, R1, 0x8, R3", 0x4D123456),
    ("PRMT R0, R1, 0x5410, R2", 0xFFF05678),
    ("PRMT R0, R1, 0x7632, R2", 0xFFFF1234),
    ("SGXT R0, R1, 0x4", 0xFFFFFFF8),
    ("SGXT.U32 R0, R1, 0x4", 8),
    ("BMSK R0, R3, 0x3", 0),
    ("IABS R0, R2", 16),
    ("FLO.U32 R0, R1", 28),
    ("POPC R0, R2", 28),
    ("BREV R0, R3", 0xB2000000),
    ("VIMNMX R0, R2, R3, PT", B),
    ("VIMNMX R0, R2, R3, !PT", C),
    ("VIMNMX.U32 R0, R2, R3, PT", C),
    ("VIADDMNMX.U32 R0, R2, R3, 0x5, PT", 5),
    ("MOV R0, 0x7", 7),
    ("HFMA2.MMA R0, -RZ, RZ, 0, 2.384185791015625e-07", 4),
    ("HFMA2 R0, -RZ, RZ, 0, -2", 49152),
    ("I2FP.F32.U32 R0, R3", int(np.float32(77).view(np.uint32))),
    ("SEL R0, R1, R2, !P0", B),
    ("SEL R0, R1, R2, P0", A),
]


@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[text for text, _ in ROWS])
def test_rows_compute(text, expected):
    assert executed(text, {1: A, 2: B, 3: C}, {0: True}).raw(R(0)) == expected


@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[text for text, _ in ROWS])
def test_rows_compute_lane_by_lane(text, expected):
    """The first lane holds other values, and what it makes of them is its own."""
    words = {n: np.where(LANES == 0, 5 + n, value) for n, value in ((1, A), (2, B), (3, C))}
    found = executed(text, words, {0: True}).raw(R(0))
    alone = executed(text, {1: 6, 2: 7, 3: 8}, {0: True}).raw(R(0))
    lanes = np.broadcast_to(found, 32)
    assert lanes[0] == alone and (lanes[1:] == expected).all()


def test_64_bit_adds_carry():
    low = executed("IADD3 R0, P1, R1, R2, RZ", {1: 0xFFFFFFF0, 2: 0x20})
    assert (low.raw(R(0)), low.predicate(P(1))) == (0x10, True)
    assert executed("IADD3.X R0, R1, R2, RZ, P1, !PT", {1: 1, 2: 2}, {1: True}).raw(R(0)) == 4
    difference = executed("IADD3 R0, P1, R1, -R2, RZ", {1: 5, 2: 0})
    assert difference.predicate(P(1)) is True  # nothing is borrowed


def test_wide_multiplies_write_two_registers():
    warp = executed("IMAD.WIDE R4, R1, R2, R6", {1: 0xFFFFFFFE, 2: 3, 6: 10, 7: 1})
    assert (warp.raw(R(4)), warp.raw(R(5))) == (4, 1)
    warp = executed("IMAD.WIDE.U32 R4, R1, R2, RZ", {1: 0xFFFFFFFE, 2: 3})
    assert (warp.raw(R(4)), warp.raw(R(5))) == (0xFFFFFFFA, 2)


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("ISETP.LT.AND P1, P2, R1, R2, PT", False, True),  # R2 is negative
        ("ISETP.LT.U32.AND P1, P2, R1, R2, PT", True, False),
        ("ISETP.GE.OR P1, P2, R1, R2, !PT", True, False),
        ("ISETP.EQ.AND P1, P2, R1, R1, !PT", False, False),
        ("ISETP.GE.U32.AND.EX P1, P2, R1, R1, PT, P0", True, False),
        ("ISETP.GT.U32.AND.EX P1, P2, R1, R1, PT, !P0", False, True),
    ],
)
def test_comparisons(text, first, second):
    warp = executed(text, {1: A, 2: B}, {0: True})
    assert (warp.predicate(P(1)), warp.predicate(P(2))) == (first, second)


def test_tables_of_predicates():
    both = executed("PLOP3.LUT P1, PT, P0, P2, PT, 0x80, 0x0", {}, {0: True, 2: False})
    assert both.predicate(P(1)) is False
    either = executed("PLOP3.LUT P1, PT, P0, P2, PT, 0xa8, 0x0", {}, {0: True, 2: False})
    assert either.predicate(P(1)) is True


def test_what_is_not_known_stays_so_unless_it_does_not_matter():
    assert executed("IADD3 R0, R1, R9, RZ", {0: 5, 1: 5}).raw(R(0)) is None
    assert executed("IMAD R0, RZ, R9, R1", {1: 5}).raw(R(0)) == 5
    assert executed("LOP3.LUT R0, R1, RZ, R9, 0xc0, !PT", {1: 5}).raw(R(0)) == 0


def test_a_quotient_as_ptxas_makes_it():
    """The start of an unsigned division: a reciprocal in f32 that is not above 2^32 / n."""
    warp = executed("I2F.U32.RP R0, R1", {1: 77})
    reciprocal = executed("MUFU.RCP R0, R1", {1: warp.raw(R(0))}).raw(R(0))
    scaled = executed("F2I.FTZ.U32.TRUNC.NTZ R0, R1", {1: reciprocal + 0xFFFFFFE}).raw(R(0))
    assert 0 <= (1 << 32) / 77 - scaled < 64


def test_lanes_of_a_warp():
    assert (executed("S2R R0, SR_TID.X", {}).raw(R(0)) == LANES).all()
    assert (executed("SHFL.BFLY PT, R0, R1, 0x1, 0x1f", {1: LANES}).raw(R(0)) == LANES ^ 1).all()
    assert executed("VOTE.ANY R0, PT, P0", {}, {0: LANES < 4}).raw(R(0)) == 15
    assert executed("REDUX.MAX R0, R1", {1: LANES}).raw(R(0)) == 31
    packed = executed("P2R R0, PR, RZ, 0x1", {}, {0: LANES < 2}).raw(R(0))
    assert packed.tolist() == [1, 1] + [0] * 30


def test_an_unknown_word_masked_is_unknown():
    """The third word, which the table does not ask for, decides nothing."""
    assert executed("LOP3.LUT R0, R1, 0x1f, RZ, 0xc0, !PT", {}).raw(R(0)) is None


def test_the_number_of_a_cluster_as_ptxas_makes_it():
    """sm_100: a block's number times the reciprocal of the cluster's extent."""
    constants = Constants.of(launch(cluster=(1, 4, 1)), CONSTANT_BANK_LAYOUTS[100], {})
    warp = Warp({"SR_TID.X": LANES}, constants)
    for text in ("I2FP.F32.U32 R0, R1", "FMUL R0, R0, c[0x0][0x214]", "F2I.U32.TRUNC.NTZ R0, R0"):
        warp.set(R(1), 11)
        [one] = code(text).instructions
        handler = handler_of(one)
        assert handler is not None
        handler(warp, one)
    assert warp.raw(R(0)) == 2


def test_lanes_below_one_negative_upper_word():
    """A uniform upper word beside lower ones of each lane, beyond what an int64 holds without its sign."""
    np.testing.assert_array_equal(pair(LANES, MASK), LANES - (1 << 32))
    assert pair(5, MASK) == 5 - (1 << 32)
