"""``tileiras-build explain``: one row of the index of errors, or all ids."""

import io

import pytest

from tileiras_build.cli.dispatch import main
from tileiras_build.core.error_index.explanations import explanations
from tileiras_build.core.terminal import explain_hint


def said(capsys, *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "written", ["shared-memory", "error[shared-memory]", "k.py:1:2: error[shared-memory]: the kernel"]
)
def test_an_id_is_explained(capsys, written):
    text = said(capsys, written)
    assert text.startswith("shared-memory (valid input that ") and "\n\nFix: Use smaller tiles" in text
    assert "`" not in text and "\n    Example:\n    error[shared-memory]: " in text


def test_all_ids_are_listed(capsys):
    text = said(capsys)
    assert all(f"\n  {id} " in text for id in explanations()) and text.startswith("Kernel files:\n")


@pytest.mark.parametrize(
    ("written", "remedy"),
    [("sharedmemory", "did you mean shared-memory?"), ("%", "`tileiras-build explain` lists all")],
)
def test_an_unknown_id(capsys, written, remedy):
    assert main(["explain", written]) == 1
    assert capsys.readouterr().err == f"error[explain-id]: unknown id {written!r}; {remedy}\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_command(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    text = "k.ll:1:1: error[llvm]: bad\nk.ll:2:1: error[ptxas]: bad"
    assert explain_hint(text, io.StringIO()) == ""
    assert explain_hint("no id", Terminal()) == ""
    assert explain_hint(text, Terminal()) == "see `tileiras-build explain llvm`\n"
