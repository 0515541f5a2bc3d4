"""16 or 32 rows of scores for each warp of attention by mma.sync: what is chosen, and that results are the same."""

from pathlib import Path

import pytest

from tests.emulated_kernels import scheduled_kernel
from tests.pipeline.schedule.test_score_warps import check
from tileiras_build.driver import explain_schedule
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).with_name("score_kernels.py")


def explained(name: str, sm: str) -> dict:
    [code] = export_kernels(KERNELS, [name]).values()
    [kernel] = explain_schedule(code, "tilebc", Job(find_target(sm)))
    return kernel


@pytest.mark.parametrize(
    ("name", "sm", "warps", "other"),
    [
        ("tall", "sm_80", 4, 8),
        ("tall", "sm_120", 8, 4),
        ("tall_of_short_loads", "sm_80", 4, 8),
        ("tall_of_short_loads", "sm_120", 8, 4),
    ],
)
def test_the_cheaper_number_of_warps_is_chosen(name, sm, warps, other):
    kernel = explained(name, sm)
    clocks = {one["schedule"]["num_warps"]: one["clocks"] for one in kernel["schedules"]}
    assert kernel["schedule"]["num_warps"] == warps and clocks[warps] < clocks[other]


@pytest.mark.parametrize("sm", ["sm_80", "sm_120"])
def test_nothing_is_weighed_where_the_author_asks_for_ctas_per_sm(sm):
    assert "schedules" not in explained("tall_twice", sm)


@pytest.mark.parametrize(
    ("name", "sm", "width"), [("tall", "sm_80", 64), ("tall", "sm_120", 64), ("tall_of_short_loads", "sm_80", 128)]
)
def test_results(name, sm, width):
    check(name, sm, 1, width)
    assert scheduled_kernel(KERNELS, name, sm).num_warps == (8 if sm == "sm_120" else 4)
