"""simulate/estimate/list_scheduling.py: the tail of CTAs of unequal length depends on their order."""

import pytest

from tileiras_build.simulate.estimate.list_scheduling import launch_clocks
from tileiras_build.simulate.estimate.occupancy_waves import OccupancyWaves

ALONE = [0.0, 10.0]


def test_one_after_the_other():
    assert launch_clocks([1.0, 2.0, 3.0], 1, ALONE) == 60
    assert launch_clocks([1.0, 2.0, 3.0], 3, ALONE) == 30


def test_the_longest_first_leave_the_shortest_tail():
    lengths = [0.1 * n for n in range(1, 41)]
    rising, falling = (launch_clocks(order, 4, ALONE) for order in (lengths, lengths[::-1]))
    ideal = 10 * sum(lengths) / 4
    assert ideal <= falling < 1.02 * ideal < 1.05 * ideal < rising


def test_ctas_that_share_an_sm():
    """Two take 15 together, thus each progresses at 1/15; when the short one ends, the long one goes on alone."""
    clocks = [0.0, 10.0, 15.0]
    assert launch_clocks([1.0, 1.0], 1, clocks) == 15
    assert launch_clocks([0.5, 1.0], 1, clocks) == pytest.approx(0.5 * 15 + 0.5 * 10)


def test_waves_of_equal_ctas():
    waves = OccupancyWaves(2, "registers", 2.5, 5, 5.0)
    together = {1: 1000.0, 2: 1360.0}.__getitem__
    assert waves.clocks(together) == 2 * 1360 + 1000
    assert waves.of_lengths((), 4) is waves
    assert launch_clocks([1.0] * 5, 1, [0.0, 1000, 1360]) == pytest.approx(waves.clocks(together))


def test_the_busiest_sm_is_counted_in_ctas_of_mean_length():
    waves = OccupancyWaves(1, "registers", 2.0, 2, 2.0).of_lengths((0.5, 0.5, 1.0, 2.0), 2)
    assert waves.busiest_sm_ctas == 2.5 and waves.tail == 0.25
