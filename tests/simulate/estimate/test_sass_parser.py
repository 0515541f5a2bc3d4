"""Parsing of nvdisasm's output; invalid control codes are rejected."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.simulate.estimate.sass_parser import NO_BARRIER, read_machine_code

ROWS = """\t.section\t.text.k,"ax",@progbits
        /*0000*/                   EXIT ;   /* 0x000000000000794d */
                                            /* {:#018x} */"""


def test_scoreboards_are_read():
    (one,) = read_machine_code(ROWS.format(3 << 41 | 2 << 46 | 7 << 49 | 5 << 52))["k"].instructions
    assert (one.control.stall, one.control.writes, one.control.reads, one.control.waits) == (3, 2, NO_BARRIER, 5)


@pytest.mark.parametrize("field", [46, 49])
def test_invalid_scoreboard(field):
    word = (7 << 46 | 7 << 49) & ~(7 << field) | 6 << field
    with pytest.raises(InvalidInput, match="instruction at 0x0 sets invalid scoreboard 6"):
        read_machine_code(ROWS.format(word))
