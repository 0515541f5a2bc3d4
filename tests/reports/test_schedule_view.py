"""A kernel's page shows the schedule that was built, the candidates, and what other schedules cost."""

from tests.compiled_once import once
from tests.examples.example_library import bytecode_of
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.reports.cached_disassembly import ArtifactContents, ArtifactDetails, find_details
from tileiras_build.reports.schedule_view import OtherSchedule, view_schedule
from tileiras_build.target.targets import find_target

KERNEL = "vector_add_f32"
EXPLAINED = {
    "schedule": {"num_warps": 4, "mma": ["wgmma", "wgmma"], "num_stages": [3]},
    "cost": {"clocks": 1000, "bound": "L2", "pipes": {"L2": 1.0, "tensor pipe": 0.5}},
    "schedules": [
        {"schedule": {"num_warps": 4}, "clocks": 1000, "bound": "L2", "chosen": True},
        {"schedule": {"num_warps": 8, "num_stages": [3]}, "refused": "too few rows"},
        {"schedule": {"num_warps": 8, "mma": ["wgmma", "wgmma"], "num_stages": [3]}, "clocks": 1500, "bound": "DRAM"},
    ],
    "candidates": {
        "num_warps": [{"value": 4}, {"value": 8}],
        "mma": [[{"value": "wgmma"}, {"value": "mma_sync"}], [{"value": "wgmma"}, {"value": "fma", "refused": "slow"}]],
    },
}


def test_values_candidates_and_costs():
    view = view_schedule(EXPLAINED)
    assert (
        view.cost
        == "1,000 clocks of an SM for a tile program, bound by L2 (busy: L2 100%, tensor pipe 50%). Modelled, not measured."
    )
    shown = {knob.name: (knob.value, knob.legal, knob.refused) for knob in view.knobs}
    assert shown["num_warps"] == ("4", "8", []) and shown["num_stages"] == ("3", "", [])
    assert shown["mma"] == ("wgmma, wgmma", "mma_sync", ["not fma: slow"])
    assert view.others == [
        OtherSchedule("num_warps 8", "1,500 clocks (+50%), bound by DRAM", ""),
        OtherSchedule("num_warps 8, mma none", "", "too few rows"),
    ]


def test_without_a_schedule_or_a_cost():
    assert view_schedule(None) is None
    view = view_schedule({"schedule": {}, "candidates": {}})
    assert view.cost == "The model gives this kernel no cost." and view.knobs == view.others == []


def details(job: Job) -> ArtifactDetails:
    data, target = bytecode_of(KERNEL), job.target.name
    made = once((KERNEL, "schedule", job.strategy), lambda: lower(data, "tilebc", "tileas", job))
    return find_details(ArtifactContents(target, data, made[".tileas"], b""))


def test_schedules_of_other_options_are_left_out():
    job = Job(find_target("sm_90"))
    assert details(job).schedules[KERNEL]["schedule"]["strategy"] == "warp-specialize"
    assert details(Job(job.target, strategy="none")).schedules == {}
