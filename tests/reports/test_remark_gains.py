"""The gain of an advice is the time that its bounds take beyond all others."""

import pytest

from tileiras_build.core.error_index.explanations import explanations
from tileiras_build.reports.remark_gains import RELIEVED, gain_text
from tileiras_build.simulate.estimate.estimate_kernel import KernelEstimate
from tileiras_build.simulate.estimate.performance_model import LATENCY
from tileiras_build.simulate.estimate.roofline import BOUNDS


def estimate(**bounds: float) -> KernelEstimate:
    named = {name.replace("_", " "): clocks for name, clocks in bounds.items()}
    return KernelEstimate(1.0, max(named, key=named.get), named, "H100")


@pytest.mark.parametrize(
    ("name", "found", "text"),
    [
        ("RemarkMemoryBoundsCheck", estimate(issue_slots=100.0, DRAM=80.0), "at most 20%"),
        ("RemarkMemoryBoundsCheck", estimate(issue_slots=80.0, DRAM=100.0), "none: limited by DRAM"),
        ("RemarkMemoryLayoutConversion", estimate(shared_memory=100.0, issue_slots=90.0, latency=50.0), "at most 50%"),
        ("RemarkMemoryShared", estimate(shared_memory=100.0), ""),
        ("RemarkMemoryBoundsCheck", None, ""),
    ],
)
def test_gain(name, found, text):
    assert gain_text(name, found) == text


def test_remarks_and_bounds_exist():
    assert set(RELIEVED) <= set(explanations())
    assert {bound for bounds in RELIEVED.values() for bound in bounds} <= {*BOUNDS, LATENCY}
