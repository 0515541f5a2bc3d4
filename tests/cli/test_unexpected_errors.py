"""Unexpected exceptions of a command: one sentence with an id, and a traceback in a file."""

import io
import re
import sys
from pathlib import Path

import pytest

from tileiras_build.cli import cmd_targets, dispatch
from tileiras_build.core.errors import InternalError, InvalidInput, describe_exception, exception_text


class Speechless(Exception):
    """Breaks where it is asked what it says."""

    def __str__(self):
        raise RuntimeError("no")


@pytest.fixture
def failing(monkeypatch, tmp_path):
    """Lets ``targets`` raise an error; the last line that the command says, and its exit code."""
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path / "dump"))

    def run(error: Exception, capsys) -> tuple[str, int]:
        def command(options):
            raise error

        monkeypatch.setattr(cmd_targets, "run", command)
        code = dispatch.main(["targets"])
        (line,) = capsys.readouterr().err.splitlines()
        return line, code

    return run


def test_a_fault_of_ours_is_one_sentence_and_its_trace_a_file(failing, capsys):
    line, code = failing(KeyError("x\ny"), capsys)
    found = re.fullmatch(
        r"internal error\[command-failed\]: tileiras-build targets failed: KeyError: 'x\\ny'; "
        r"bug in tileiras_build; traceback in (.*error.txt); reproduce with: tileiras-build targets",
        line,
    )
    assert code == 3 and found
    trace = Path(found[1]).read_text()
    assert trace.startswith("tileiras-build targets\n") and "raise error" in trace and "KeyError" in trace


def test_a_dump_that_cannot_be_written_is_reported(failing, capsys, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path / "file" / "dump"))
    line, code = failing(KeyError("x"), capsys)
    assert code == 3 and "no dump written: cannot create the dump folder" in line


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(13, "Permission denied", "/a/b"),
            "error[system]: system error: /a/b: Permission denied",
        ),
        (MemoryError(), "error[system-memory]: out of memory"),
    ],
)
def test_what_the_system_refuses_is_no_fault_of_ours(failing, capsys, error, said):
    line, code = failing(error, capsys)
    assert code == 1 and line.startswith(said)


def test_an_exception_that_breaks_is_described(failing, capsys):
    line, code = failing(Speechless(), capsys)
    assert code == 3 and "Speechless: (no message)" in line


def test_what_exceptions_say_can_be_written():
    assert exception_text(ValueError("a\ud800")) == r"a\ud800"
    assert describe_exception(ValueError("a\nb")) == "ValueError: a b"
    for kind in (InvalidInput, InternalError):
        error = kind("x", "m\ud800", remedy="r\udfff")
        assert str(error).encode() and error.message == r"m\ud800" and error.remedy == r"r\udfff"


def test_output_that_an_encoding_lacks_is_escaped(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(cmd_targets, "run", lambda options: print("é\ud800"))
    assert dispatch.main(["targets"]) == 0
    assert stream.buffer.getvalue() == b"\\xe9\\ud800\n"
