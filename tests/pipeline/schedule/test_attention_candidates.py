"""CTAs per SM of attention by warpgroups: what is refused, and why."""

from pathlib import Path

import pytest

from tileiras_build.driver import explain_schedule
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).parents[3] / "benchmarks" / "schedule_kernels.py"


def explained(name: str, sm: str, schedule: str = "") -> dict:
    [code] = export_kernels(KERNELS, [name]).values()
    [kernel] = explain_schedule(code, "tilebc", Job(find_target(sm), schedule=schedule))
    return kernel


@pytest.mark.parametrize(
    ("name", "warps", "ctas", "refused"),
    [
        ("attention_f16_64x64x64", 4, 2, "four warps"),
        ("attention_f16_128x128x64", 8, 1, "registers: a thread needs"),
    ],
)
def test_an_sm_has_two_warpgroups_whose_registers_fit(name, warps, ctas, refused):
    kernel = explained(name, "sm_90")
    by_ctas = {one.get("ctas") or one["schedule"]["occupancy"]: one for one in kernel["schedules"]}
    assert set(by_ctas) == {1, 2} and kernel["schedule"]["num_warps"] == warps
    assert kernel["schedule"].get("occupancy", 1) == ctas
    assert by_ctas[ctas]["clocks"] > 0 and by_ctas[3 - ctas]["refused"].startswith(refused)


def test_a_declined_knob_is_priced():
    """Without the overlap of two iterations, a chain waits for its softmax."""
    usual, declined = (
        explained("attention_f16_128x128x64", "sm_90", text) for text in ("", '{"schedule": {"rotate": false}}')
    )
    clocks = [next(one["clocks"] for one in kernel["schedules"] if "clocks" in one) for kernel in (usual, declined)]
    assert clocks[0] < clocks[1]


def test_other_targets_have_other_candidates():
    kernel = explained("attention_f16_64x64x64", "sm_80")
    assert "schedules" not in kernel
