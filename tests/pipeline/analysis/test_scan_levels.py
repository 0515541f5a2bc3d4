"""Tests of ``analysis/scan_levels.py``."""

import pytest

from tileiras_build.ir.layouts import LinearLayout
from tileiras_build.pipeline.analysis.scan_levels import ScanLevels
from tileiras_build.pipeline.tileaa_to_tileas.layout_assignment.layout_inference_rules import scan_layout


def test_levels_of_a_load():
    """Vectors of a thread, lanes, warps, and the passes of all warps over the row."""
    row = LinearLayout((1, 2, 512), (4, 8, 16, 32, 64), (128, 256), (1, 1024))
    levels = ScanLevels.of(row, 1)
    assert levels == ScanLevels((1, 2), (1, 2, 4, 8, 16), (("warp", 1), ("warp", 2), ("register", 4)))
    assert levels.crosses_warps
    assert [levels.segment(4, warp) for warp in range(4)] == [4, 5, 6, 7]


@pytest.mark.parametrize(
    "layout",
    [
        LinearLayout((32,), (1, 2, 4, 8, 16), (64, 0), (1, 128)).with_registers((1,)),  # two holders of an element
        LinearLayout((), (2, 1, 4, 8, 16), (), (1, 32)),  # lanes in another order
        LinearLayout((4,), (1, 2, 8, 16, 32), (), (1, 64)),  # registers between lanes
        LinearLayout((1 ^ 32,), (1, 2, 4, 8, 16), (), (2, 32)),  # a register that moves along both axes
        LinearLayout((32, 64), (1, 2, 128, 256, 512), (4, 8, 16), (32, 32)),  # more segments than elements of a thread
    ],
)
def test_others_need_another_layout(layout):
    assert ScanLevels.of(layout, 1) is None


@pytest.mark.parametrize("shape", [(1, 4096), (4096, 1), (8, 8), (64, 32), (4, 4, 256)])
@pytest.mark.parametrize("warps", [1, 4, 16])
def test_its_own_layout_fits(shape, warps):
    for axis in range(len(shape)):
        assert ScanLevels.of(scan_layout(shape, axis, warps), axis) is not None
