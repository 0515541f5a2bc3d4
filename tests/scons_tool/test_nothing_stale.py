"""Whatever a build depends on changes: then an incremental build, a clean one, and a clean one with the cache agree.

The rows of ``ways_to_change.py`` are the kernels of one project, so that every change is seen beside all others; what
is not a kernel's own is changed in a project of its own below.
"""

import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.scons_tool.test_build import SCONSTRUCT, Project, chain, steps_of
from tests.scons_tool.test_caching import artifacts
from tests.scons_tool.ways_to_change import WAYS, Way, in_place, renamed

PROGRAMS = SCONSTRUCT.replace("fake_stages.TABLE", "fake_stages.PROGRAM_TABLE").replace(
    'sorted(Glob("*.tilebc") + Glob("*.py"), key=str)', 'sorted(Glob("*/k.py"), key=str)'
)
CASE = "from tileiras_build.bytecode.export import Case\nCASES = [Case({name!r}, None, ())]\n"
ROW = {name: f"w{number:02}" for number, name in enumerate([*WAYS, "nothing"])}


class Programs(Project):
    """A project with a folder and a kernel for each way, and one kernel that nothing changes."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.write("SConstruct", PROGRAMS)
        self.write("ptxas", "ptxas 1")
        self.write("libdevice.bc", "libdevice 1")
        self.environment: dict[str, str] = {}
        for name, way in (WAYS | {"nothing": Way("VALUE = 1")}).items():
            self._add(ROW[name], way)

    def _add(self, row: str, way: Way) -> None:
        here = self.folder / row
        here.mkdir()
        program = CASE.format(name=row) + way.program + "\n"
        for path, text in way.files.items():
            (here / path).parent.mkdir(parents=True, exist_ok=True)
            (here / path).write_text(CASE.format(name=row) + text if path.endswith("k.py") else text)
        way.before(here)
        if way.kernel.startswith("link:"):
            (here / "k.py").symlink_to(way.kernel.removeprefix("link:"))
        else:
            (here / "k.py").write_text(program)
        self.set(here, way.environment)

    def set(self, here: Path, variables: dict[str, str]) -> None:
        for name, value in variables.items():
            value = value.replace("{here}", str(here))
            before = self.environment.get(name)
            self.environment[name] = f"{before}:{value}" if name == "PYTHONPATH" and before else value

    def build(self, *arguments: str):
        path = os.pathsep.join(filter(None, (self.environment.get("PYTHONPATH"), str(Path(__file__).parents[2]))))
        done = self.run(*arguments, sm="90", **self.environment | {"PYTHONPATH": path})
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def change(self) -> None:
        self.environment.pop("HOME")
        for name, way in WAYS.items():
            way.change(self.folder / ROW[name])
            self.set(self.folder / ROW[name], way.later)

    def clean(self, *arguments: str):
        shutil.rmtree(self.folder / "build")
        (self.folder / ".sconsign.dblite").unlink()
        return self.build(*arguments)


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """The artifacts before the change, and those of the three builds after it."""
    folder = tmp_path_factory.mktemp("programs")
    project = Programs(folder)
    cache = f"cache={tmp_path_factory.mktemp('cache')}"
    project.build(cache)
    made = {"before": artifacts(project)}
    made["unchanged"] = steps_of(project.build(cache))
    project.change()
    made["steps"] = steps_of(project.build(cache, "explain=1"))
    made["incremental"] = artifacts(project)
    project.clean(cache)
    made["cached"] = artifacts(project)
    project.clean()
    made["clean"] = artifacts(project)
    made["again"] = steps_of(project.build())
    return made


def of(made: dict[str, str], name: str) -> dict[str, str]:
    return {path: digest for path, digest in made.items() if Path(path).stem == ROW[name] and not path.endswith(".reads")}


@pytest.mark.parametrize("name", WAYS)
def test_three_builds_agree_after(builds, name):
    assert of(builds["incremental"], name) == of(builds["clean"], name) == of(builds["cached"], name)
    assert of(builds["incremental"], name) != of(builds["before"], name), "the change changes nothing"


def test_what_nothing_changes_is_not_built(builds):
    assert not [step for step in builds["steps"] if ROW["nothing"] in step.split(":")[0]]
    # Only what runs a program is exported again and again, and ends there.
    assert builds["unchanged"] == builds["again"] == ["tilebc 1 of k.py"]
