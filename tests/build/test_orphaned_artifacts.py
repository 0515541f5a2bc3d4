"""What kernels leave that do not exist any more: named by each build, removed by ``prune=1``, and nothing else is."""

import os
import shutil

import pytest

from tests.build.test_build_session import CHAIN, CUT, PYTHON, SCONSTRUCT, Project, copy_of_built

FILES = [*CHAIN, "json"]  # of a kernel for a target


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def built(tmp_path):
    project = copy_of_built(tmp_path)
    project.targets = "90,100"
    return project


def files(project: Project, folder: str = "build") -> set[str]:
    """Of kernels; ``shared`` are those that kernels ask for."""
    return {path for path in _all_files(project, folder) if not path.endswith(CUT)}


def shared(project: Project, folder: str = "build") -> set[str]:
    return _all_files(project, folder) - files(project, folder)


def _all_files(project: Project, folder: str) -> set[str]:
    root = project.folder / folder
    return {str(path.relative_to(root)) for path in root.glob("*/*") if path.parent.name != "report"}


def of(kernel: str, *targets: str) -> set[str]:
    return {f"{target}/{kernel}.{suffix}" for target in targets for suffix in FILES}


def said(done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if "deleted kernel" in line]


NAMED = (
    "14 files of a deleted kernel: build/sm_100/b.cubin, build/sm_100/b.json, build/sm_100/b.ll, "
    "...; delete them with `scons prune=1`"
)


def test_files_of_a_removed_kernel_are_named_and_stay(built):
    (built.folder / "b.tilebc").unlink()
    assert said(built.run()) == [NAMED]
    assert of("b", "sm_90", "sm_100") <= files(built)


def test_they_are_removed_on_request_and_named_no_more(built):
    (built.folder / "b.tilebc").unlink()
    assert said(built.run("prune=1")) == ["removed 14 files of a deleted kernel"]
    assert files(built) == of("a", "sm_90", "sm_100") and shared(built) == set()
    built.write("a.tilebc", "kernel a\nedited\n")
    assert said(built.run()) == []


def test_they_are_removed_where_all_else_is_up_to_date(built):
    (built.folder / "b.tilebc").unlink()
    built.run("prune=1")
    assert "up to date" in built.run("prune=1").stdout
    # Another one comes and goes, and each file that prune=1 has seen is as it was.
    built.write("c.tilebc", "kernel c\n")
    built.run()
    (built.folder / "c.tilebc").unlink()
    done = built.run("prune=1")
    assert said(done) == ["removed 12 files of a deleted kernel"]
    assert "up to date" in done.stdout


def test_targets_that_are_not_asked_for_keep_their_files(built):
    done = built.run("prune=1", sm="90")
    assert said(done) == [] and files(built) == of("a", "sm_90", "sm_100") | of("b", "sm_90", "sm_100")


def test_removed_kernel_goes_for_all_targets(built):
    (built.folder / "b.tilebc").unlink()
    assert said(built.run(sm="90")) == [NAMED]
    assert said(built.run("prune=1", sm="80")) == ["removed 14 files of a deleted kernel"]
    assert files(built) == of("a", "sm_80", "sm_90", "sm_100")


def test_without_any_kernel_left(built):
    for name in ("a.tilebc", "b.tilebc"):
        (built.folder / name).unlink()
    assert said(built.run())[0].startswith("26 files of 2 deleted kernels: ")
    assert said(built.run("prune=1")) == ["removed 26 files of 2 deleted kernels"]
    assert files(built) | shared(built) == set() and not (built.folder / "build/sm_90").exists()


def test_what_was_cut_stays_while_a_kernel_asks_for_it(built):
    built.write("c.tilebc", "kernel c\nptx: libdevice\n")
    built.run()
    (built.folder / "b.tilebc").unlink()
    before = shared(built)
    assert said(built.run("prune=1")) == ["removed 12 files of a deleted kernel"]
    assert shared(built) == before and len(before) == 2


def test_what_no_kernel_asks_for_any_more_goes(built):
    built.write("b.tilebc", "kernel b\nptx: libdevice\nptx: linked\n")
    built.run()
    assert len(shared(built)) == 4
    built.write("c.tilebc", "kernel c\n")
    assert "2 files no longer used by any kernel: build/sm_100/" in built.run().stdout
    assert "removed 2 files no longer used by any kernel" in built.run("prune=1").stdout
    assert len(shared(built)) == 2
    assert built.steps() == []


def test_a_build_of_one_kernel_says_nothing_of_what_others_ask_for(built):
    built.write("a.tilebc", "kernel a\nedited\n")
    assert "asks for" not in built.run("build/sm_90/a.cubin").stdout
    assert len(shared(built)) == 2


def test_renamed_case_of_a_python_file(project):
    project.write("k.py", PYTHON.format(p="1", q="1"))
    project.run()
    names = {path.partition("/")[2].partition(".")[0] for path in files(project)} - {"a", "b"}
    project.write("k.py", PYTHON.format(p="1", q="1").replace('"p"', '"renamed"'))
    done = project.run("prune=1")
    assert names == {"p", "q"} and len(said(done)) == 1
    assert not [path for path in files(project) if "/p." in path]
    assert {"tilebc/q.tilebc", "tilebc/renamed.tilebc"} <= files(project)


def test_file_with_a_mistake_may_have_any_kernels(project):
    project.write("k.py", PYTHON.format(p="1", q="1"))
    project.run()
    before = files(project)
    project.write("k.py", "CASES = [\n")
    done = project.run("-k", "prune=1")
    assert done.returncode != 0 and "deleted kernel" not in done.stdout
    assert files(project) == before


def test_build_script_with_a_mistake_knows_no_kernels(built):
    (built.folder / "b.tilebc").unlink()
    built.write("SConstruct", SCONSTRUCT + "\nraise ValueError\n")
    assert built.run("prune=1").returncode != 0
    assert of("b", "sm_90") <= files(built)


@pytest.mark.parametrize("option", ["-n", "-q", "-h", "-c"])
def test_runs_that_build_nothing_remove_nothing_of_it(built, option):
    (built.folder / "b.tilebc").unlink()
    built.run("prune=1", option)
    assert of("b", "sm_90", "sm_100") <= files(built)


def _overwrite(path):
    path.write_text("mine")


def _link(path):
    path.unlink()
    path.symlink_to(path.parents[2] / "a.tilebc")


def _folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("change", [_overwrite, _link, _folder])
def test_what_somebody_put_in_its_place_is_theirs(built, change):
    (built.folder / "b.tilebc").unlink()
    change(built.folder / "build/sm_90/b.ptx")
    assert said(built.run("prune=1")) == ["removed 13 files of a deleted kernel"]
    assert files(built) == of("a", "sm_90", "sm_100") | {"sm_90/b.ptx"}
    assert (built.folder / "a.tilebc").exists()


def test_copied_and_touched_files_are_known_by_their_contents(built):
    (built.folder / "b.tilebc").unlink()
    shutil.copytree(built.folder / "build", built.folder / "copy")
    shutil.rmtree(built.folder / "build")
    (built.folder / "copy").rename(built.folder / "build")
    assert said(built.run("prune=1")) == ["removed 14 files of a deleted kernel"]


def test_files_that_the_build_did_not_make_are_not_its_business(built):
    mine = [built.folder / f"build/sm_90/{name}" for name in ("mine.cubin", "b.txt", "c.ptx")]
    for path in mine:
        path.touch()
    assert said(built.run("prune=1")) == []
    assert all(path.exists() for path in mine)


def test_files_of_other_steps_of_the_build_script_are_not_its_business(project):
    command = '\nDefault(env.Command("build/sm_90/other.ptx", "a.tilebc", "cp $SOURCE $TARGET"))\n'
    project.write("SConstruct", SCONSTRUCT + command)
    project.run()
    project.write("SConstruct", SCONSTRUCT)
    assert said(project.run("prune=1")) == []
    assert (project.folder / "build/sm_90/other.ptx").exists()


def test_libraries_share_a_folder_or_have_their_own(project):
    two = SCONSTRUCT + (
        'more = env.KernelLibrary("more", Glob("more/*.tilebc"))\n'
        'own = env.Clone(build_dir="own").KernelLibrary("own", ["b.tilebc"])\n'
        "Default(more, own)\n"
    )
    project.write("SConstruct", two)
    (project.folder / "more").mkdir()
    for kernel in ("c", "d"):
        project.write(f"more/{kernel}.tilebc", f"kernel {kernel}\n")
    assert said(project.run(sm="90")) == []
    (project.folder / "more/d.tilebc").unlink()
    project.write("SConstruct", two.replace('["b.tilebc"]', '["a.tilebc"]'))
    done = project.run("prune=1", "kernels", sm="90")
    assert said(done) == ["removed 13 files of 2 deleted kernels"]
    assert files(project) == of("a", "sm_90") | of("b", "sm_90") | of("c", "sm_90")
    assert not (project.folder / "own/sm_90").exists()


def test_lost_records_know_of_no_file(built):
    (built.folder / "b.tilebc").unlink()
    for path in built.folder.glob(".sconsign*"):
        path.unlink()
    assert said(built.run("prune=1")) == []
    assert of("b", "sm_90") <= files(built)


def test_file_that_cannot_be_removed_is_named(built, tmp_path):
    from tileiras_build.build.orphaned_artifacts import remove_orphans

    os.makedirs(tmp_path / "x/k.cubin")
    assert remove_orphans([str(tmp_path / "x/k.cubin")]) == f"cannot remove {tmp_path}/x/k.cubin: Is a directory"
    assert remove_orphans([]) == ""
