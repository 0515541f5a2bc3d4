"""The sizes of TMA copies follow from where they go in shared memory."""

from __future__ import annotations

from tests.simulate.estimate.handwritten import LAYOUT, code, launch
from tileiras_build.simulate.estimate.constant_bank_values import Constants
from tileiras_build.simulate.estimate.copy_sizes import Copies
from tileiras_build.simulate.estimate.trace_warps import Tracer


def copy(to, modifier=""):
    """A copy to an offset, or to the one that R0 has."""
    place = [f"UMOV UR8, {to:#x}"] if isinstance(to, int) else [f"R2UR UR8, {to}"]
    return [*place, f"UTMALDG.2D{modifier} [UR8], [UR4], desc[UR16]"]


def copies(lines, blocks=1):
    """Of a cluster of so many CTAs."""
    machine_code, words = code(*lines, "EXIT"), launch(grid=(blocks, 1, 1), cluster=(blocks, 1, 1))
    tracer = Tracer(machine_code, words, Constants.of(words, LAYOUT, {}))
    return Copies.of(machine_code, [[tracer.warp((block, 0, 0), 0)] for block in range(blocks)])


def test_operands_of_different_sizes():
    """Two stages of 0x4000 and 0x8000 bytes: the last copy of all is as large as the first by its instruction."""
    loop = ["MOV R1, RZ", ".L_x_0:", "IMAD R0, R1, 0xc000, RZ", "IADD3 R2, PT, PT, R0, 0x4000, RZ"]
    ends = ["IADD3 R1, PT, PT, R1, 0x1, RZ", "ISETP.GE.AND P0, PT, R1, 0x2, PT", "@!P0 BRA `(.L_x_0)"]
    found = copies([*loop, *copy("R0"), *copy("R2"), *ends])
    assert sorted(found.bytes.values()) == [2 * 0x4000, 2 * 0x8000] and found.l2_share == 1.0


def test_what_a_multicast_brings():
    """Each of two CTAs loads 0x4000 bytes of its own, and half of the 0x8000 bytes that both need."""
    rank = ["S2R R0, SR_CgaCtaId", "IMAD R1, R0, 0x4000, RZ", "IADD3 R1, PT, PT, R1, 0x4000, RZ"]
    found = copies([*rank, *copy(0), *copy("R1", ".MULTICAST"), *copy(0xC000)], 2)
    own, shared, last = found.bytes.values()
    assert own == shared == last == 2 * 0x4000
    assert found.l2_share == 3 / 4
