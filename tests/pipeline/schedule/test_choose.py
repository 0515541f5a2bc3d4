"""The value of a knob: the first legal candidate, or the requested one if it is legal."""

import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.ir.dialects.op_traits import is_function
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.pipeline.schedule.choose import Candidate, Resource, choose, listening
from tileiras_build.pipeline.schedule.schedule import Schedule
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of, set_knobs, set_schedule
from tileiras_build.pipeline.schedule.stage_counts import StageBudget
from tileiras_build.target.targets import find_target

HOPPER = find_target("sm_90")
STAGES = (Candidate(4, "shared memory: 5 of 4 KiB", "smaller tiles"), Candidate(3), Candidate(2))


@pytest.fixture
def kernel():
    module = parse_module("nv_tileaa.func @k {\n^bb0(%n: i32):\n  nv_tileaa.return\n}\n")
    return next(filter(is_function, module.body.block.ops))


def requesting(text: str) -> Job:
    return Job(HOPPER, schedule=f'{{"schedule": {{{text}}}}}')


def test_the_first_legal_candidate_is_chosen_and_recorded(kernel):
    assert choose(kernel, Job(HOPPER), "num_stages", STAGES) == 3
    assert schedule_of(kernel) == Schedule(num_stages=3)


def test_a_legal_request_is_chosen_before_better_ones(kernel):
    assert choose(kernel, requesting('"num_stages": 2'), "num_stages", STAGES) == 2


@pytest.mark.parametrize(
    ("stages", "sentence"),
    [
        (4, "num_stages = 4 is refused: shared memory: 5 of 4 KiB; smaller tiles"),
        (
            7,
            "num_stages = 7 is refused: it needs operands in shared memory that TMA or threads copy ahead; legal here: 3, 2",
        ),
    ],
)
def test_an_illegal_request_is_refused_with_its_reason(kernel, stages, sentence):
    with pytest.raises(InvalidInput) as refused:
        choose(kernel, requesting(f'"num_stages": {stages}'), "num_stages", STAGES)
    assert refused.value.id == "schedule-refused" and sentence in str(refused.value)


def test_without_a_legal_candidate_the_compiler_is_at_fault(kernel):
    with pytest.raises(InternalError, match="no legal candidate for num_stages"):
        choose(kernel, Job(HOPPER), "num_stages", STAGES[:1])


def test_a_listener_hears_all_candidates(kernel):
    with listening() as heard:
        choose(kernel, Job(HOPPER), "num_stages", STAGES)
    assert [(one.kernel, one.knob, one.value, one.candidates) for one in heard.choices] == [
        ("k", "num_stages", 3, STAGES)
    ]


def test_the_attribute_holds_each_kind_of_value(kernel):
    schedule = Schedule(strategy="none", num_warps=8, mma=("fma", "fma"), rotate=False, cp_async_stages=(3, 0))
    set_schedule(kernel, schedule)
    assert schedule_of(kernel) == schedule
    assert str(kernel.attributes["schedule"]) == (
        '{strategy = "none", num_warps = 8 : i32, mma = ["fma", "fma"], rotate = false, cp_async_stages = [3 : i32, 0 : i32]}'
    )
    set_knobs(kernel, rotate=None, num_warps=4)
    assert schedule_of(kernel).chosen.keys() == {"strategy", "num_warps", "mma", "cp_async_stages"}
    set_schedule(kernel, Schedule())
    assert "schedule" not in kernel.attributes


def test_stages_that_do_not_fit_say_how_much_is_missing():
    budget = StageBudget(3, 1 << 16, 1 << 10, 1, 16)
    found = {one.value: one.refused for one in budget.candidates(3, 5, Job(HOPPER))}
    assert found[4].resource == Resource.SHARED
    assert [value for value, limit in found.items() if limit is None] == [3, 2, 1]
    assert str(found[4]) == (
        "shared memory: 4 stages of 65536 bytes, and 1024 bytes besides, are 263168 bytes; a CTA has 232448 with 1 per SM"
    )
    assert list(found) == [3, 2, 1, 4, 5]
    capped = {one.value: one.refused for one in StageBudget(16, 16, 0, 1, 16).candidates(16, None, Job(HOPPER))}
    assert capped[17] == "at most 16 stages are supported here"
