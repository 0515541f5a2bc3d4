"""The book's table of serializers: layouts are LLVM's, levels and flags have one spelling."""

import pytest

from tileiras_build.book.serializers import DATA_LAYOUTS, FLAGS, LEVELS, find_level, flags_for
from tileiras_build.errors import InvalidInput
from tileiras_build.pipeline.ll_to_ptx.machine import data_layout


@pytest.mark.parametrize("triple", DATA_LAYOUTS)
def test_layouts_are_those_of_llvm(triple):
    assert DATA_LAYOUTS[triple] == data_layout(triple)


def test_numbered_levels_are_their_numbers():
    assert all(LEVELS[level].number == LEVELS[level].ptxas == level for level in range(4))
    assert all(row.number in range(4) for row in LEVELS.values())


@pytest.mark.parametrize("level", [4, -1, "fast", True, None])
def test_other_levels_are_refused(level):
    with pytest.raises(InvalidInput, match="opt-level"):
        find_level(level)


def test_words_of_flags():
    assert [flag.word for flag in FLAGS] == [
        "-g", "-Xopt", "-pragma-unroll-threshold=9900000", "-fma=0", "libNVVMUseNVGpuComp=true",
    ]  # fmt: skip
    assert [flag.name for flag in flags_for(debug=False)] == ["-Xopt", "-pragma-unroll-threshold", "-fma"]
    assert flags_for(debug=True, nvgpucomp=True) == FLAGS
