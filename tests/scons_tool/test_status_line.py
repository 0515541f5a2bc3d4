"""The line of a running build: counts, percent, time to go; and where it is not shown."""

import io

import pytest

from tileiras_build.scons_tool.status_line import is_terminal, status_line


def test_line_says_count_percent_time_and_what_runs():
    line = status_line(12, 345, ["ptx sm_90 a", "cubin sm_90 b"], seconds=6, built=12, width=100)
    assert line == "[ 12/345]   3%  2:46 to go  ptx sm_90 a | cubin sm_90 b"


@pytest.mark.parametrize(
    ("left", "seconds", "built", "shown"),
    [
        (100, 0.5, 10, []),
        (100, 5, 0, []),
        (10, 2, 10, ["0:02 to go"]),
        (4000, 3600, 1000, ["4:00:00 to go"]),
    ],
)
def test_time_to_go_is_of_the_pace_so_far(left, seconds, built, shown):
    said = [part for part in status_line(0, left, [], seconds, built, 80).split("  ") if part.endswith("to go")]
    assert said == shown


def test_line_fits_the_terminal():
    line = status_line(1, 2, ["ptx sm_90 a_kernel_with_a_long_name"] * 8, 60, 1, 40)
    assert len(line) == 40 and line.endswith("...")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_only_a_terminal_of_a_person_is_updated_in_place():
    assert is_terminal(Terminal(), {"TERM": "xterm"})
    assert not is_terminal(Terminal(), {"CI": "true"})
    assert not is_terminal(Terminal(), {"TERM": "dumb"})
    assert not is_terminal(io.StringIO(), {})
