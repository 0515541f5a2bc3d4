"""When threads wait for an MMA that reads a stage: at once where loads bound the loop, behind the next one where MMAs do."""

from tileiras_build.pipeline.schedule.stage_waits import BETWEEN_MMAS, trip_at_once, trip_in_flight


def test_a_loop_that_waits_for_loads_has_one_stage_more_in_flight():
    assert trip_in_flight(64, 1200, 3) == 600
    assert trip_at_once(64, 1200, 3, 1) == (1200 + 64 + BETWEEN_MMAS) / 3 < 600


def test_a_tensor_core_that_is_busy_waits_for_no_issue():
    assert trip_in_flight(512, 1200, 4) == 512 < trip_at_once(512, 1200, 4, 1) == 512 + BETWEEN_MMAS


def test_another_group_of_warps_multiplies_from_one_mma_to_the_next():
    assert trip_at_once(512, 1200, 8, 2) == 512
