"""The table of serializers: layouts are LLVM's, levels and flags have one spelling."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.ll_to_ptx.target_machine import data_layout
from tileiras_build.target.isa.serializer_options import (
    DATA_LAYOUTS,
    FLAGS,
    LEVELS,
    find_level,
    flags_for,
    level_of,
    read_level,
)


@pytest.mark.parametrize("triple", DATA_LAYOUTS)
def test_layouts_are_those_of_llvm(triple):
    assert DATA_LAYOUTS[triple] == data_layout(triple)


def test_numeric_levels_are_integers():
    assert all(LEVELS[level].number == LEVELS[level].ptxas == level for level in range(4))
    assert all(row.number in range(4) for row in LEVELS.values())


@pytest.mark.parametrize("level", [4, -1, "fast", True, None])
def test_other_levels_are_refused(level):
    with pytest.raises(InvalidInput, match="opt-level"):
        find_level(level)


def test_flags_with_values():
    assert [flag.spelling for flag in FLAGS] == [
        "-g", "-Xopt", "-pragma-unroll-threshold=9900000", "-fma=0", "libNVVMUseNVGpuComp=true",
        "-Os", "-Oz",
    ]  # fmt: skip
    assert [flag.name for flag in flags_for(debug=False)] == ["-Xopt", "-pragma-unroll-threshold", "-fma"]
    assert flags_for(debug=True, nvgpucomp=True) == FLAGS[:-2]


@pytest.mark.parametrize("level", LEVELS)
def test_number_and_flags_select_the_level(level):
    words = [flag.spelling for flag in flags_for(debug=False, opt_level=level)]
    assert level_of(LEVELS[level].number, words) == level
    assert ("-Os" in words, "-Oz" in words) == (level == "s", level == "z")


@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_read_from_options(level):
    assert read_level(str(level)) == read_level(level) == level


@pytest.mark.parametrize("given", ["4", "03", "S", "O3", "", True, None, 2.5])
def test_other_options_are_refused(given):
    with pytest.raises(InvalidInput, match="invalid LLVM optimization level"):
        read_level(given)
