"""A run where only files of some kernels have changed makes their nodes alone, and no attempt to fool it leaves a stale file."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.build.incremental.test_null_build import WATCHED, change, is_short
from tests.build.test_artifact_node import replace_contents
from tests.build.test_build_session import CUT, Project, chain, cuts, steps_of

ON_90 = {"targets": ["sm_90"]}
LARGE = "from tileiras_build.build import progress, scons_entry\nprogress.TABLE_LIMIT = 1\n"
SAYS = 'print("looks at a part:", scons_entry.current_session.subset is not None)\n'
EXPORT = "from shapes_{0} import SIZE as VALUE\nCASES = [Case('{0}', None, ()), Case('{0}_wide', None, ())]\n"


def script(more: str = "") -> str:
    head, _, rest = WATCHED.partition("DefaultEnvironment")
    return head + LARGE + "DefaultEnvironment" + rest + more + SAYS


def looks_at_a_part(done: subprocess.CompletedProcess) -> bool:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "looks at a part: " in done.stdout
    return "looks at a part: True" in done.stdout


def whole(folder: Path, more: str = "") -> Project:
    folder.mkdir(exist_ok=True)
    project = Project(folder)
    project.write("SConstruct", script(more))
    assert not looks_at_a_part(project.run(sm="90"))
    return project


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """A project of several tests: what each of them changes is built, and the next run is short."""
    project = whole(tmp_path_factory.mktemp("lasting"))
    assert is_short(project.run(sm="90"))
    return project


def artifacts(folder: Path) -> dict[str, bytes]:
    """What the steps have made."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("build/sm_*/*")}


def rebuilt(project: Project, folder: Path) -> dict[str, bytes]:
    """What a build of the project makes that has made nothing before."""
    assert project.folder.parent == folder.parent
    shutil.copytree(project.folder, folder, ignore=shutil.ignore_patterns("build", ".scons*", "dump"))
    clean = Project.__new__(Project)
    clean.folder = folder
    assert not looks_at_a_part(clean.run(sm="90"))
    return artifacts(folder)


# What is done to the project, the steps that the next run makes, and whether it looks at some kernels alone.
CHANGES = {
    "a source of the same size and time": (
        lambda folder: replace_contents(folder / "b.tilebc", "kernel b", "kernel y"),
        chain("b", **ON_90),
        True,
    ),
    "all sources": (
        lambda folder: [(folder / f"{name}.tilebc").write_text(f"kernel {name}\nnew\n") for name in "ab"],
        chain("a", "b", **ON_90),
        True,
    ),
    "a deleted artifact": (
        lambda folder: (folder / "build/sm_90/b.json").unlink(),
        chain("b", stages=["cubin"], **ON_90),
        True,
    ),
    "an artifact of the same size and time": (
        lambda folder: replace_contents(folder / "build/sm_90/a.ptx", "a", "z"),
        chain("a", stages=["ptx"], **ON_90),
        True,
    ),
    "a source and a tool": (
        lambda folder: (
            (folder / "a.tilebc").write_text("kernel a\nand\n"),
            replace_contents(folder / "ptxas", "ptxas", "PTXAS"),
        ),
        sorted(chain("a", **ON_90) + chain("b", stages=["cubin"], **ON_90)),
        False,
    ),
    "a build script": (
        lambda folder: change(folder / "SConstruct", '"TILEIRAS_TIMEOUT"] = 60', '"TILEIRAS_TIMEOUT"] = 70'),
        [],
        False,
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_built_and_the_next_run_is_short(lasting, what):
    mutate, steps, part = CHANGES[what]
    mutate(lasting.folder)
    done = lasting.run(sm="90")
    assert (steps_of(done), looks_at_a_part(done)) == (steps, part)
    assert is_short(lasting.run(sm="90"))


def test_a_new_kernel_is_one_of_them(tmp_path):
    project = whole(tmp_path)
    project.write("c.tilebc", "kernel c\n")
    done = project.run(sm="90")
    assert (steps_of(done), looks_at_a_part(done)) == (chain("c", **ON_90), False)
    project.write("c.tilebc", "kernel c\nedited\n")
    done = project.run(sm="90")
    assert (steps_of(done), looks_at_a_part(done)) == (chain("c", **ON_90), True)
    (tmp_path / "c.tilebc").unlink()
    assert not looks_at_a_part(project.run(sm="90"))


def test_many_partial_runs_leave_what_one_whole_run_makes(tmp_path):
    project = whole(tmp_path / "edited")
    for number in range(3):
        for name in "ab":
            project.write(f"{name}.tilebc", f"kernel {name}\nedit {number}\n{'ptx: libdevice' * (number % 2)}\n")
            assert looks_at_a_part(project.run(sm="90"))
    made = artifacts(project.folder)
    made.pop(next(name for name in made if name.endswith(CUT)))  # nobody asks for it any more
    assert made == rebuilt(project, tmp_path / "clean") and len(made) > 5


def test_what_asks_for_libdevice_anew_gets_it(tmp_path):
    project = whole(tmp_path)
    project.write("a.tilebc", "kernel a\nptx: libdevice\n")
    assert looks_at_a_part(project.run(sm="90"))
    replace_contents(project.folder / "libdevice.bc", "1", "2")
    done = project.run(sm="90")
    assert steps_of(done) == sorted([*cuts("sm_90"), *chain("a", "b", stages=["ptx"], **ON_90)])
    next(project.folder.glob(f"build/sm_90/*.{CUT}")).unlink()
    assert project.steps(sm="90") == cuts("sm_90")


def test_a_failure_stays_until_it_is_mended(tmp_path):
    project = whole(tmp_path)
    for _ in range(2):
        project.write("a.tilebc", "kernel a\nll: fail\n")
        done = project.run(sm="90")
        assert done.returncode != 0 and "looks at a part: True" in done.stdout
    project.write("b.tilebc", "kernel b\nedited\n")
    assert "ptx sm_90 b" in project.steps("-k", sm="90")
    project.write("a.tilebc", "kernel a\n")
    done = project.run(sm="90")
    assert looks_at_a_part(done) and "ll sm_90 a" in steps_of(done)
    assert is_short(project.run(sm="90"))


LOOKS = {
    "its sources": "print('cubins:', len(env.Alias('kernels')[0].sources))\n",
    "its children": "print('cubins:', len(env.Alias('kernels')[0].children()))\n",
    "another alias of its name": "env.Alias('kernels', env.File('ptxas'))\nprint('cubins: 2')\n",
}


@pytest.mark.parametrize("what", LOOKS)
def test_a_build_script_that_looks_at_a_library_sees_all_of_it(tmp_path, what):
    project = whole(tmp_path, LOOKS[what])
    project.write("a.tilebc", "kernel a\nedited\n")
    done = project.run(sm="90")
    assert not looks_at_a_part(done) and "cubins: 2" in done.stdout and steps_of(done) == chain("a", **ON_90)


SCRIPTS = {
    "it reads a source": "env['TILEIRAS_TIMEOUT'] = len(open('a.tilebc').read())\n",
    "it asks how large a source is": "import os\nenv['TILEIRAS_TIMEOUT'] = os.path.getsize('a.tilebc')\n",
    "it asks a node how large it is": "env['TILEIRAS_TIMEOUT'] = File('a.tilebc').stat().st_size\n",
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_what_a_build_script_reads_is_everybodys(tmp_path, what):
    project = whole(tmp_path, SCRIPTS[what])
    project.write("a.tilebc", "kernel a\nedited\n")
    assert not looks_at_a_part(project.run(sm="90"))


UNLIKE = {
    "another step makes something of a cubin": "env.Default(env.Command('copy', 'build/sm_90/a.cubin', Copy('$TARGET', '$SOURCE')))\n",
    "libraries of one name": "Default(env.KernelLibrary('kernels', ['more/d.tilebc']))\n",
}


@pytest.mark.parametrize("what", UNLIKE)
def test_other_graphs_are_right(tmp_path, what):
    (tmp_path / "more").mkdir()
    (tmp_path / "more/d.tilebc").write_text("kernel d\n")
    project = whole(tmp_path, UNLIKE[what])
    project.write("a.tilebc", "kernel a\nedited\n")
    done = project.run(sm="90")
    assert looks_at_a_part(done) == (what == "libraries of one name")
    assert steps_of(done)[: len(chain("a", **ON_90))] == chain("a", **ON_90)
    if (project.folder / "copy").exists():
        assert (project.folder / "copy").read_bytes() == (project.folder / "build/sm_90/a.cubin").read_bytes()
    assert is_short(project.run(sm="90"))


# -- Python files -------------------------------------------------------------------------------------------------------
def exported(folder: Path) -> Project:
    project = whole(folder)
    change(folder / "SConstruct", "fake_stages.TABLE", "fake_stages.PROGRAM_TABLE")
    for name in ("k", "l"):
        project.write(f"{name}.py", f"from tileiras_build.frontend.export_cutile import Case\n{EXPORT.format(name)}")
        project.write(f"shapes_{name}.py", "SIZE = 1\n")
    assert not looks_at_a_part(project.run(sm="90"))
    assert is_short(project.run(sm="90"))
    return project


@pytest.fixture(scope="module")
def python_files(tmp_path_factory):
    return exported(tmp_path_factory.mktemp("python"))


EXPORTS = {
    "a file": (lambda folder: (folder / "k.py").open("a").write("# edited\n"), "tilebc 2 of k.py", True),
    "what it imports": (
        lambda folder: (folder / "shapes_l.py").write_text("SIZE = 2\n"),
        "tilebc 2 of l.py",
        True,
    ),
    "a deleted record of reads": (
        lambda folder: (folder / "build/tilebc/k.reads").unlink(),
        "tilebc 2 of k.py",
        True,
    ),
    "other kernels in a file": (
        lambda folder: change(folder / "l.py", "l_wide", "l_narrow"),
        "tilebc 2 of l.py",
        False,
    ),
    "a module beside that comes first": (
        lambda folder: ((folder / "shapes_k").mkdir(), (folder / "shapes_k/__init__.py").write_text("SIZE = 3\n")),
        "tilebc 2 of k.py",
        False,
    ),
}


@pytest.mark.parametrize("what", EXPORTS)
def test_a_change_of_a_python_file(python_files, what):
    mutate, step, part = EXPORTS[what]
    mutate(python_files.folder)
    done = python_files.run(sm="90")
    assert looks_at_a_part(done) == part and step in steps_of(done)
    names = {line.split()[-1] for line in steps_of(done)}
    assert not names & ({"k", "k_wide"} if step.endswith("l.py") else {"l", "l_wide"})
    assert is_short(python_files.run(sm="90"))
