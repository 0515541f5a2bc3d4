"""For which grids a divided loop is faster: rounds of CTAs, the least extent of each number of parts, and kernels of a model."""

import pytest

from tileiras_build.pipeline.schedule.cost import FMA, L2, SHARED, TENSOR
from tileiras_build.pipeline.schedule.split_k_grids import MIN_SPLIT_GAIN, PARTS, _best, _Ctas, _least_extents, _steps
from tileiras_build.target.gpu_models import GPUS

H100 = GPUS["h100"]
SMS = H100.sm_count
IDLE = {TENSOR: 1.0, FMA: 1.0, SHARED: 1.0}  # of a loop that waits for its loads


def ctas(alone, parts=1, most=1, **demands):
    return _Ctas(alone, IDLE | demands, most, parts)


@pytest.mark.parametrize(
    ("programs", "parts", "rounds"),
    [(SMS, 1, 1), (SMS + 1, 1, 2), (SMS // 4, 4, 1), (SMS // 4 + 1, 4, 2), (SMS + 1, 2, 3)],
)
def test_a_launch_takes_rounds(programs, parts, rounds):
    assert ctas(990, parts).nanoseconds(programs, H100) == pytest.approx(rounds * 990 / H100.clock_mhz * 1e3)


def test_ctas_that_share_an_sm_hide_the_latency_of_each_other():
    pair = ctas(1000, most=2)
    one, two, three = (pair.nanoseconds(count * SMS, H100) for count in (1, 2, 3))
    assert one <= two < 1.1 * one and three == pytest.approx(one + two)


def test_idle_sms_leave_memory_and_power_to_others():
    reading, busy = ctas(1000, **{L2: 2000.0}), ctas(1000, **{TENSOR: 1000.0})
    assert 1.9 < reading.nanoseconds(SMS, H100) / reading.nanoseconds(SMS // 2, H100) < 2.1
    assert busy.nanoseconds(SMS, H100) > 1.1 * busy.nanoseconds(SMS // 2, H100)


@pytest.mark.parametrize(
    ("programs", "best"),
    [
        (SMS // 4, 4),
        (SMS // 2, 2),
        (SMS // 2 + 1, 1),
        (SMS, 1),
        (SMS + 1, 4),
        (SMS * 5 // 4 + 1, 2),
        (SMS * 3 // 2 + 1, 1),
        (9 * SMS + 1, 1),
    ],
)
def test_parts_fill_idle_sms(programs, best):
    launches = [ctas(1000), ctas(310, 4), ctas(560, 2)]
    assert _best(launches, programs, H100) == best
    assert _best([*launches, ctas(100)], programs, H100) == 1  # a cluster of neighbours


def test_a_small_gain_is_none():
    assert _best([ctas(1000), ctas(1000 * (1 - MIN_SPLIT_GAIN) + 1, 2)], SMS // 2, H100) == 1


@pytest.mark.parametrize(
    ("best", "least"),
    [
        ({64: 1, 128: 2, 256: 4, 512: 4}, [(4, 256), (2, 128)]),
        ({64: 1, 128: 4, 256: 4}, [(4, 128)]),
        ({64: 2, 128: 4, 256: 2}, [(2, 64)]),
        ({64: 2, 128: 1, 256: 2}, [(2, 256)]),
        ({64: 2, 128: 1}, []),
        ({0: 4}, [(4, 0)]),
    ],
)
def test_the_extent_from_which_on_parts_are_faster(best, least):
    assert list(_least_extents(best)) == least


def test_steps_are_as_long_as_no_sm_gets_another_cta():
    steps = list(_steps(SMS))
    assert [least for least, _ in steps] == [1, *(most + 1 for _, most in steps[:-1])]
    busiest = lambda programs: [-(-programs * parts // SMS) for parts in (1, *PARTS)]
    assert all(busiest(least) == busiest(most) for least, most in steps)
