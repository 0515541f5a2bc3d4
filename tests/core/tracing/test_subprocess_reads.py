"""What programs read and look for in vain."""

import os
import subprocess
import sys

import pytest

from tileiras_build.core.tracing.subprocess_reads import SubprocessReads

PROGRAM = """
import os, subprocess, sys
open("a.txt").read()
open("made.txt", "w").write("1"); open("made.txt").read()
for name in ("none.txt", "deep/er/none.txt"):
    try: open(name)
    except OSError: pass
os.path.exists("asked.txt")
subprocess.run(["/bin/sh", "-c", "read x < b.txt; test -e child.txt"], check=False)
"""


@pytest.fixture
def reads(tmp_path):
    (tmp_path / "a.txt").write_text("1")
    (tmp_path / "b.txt").write_text("1")
    found = SubprocessReads()
    with found.tracing() as begin:
        subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, preexec_fn=begin, check=True)
    if not found.is_complete:
        pytest.skip("this system tells no system calls")
    return found


def test_files_of_it_and_of_what_it_runs_are_found(reads, tmp_path):
    read = {os.path.basename(path) for path in reads.files if os.path.dirname(path) == str(tmp_path)}
    assert read == {"a.txt", "b.txt"}
    assert "/bin/sh" in reads.programs


def test_what_it_looks_for_in_vain_is_found_by_folder(reads, tmp_path):
    absent = {folder: names for folder, names in reads.absent().items() if folder.startswith(str(tmp_path))}
    assert absent == {str(tmp_path): {"none.txt", "deep", "asked.txt", "child.txt"}}
