"""What a tool's file holds is believed by its stat: never where anything about the file is another."""

import os
import time
from types import SimpleNamespace

import pytest
import SCons.Script
from SCons.Node.FS import FS

from tests.build.input_edits import in_place, renamed, write
from tests.build.test_build_session import Project, steps_of
from tileiras_build.build.incremental.digest_cache import DigestCache

CHANGES = {
    "another text": write("tool", "tool 22"),
    "in place, with its size and times": in_place("tool", "tool 2"),
    "another file of its size and time": renamed("tool", "tool 2"),
    "its mode": lambda folder: (folder / "tool").chmod(0o700),
}


@pytest.fixture
def tool(tmp_path, monkeypatch):
    (tmp_path / "tool").write_text("tool 1")
    monkeypatch.chdir(tmp_path)
    # A run that begins when the file is old.
    monkeypatch.setattr(SCons.Script, "start_time", time.time() + 60)
    return tmp_path / "tool"


def looked_at(known: dict) -> tuple[str, dict]:
    """The digest that a run takes the tool to have, and the rows that it leaves."""
    contents = DigestCache(known)
    node = contents.file(SimpleNamespace(fs=FS()), os.path.abspath("tool"))
    return node.get_csig(), contents.rows()


def believed(rows: dict) -> dict:
    """The rows with a digest that no file has."""
    return {path: [algorithm, "believed", *state] for path, (algorithm, _, *state) in rows.items()}


def test_a_file_is_read_once(tool):
    digest, rows = looked_at({})
    assert list(rows) == [str(tool)] and digest in rows[str(tool)]
    assert looked_at(believed(rows)) == ("believed", believed(rows))


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_changed_file_is_read(tool, change):
    before, rows = looked_at({})
    change(tool.parent)
    digest, after = looked_at(believed(rows))
    assert digest != "believed" and after != believed(rows)
    assert (digest == before) == (tool.read_text() == "tool 1")


def test_a_digest_of_another_kind_is_none(tool):
    digest, rows = looked_at({})
    assert looked_at({path: ["sha0", *row[1:]] for path, row in believed(rows).items()}) == (digest, rows)


def test_a_file_that_has_just_changed_is_not_kept(tool, monkeypatch):
    monkeypatch.setattr(SCons.Script, "start_time", time.time())
    assert looked_at({})[1] == {}


def test_a_run_that_makes_steps_sees_another_tool(tmp_path):
    project = Project(tmp_path)
    time.sleep(1.1)
    assert project.run(sm="90").returncode == 0
    in_place("ptxas", "ptxas 2")(tmp_path)
    project.write("a.tilebc", "kernel a\nedited\n")
    made = [step for step in steps_of(project.run(sm="90")) if step.startswith("cubin")]
    assert len(made) == 2
    assert "cubin ptxas 2" in (tmp_path / "build/sm_90/b.cubin").read_text()
