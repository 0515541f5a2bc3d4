"""The bytes of a copy are those that its mbarrier expects, divided by the copies that this expectation has."""

from tests.simulate.estimate.handwritten import LAYOUT, code, launch
from tileiras_build.simulate.estimate.bytes_in_flight import copy_bytes
from tileiras_build.simulate.estimate.constant_bank_values import Constants
from tileiras_build.simulate.estimate.trace_warps import Tracer

PLACE = 0x400


def expects(bytes):
    return [f"MOV R1, {PLACE:#x}", f"MOV R2, {bytes:#x}", "SYNCS.ARRIVE.TRANS64 RZ, [R1], R2"]


def copies(count):
    return [f"UMOV UR9, {PLACE:#x}", *["UTMALDG.2D [UR8], [UR4], desc[UR16]"] * count]


def found(*lines):
    """The bytes of each copy, in program order."""
    machine_code, words = code(*lines, "EXIT"), launch()
    trace = Tracer(machine_code, words, Constants.of(words, LAYOUT, {})).warp((0, 0, 0), 0)
    sizes = copy_bytes(machine_code, [[trace]])
    assert all(place == PLACE for _, place in sizes)
    return [sizes[key] for key in sorted(sizes)]


def test_the_copies_of_a_stage_share_its_bytes():
    assert found(*expects(0x3000), *copies(3)) == [0x1000] * 3


def test_a_ring_that_two_loops_fill_has_stages_of_other_bytes():
    assert found(*expects(0x2000), *copies(1), *expects(0x1000), *copies(2)) == [0x2000, 0x800, 0x800]


def test_a_copy_before_all_expectations_is_of_the_last_one():
    """A loop repeats them: its copies may stand before what they follow."""
    assert found(*copies(1), *expects(0x2000)) == [0x2000]
