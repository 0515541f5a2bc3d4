"""What people see: plain text in pipes, colour and links where somebody looks, and nothing cut."""

import io
import re
from types import SimpleNamespace

import pytest

from tileiras_build.core.terminal import (
    RunningLine,
    coloured,
    first_location,
    has_colour,
    is_terminal,
    print_stderr,
    print_table,
    table_text,
)

DIAGNOSTIC = "kernels/k.py:17:40: error[export]: Undefined variable rihgt; " + "use another " * 20


class Screen(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def person(monkeypatch):
    """The environment of somebody at a terminal of 60 columns."""
    for name in ("CI", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    return Screen()


def seen(stream: io.StringIO) -> str:
    """The text without colours and links."""
    return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|\]8;[^\x1b]*\x1b\\)", "", stream.getvalue())


@pytest.mark.parametrize(
    ("stream", "environment", "terminal", "colour"),
    [
        (Screen(), {"TERM": "xterm"}, True, True),
        (Screen(), {"CI": "true"}, False, False),
        (Screen(), {"TERM": "dumb"}, False, False),
        (Screen(), {"NO_COLOR": "1"}, True, False),
        (io.StringIO(), {}, False, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, False, True),
    ],
)
def test_who_looks(stream, environment, terminal, colour):
    assert is_terminal(stream, environment) == terminal and has_colour(stream, environment) == colour


def test_a_plain_table_is_aligned_and_as_wide_as_it_is():
    rows = [("a", 9, "0", "x" * 200), ("long_name", 10, "1.5 KiB", "y")]
    lines = table_text(("kernel", "registers", "shared memory", "note"), rows).splitlines()
    assert lines[0] == "kernel     registers  shared memory  note"
    assert set(lines[1]) == {"-"}
    assert lines[2] == f"a                  9              0  {'x' * 200}"
    assert lines[3] == "long_name         10        1.5 KiB  y"


def test_cells_of_wide_letters_and_of_several_lines():
    lines = table_text(("kernel", "note"), [("核", "one\ntwo"), ("abcdefg\r", "3")]).splitlines()
    assert lines == ["kernel   note", "-------------", "核       one", "         two", "abcdefg  3"]


def test_a_table_on_a_terminal_is_folded_not_cut(person):
    print_table(("kernel", "result"), [("k" * 100, "match")], person)
    assert seen(person).count("k") == 101 and max(map(len, seen(person).splitlines())) <= 60
    assert "\x1b[32mmatch" in person.getvalue()


def test_without_rows_there_is_a_header():
    assert table_text(("kernel", "SM"), []).splitlines()[0] == "kernel  SM"


def test_a_diagnostic_is_whole_and_links_to_its_file(person):
    person.write(coloured(f"scons: *** [build/a.ll] {DIAGNOSTIC}\n", person))
    assert seen(person) == f"scons: *** [build/a.ll] {DIAGNOSTIC}\n"
    assert re.search(r"\x1b\]8;[^;]*;file:///\S*/kernels/k.py\x1b\\\x1b\[1mkernels/k.py:17:40\x1b", person.getvalue())
    assert "\x1b[1;31merror[export]" in person.getvalue()


def test_in_a_pipe_it_is_plain():
    assert coloured(DIAGNOSTIC, io.StringIO()) == DIAGNOSTIC
    assert coloured("no diagnostic\n", Screen()) == "no diagnostic\n"


def test_the_first_place_that_is_named():
    assert first_location(f"internal error[x]: none\n{DIAGNOSTIC}") == "kernels/k.py:17"
    assert first_location("k.ll: error[not-text]: the file is not text") is None


def test_the_running_line_fits_and_never_goes_back(person):
    line = RunningLine(person)
    for done, total in ((5, 10), (5, 40), (40, 40)):
        line.update(done, total, "ptx sm_90 a_kernel_with_a_long_name | " * 8)
    line.clear()
    shown = seen(person).replace("\r", "\n")
    assert [int(share) for share in re.findall(r"(\d+)%", shown)] == [50, 50, 100, 100]
    assert "[ 5/10]" in shown and "…" in shown and max(map(len, shown.splitlines())) <= 60
    assert person.getvalue().endswith("\x1b[2K")


def test_a_message_and_the_end_of_its_line_are_written_at_once(monkeypatch):
    written = []
    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=written.append))
    print_stderr("warning[cache-failed]: it is away")
    assert written == ["warning[cache-failed]: it is away\n"]
