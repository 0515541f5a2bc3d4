"""The first coordinates and addresses of loads, by CTA."""

from __future__ import annotations

from tests.simulate.estimate.handwritten import LAYOUT, code, launch
from tileiras_build.simulate.estimate.constant_bank_values import Constants
from tileiras_build.simulate.estimate.load_places import LoadPlaces

# Copies at (0, 128 x) and then (64, 128 x), and a load that only the second warp executes.
LINES = [
    "S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, 0x20, PT", "@P0 BRA `(.L_x_1)", "S2UR UR4, SR_CTAID.X", "UMOV UR8, 0x400", "UMOV UR6, 0x180",
    "UMOV UR10, URZ", "USHF.L.U32 UR11, UR4, 0x7, URZ", ".L_x_0:", "UTMALDG.2D [UR8], [UR6], desc[UR16]",
    "UIADD3 UR10, UPT, UPT, UR10, 0x40, URZ", "UISETP.GE.U32.AND UP0, UPT, UR10, 0x100, UPT", "BRA.U !UP0, `(.L_x_0)", "EXIT",
    ".L_x_1:", "MOV R2, 0x1000", "MOV R3, RZ", "LDG.E R6, desc[UR4][R2.64]", "LDG.E R7, desc[UR4][R6.64]", "EXIT",
]  # fmt: skip


def places(cta, warps, of=LoadPlaces.of_cta):
    """By opcode and number; the last load's address is loaded."""
    machine_code, words = code(*LINES), launch(grid=(8, 1, 1), block=(64, 1, 1))
    wanted = [one.number for one in machine_code.instructions if one.opcode in ("UTMALDG", "LDG")]
    found = of(LoadPlaces(machine_code, words, Constants.of(words, LAYOUT, {}), wanted), cta, warps)
    return [(machine_code.instructions[number].opcode, place) for number, place in sorted(found.items())]


def test_the_first_copy_counts():
    assert places((0, 0, 0), [0]) == [("UTMALDG", (0, 0, 0x180))]
    assert places((3, 0, 0), [0]) == [("UTMALDG", (0, 3 * 128, 0x180))]


def test_steps_are_those_from_the_first_to_the_second():
    """Loads that one warp executes once have none."""
    assert places((3, 0, 0), [0, 1], LoadPlaces.steps_of_cta) == [("UTMALDG", (64, 0, 0))]


def test_addresses_that_are_loaded_are_unknown():
    assert places((3, 0, 0), [0, 1]) == [("UTMALDG", (0, 3 * 128, 0x180)), ("LDG", (0x1000,))]


def test_a_later_tile_block_of_a_persistent_kernel_is_the_first_one_further_along():
    assert places((11, 0, 0), [0]) == [("UTMALDG", (0, 11 * 128, 0x180))]
