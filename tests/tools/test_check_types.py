"""tools/check_types.py: which folders have more errors than they may, and how the counts of the table go down."""

import subprocess
import tomllib

import pytest

from tools import check_types

LINES = (
    "pkg/a/one.py:3: error: Name \"x\" is not defined  [name-defined]",
    "pkg/a/two.py:4:7: error: Incompatible return value type (got \"error: 1\")  [return-value]",
    "pkg/a/two.py:9: note: Possible overload variants:",
    "pkg/b/three.py:1: error: Need type annotation  [var-annotated]",
)


def test_errors_count_for_the_folder_of_their_file_and_notes_do_not():
    found = check_types.by_folder(LINES)
    assert {folder: len(errors) for folder, errors in found.items()} == {"pkg/a": 2, "pkg/b": 1}


def test_more_errors_fail_and_are_shown():
    lines, failed = check_types.compare(check_types.by_folder(LINES), {"pkg/a": 1, "pkg/b": 1})
    assert failed
    assert lines[0] == LINES[0] and "pkg/a: 2 errors, 1 allowed" in lines
    assert not any("pkg/b" in line for line in lines)


def test_a_folder_without_a_row_may_have_none():
    lines, failed = check_types.compare(check_types.by_folder(LINES), {"pkg/a": 2})
    assert failed and "pkg/b: 1 errors, 0 allowed" in lines


def test_fewer_errors_pass_and_ask_for_lower_counts():
    lines, failed = check_types.compare(check_types.by_folder(LINES), {"pkg/a": 5, "pkg/b": 1, "pkg/c": 1})
    assert not failed
    assert lines[:2] == ["pkg/a: 5 allowed, 2 errors", "pkg/c: 1 allowed, 0 errors"] and "--lower" in lines[2]


def test_counts_are_lowered_and_never_raised():
    rows = check_types.lowered(check_types.by_folder(LINES), {"pkg/a": 5, "pkg/c": 1})
    assert rows == {"pkg/a": 2}
    assert tomllib.loads(check_types.table_of(rows)) == rows


def test_clean_folders_have_no_row():
    rows = tomllib.loads(check_types.TABLE.read_text())
    clean = ("ir/layouts", "build", "workers", "launch")
    assert not [row for row in rows if row.startswith(tuple(f"tileiras_build/{name}" for name in clean))]
    assert all((check_types.ROOT / row).is_dir() for row in rows)


@pytest.mark.parametrize(
    ("code", "stdout", "stderr"), [(1, "", "No module named mypy"), (2, LINES[0], "internal error"), (0, LINES[0], "")]
)
def test_a_run_that_does_not_finish_fails(monkeypatch, capsys, code, stdout, stderr):
    done = subprocess.CompletedProcess([], code, stdout, stderr)
    monkeypatch.setattr(check_types.subprocess, "run", lambda *_, **__: done)
    assert check_types.main([]) == 1 and stderr in capsys.readouterr().err
