"""The roofline picture: its values follow from cycles, work and clock; its lines stay in the picture."""

import re

import pytest

from tileiras_build.reports.roofline_view import view_roofline
from tileiras_build.simulate.estimate.estimate_kernel import KernelEstimate


def estimated(peaks: dict[str, float], multiply_adds: float = 0.0, us: float = 10.0) -> KernelEstimate:
    return KernelEstimate(us, "DRAM", peaks, "GPU", (), peaks, 1000.0, multiply_adds, 2e6, 1e7)


def test_a_matmul_in_operations_of_the_tensor_pipe():
    # 1e9 operations on 1e7 bytes, at 1000 cycles a microsecond: 1e9 in 2 us are 500 TFLOP/s.
    found = view_roofline(estimated({"tensor pipe": 2000, "DRAM": 5000, "L2": 1000, "FMA pipe": 4000}, 5e8))
    assert found.text == (
        "Roofline: at 100 FLOP per byte of DRAM, the roof is DRAM (200 TFLOP/s); this launch reaches 100 (50.0%)."
    )
    assert found.y_title == "TFLOP/s"
    assert [roof.label for roof in found.roofs] == ["DRAM", "L2", "tensor pipe 500 TFLOP/s", "FMA pipe 250 TFLOP/s"]
    assert found.dot[0] == found.roof[0] and found.dot[1] > found.roof[1]


def test_a_kernel_without_mma_in_warp_instructions():
    # 2e6 instructions in 0.5 us are 4000 G a second.
    found = view_roofline(estimated({"issue slots": 500, "DRAM": 5000}))
    assert found.y_title == "Ginstr/s" and "the roof is DRAM (400 Ginstr/s); this launch reaches 200" in found.text
    assert [roof.label for roof in found.roofs] == ["DRAM", "issue slots 4,000 Ginstr/s"]


@pytest.mark.parametrize("us", [5.0, 5e5])
@pytest.mark.parametrize("dram", [1.0, 500.0, 4e5])
def test_lines_and_labels_stay_in_the_picture(dram, us):
    found = view_roofline(estimated({"issue slots": 500, "DRAM": dram, "L2": dram / 3}, us=us))
    points = [tuple(map(float, pair.split(","))) for roof in found.roofs for pair in roof.points.split()]
    for x, y in [*points, found.dot, found.roof]:
        assert found.left - 0.1 <= x <= found.right + 0.1 and found.top - 0.1 <= y <= found.bottom + 0.1
    assert all(re.fullmatch(r"[\de.+-]+", tick.label) for tick in found.x_ticks) and len(found.y_ticks) <= 8


@pytest.mark.parametrize("peaks", [{}, {"issue slots": 500}])
def test_no_picture_without_traffic(peaks):
    assert view_roofline(estimated(peaks)) is None
