"""States of what was looked for: names in folders, and programs on PATH."""

import os

import pytest

from tileiras_build.core.tracing.dependency_record import Dependency, describe
from tileiras_build.core.tracing.dependency_state import Probe
from tileiras_build.core.tracing.portable_paths import PortablePaths


def look(tmp_path, kind: str, name: str) -> str:
    return Probe(PortablePaths(str(tmp_path))).state(kind, name)


def test_among_says_which_of_some_names_are_there(tmp_path):
    (tmp_path / "inc").mkdir()
    assert look(tmp_path, "among", "#/inc//a.h/b.h/sub") == ""
    for name in ("b.h", "other.h"):
        (tmp_path / "inc" / name).write_text("")
    (tmp_path / "inc/sub").mkdir()
    assert look(tmp_path, "among", "#/inc//a.h/b.h/sub") == "b.h/sub"
    assert look(tmp_path, "among", "#/nowhere//a.h") == ""
    assert describe(Dependency("among", "#/inc//a.h/b.h", "")) == "files searched for in inc changed"
    assert describe(Dependency("among", "#///a.h/b.h", "")) == "files searched for in . changed"


@pytest.fixture
def programs(tmp_path, monkeypatch):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}{os.pathsep}{tmp_path / 'two'}")
    return tmp_path


def test_a_program_is_the_first_of_its_name_on_the_path(programs):
    assert look(programs, "program", "gcc") == ""
    for folder in ("two", "one"):
        path = programs / folder / "gcc"
        path.write_text("")
        path.chmod(0o755)
        assert look(programs, "program", "gcc") == f"#/{folder}/gcc"
    assert describe(Dependency("program", "gcc", "")) == "program gcc now resolves to another path"
