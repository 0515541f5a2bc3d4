"""Flags of nvcc: accepted and refused ones."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.frontend.tilecpp.nvcc_flags import split_flags, with_standard


def test_flags_are_a_text_or_a_list():
    assert split_flags("-I 'my dir' -DN=1") == ("-I", "my dir", "-DN=1")
    assert split_flags(["-I", "my dir"]) == ("-I", "my dir")


@pytest.mark.parametrize("flags", ["-o x", "-arch=sm_90", "--gpu-architecture sm_90", "-MD", "-tilebc"])
def test_what_the_build_says_itself_is_refused(flags):
    with pytest.raises(InvalidInput, match=r"error\[nvcc-flags\]: nvcc_flags= has -.*, which the build itself says"):
        split_flags(flags)


def test_an_open_quotation_is_refused():
    with pytest.raises(InvalidInput, match="No closing quotation"):
        split_flags("-DX='a")


def test_the_standard_is_added_where_none_is_named():
    assert with_standard(["-O1"]) == ["-std=c++20", "-O1"]
    assert with_standard(["-std=c++23"]) == ["-std=c++23"]
