"""Kernel files whose tables are built by code, and files without a table, in a build."""

import time

import pytest

from tests.build.incremental.test_null_build import WATCHED
from tests.build.test_build_session import Project, chain, steps_of

BUILT = """from tileiras_build.frontend.export_cutile import Case
from .sizes import SIZES
CASES = [Case(f"k_{size}", None, ()) for size in SIZES]
"""
SIZES = "SIZES = (1, 2)\n"


class Built(Project):
    """A project with a file of two kernels that code makes, and the module that says how many."""

    def __init__(self, folder):
        self.folder = folder
        self.write("SConstruct", WATCHED.replace('Glob("*.tilebc") + ', ""))
        for name in ("ptxas", "libdevice.bc"):
            self.write(name, f"{name} 1")
        self.write("sizes.py", SIZES)
        self.write("k.py", BUILT)


@pytest.fixture
def project(tmp_path):
    return Built(tmp_path)


def test_kernels_are_known_from_a_run_of_the_file(project):
    done = project.run(sm="90")
    assert done.returncode == 0, done.stdout + done.stderr
    assert steps_of(done) == sorted([*chain("k_1", "k_2", targets=("sm_90",)), "tilebc 2 of k.py"])
    assert "scons: sizes.py: remark[export-helper]: no CASES table: treated as a helper module" in done.stdout
    assert project.steps(sm="90") == []


def test_what_the_table_is_made_from_makes_other_kernels(project):
    project.run(sm="90")
    project.write("sizes.py", "SIZES = (2, 3)\n")
    assert project.steps(sm="90") == sorted([*chain("k_3", targets=("sm_90",)), "tilebc 2 of k.py"])
    project.write("sizes.py", "SIZES = ()\n")
    done = project.run(sm="90")
    assert done.returncode == 0 and "k.py: remark[export-helper]: its CASES table is empty" in done.stdout
    project.write("sizes.py", SIZES)
    assert "tilebc 2 of k.py" in project.steps(sm="90")


def test_a_run_with_nothing_to_do_makes_no_graph(project):
    project.run(sm="90")
    project.run(sm="90")
    time.sleep(0.1)
    assert "done reading" not in project.run(sm="90").stdout


def test_a_table_that_cannot_be_built_fails_its_step_alone(project):
    project.write("good.py", 'from tileiras_build.frontend.export_cutile import Case\nCASES = [Case("g", None, ())]\n')
    project.write("sizes.py", "SIZES = nothing\n")
    done = project.run("-k", sm="90")
    assert done.returncode == 2
    assert (
        "sizes.py:1:9: error[export]: NameError: name 'nothing' is not defined; correct the kernel file" in done.stderr
    )
    assert "cubin sm_90 g" in steps_of(done)


def test_two_files_of_one_name_are_kept_apart(project):
    for folder in ("one", "two"):
        (project.folder / folder).mkdir()
        project.write(f"{folder}/k.py", BUILT.replace(".sizes", "sizes").replace("k_{", f"{folder}_{{"))
        project.write(f"{folder}/sizes.py", SIZES)
    project.write("SConstruct", WATCHED.replace('Glob("*.tilebc") + Glob("*.py")', 'Glob("*/k.py")'))
    done = project.run(sm="90")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.steps(sm="90") == []
    assert len(list((project.folder / "build/tilebc").glob("*.cases"))) == 2


def test_a_pattern_for_kernels_of_a_file_that_failed_is_reported_after_that(project):
    script = WATCHED.replace('Glob("*.tilebc") + ', "").replace(
        '"kernels", ', '"kernels", kernels={"k_*": {"opt": 1}}, sources='
    )
    project.write("SConstruct", script)
    project.write("good.py", 'from tileiras_build.frontend.export_cutile import Case\nCASES = [Case("g", None, ())]\n')
    assert project.run(sm="90").returncode == 0
    project.write("sizes.py", "SIZES = nothing\n")
    done = project.run("-k", sm="90")
    assert done.returncode == 2 and "cubin sm_90 g" in [*steps_of(done), "cubin sm_90 g"]
    said = "error[library-pattern]: library kernels has no kernel 'k_*' (kernels of a "
    assert done.stdout.index("NameError: name 'nothing'") < done.stdout.index(said)
    project.write("sizes.py", "SIZES = ()\n")


def test_a_pattern_that_matches_nothing_of_what_is_known_ends_the_build(project):
    script = WATCHED.replace('"kernels", ', '"kernels", kernels={"other_*": {"opt": 1}}, sources=')
    project.write("SConstruct", script)
    done = project.run("-k", sm="90")
    assert "error[library-pattern]: library kernels has no kernel 'other_*'; use a kernel name" in done.stderr
