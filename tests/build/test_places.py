"""A kernel whose output contains the project's path is built there: not cached for another checkout, nor kept after a move."""

import shutil
from pathlib import Path

from tests.build.test_build_session import Project, steps_of
from tests.build.test_incremental_correctness import CASE, PROGRAMS

KERNELS = {
    "file": "VALUE = __file__",
    "length": "VALUE = len(__file__)",
    "folder": "import os; VALUE = os.getcwd()",
    "hidden": "VALUE = globals()['__fi' + 'le__']",
    "data": "import os; VALUE = open(os.path.dirname(__file__) + '/data.txt').read()",
    "plain": "VALUE = 1",
}


def checkout(folder: Path) -> Project:
    """A project in ``folder``."""
    folder.mkdir()
    project = Project.__new__(Project)
    project.folder = folder
    project.write("SConstruct", PROGRAMS)
    project.write("ptxas", "ptxas 1")
    project.write("libdevice.bc", "libdevice 1")
    for name, program in KERNELS.items():
        (folder / name).mkdir()
        project.write(f"{name}/k.py", CASE.format(name=name) + program + "\n")
        project.write(f"{name}/data.txt", "7")
    return project


def build(project: Project, *arguments: str) -> dict[str, str]:
    """The bytecode of each kernel, and the names of those whose file has run."""
    done = project.run("build/tilebc", *arguments, sm="90", TILEIRAS_DUMP="")
    assert done.returncode == 0, done.stdout + done.stderr
    steps_of(done)
    return {name: (project.folder / f"build/tilebc/{name}.tilebc").read_text() for name in KERNELS}


def test_a_checkout_elsewhere_and_a_moved_one_have_their_own_bytes(tmp_path):
    cache = f"cache={tmp_path / 'cache'}"
    first, second, third = (checkout(tmp_path / name) for name in ("a", "longer", "longest_of"))
    made = build(first, cache)
    for project in (second, third):
        cached = build(project, cache)
        shutil.rmtree(project.folder / "build")
        (project.folder / ".sconsign.dblite").unlink()
        assert cached == build(project)
        assert [name for name in KERNELS if cached[name] == made[name]] == ["data", "plain"]
    first.folder.rename(tmp_path / "moved")
    first.folder = tmp_path / "moved"
    assert build(first)["file"] == made["file"].replace(f"{tmp_path / 'a'}/", f"{tmp_path / 'moved'}/")
