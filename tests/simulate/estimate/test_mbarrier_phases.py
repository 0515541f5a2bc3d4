"""Phases complete without pending arrivals and bytes; multicast arrivals reach the CTAs of the mask."""

from tests.simulate.estimate.handwritten import code
from tileiras_build.simulate.estimate.mbarrier_phases import (
    MbarrierPhases,
    expected_arrivals,
    init_stores,
    multicast_arrivals,
)


def test_phase_needs_arrivals_and_bytes():
    phases = MbarrierPhases(count=2, bytes=16.0)
    for arrivals, bytes in ((1, 0.0), (2, 16.0)):
        phases.arrivals, phases.bytes = arrivals, bytes
        assert not phases.complete_phases()
    phases.bytes, phases.latest = 0.0, 7.0
    assert phases.complete_phases() and phases.completed == [7.0] and phases.arrivals == 0


def test_commits_arrive_at_the_ctas_of_the_mask():
    [own] = code("UTCBAR [UR4], URZ").instructions
    [all] = code("UTCBAR.2CTA.MULTICAST [UR4], URZ, UR5").instructions
    words = {"place": 0x1000108, "word": 5}
    assert multicast_arrivals(own, words) == {"place": 0x1000108, "word": 5, "lanes": 1}
    assert multicast_arrivals(all, words) == {"place": 0x108, "lanes": 1, "place1": 0x2000108, "lanes1": 1}


def test_stores_before_a_cctl_initialize_mbarriers():
    """Of 8 bytes, before the SYNCS.CCTL; their low word counts arrivals up to zero."""
    shape = code("STS.64 [R1], R2", "STS [R1+0x8], R2", "SYNCS.CCTL.IVALL", "STS.64 [R1], R2")
    assert init_stores(shape) == {0} and not init_stores(code("STS.64 [R1], R2"))
    assert expected_arrivals({"word": (0x100000 - 8) << 1}) == 8
