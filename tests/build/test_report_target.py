"""``scons report`` and ``tileiras-build report --html``: the page of a real build over tiny stages."""

from types import SimpleNamespace

import pytest

from tests.build.test_build_session import SCONSTRUCT, Project, chain, cuts, steps_of
from tests.reports.test_html_report import data_of
from tests.tuning.test_case_launches import FILE
from tileiras_build.build.report_target import ReportAction, ReportLibrary
from tileiras_build.build.step_timeline import BUILD
from tileiras_build.cli.dispatch import main
from tileiras_build.reports.build_history import read_history
from tileiras_build.workers.executor.in_process_executor import InProcessExecutor


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def page(project):
    return data_of((project.folder / "build/report/index.html").read_text())


def test_report_builds_and_shows_this_build(project):
    done = project.run("report")
    assert done.returncode == 0, done.stderr
    assert steps_of(done) == sorted([*chain("a", "b"), *cuts()])
    shown = page(project)
    assert [(row["kernel"], row["target"]) for row in shown["rows"]] == [(kernel, "sm_90") for kernel in "ab"]
    assert len(shown["build"]["spans"]) == len([*chain("a", "b"), *cuts()]) and not shown["compared"]
    assert (project.folder / "build/report/trace.json").exists()


def test_next_report_compares_and_keeps_the_build_s_timeline(project):
    project.run("report", sm="90")
    assert steps_of(project.run("report", sm="90")) == []
    steps = [*chain("a", "b", targets=["sm_90"]), *cuts("sm_90")]
    assert not page(project)["compared"] and len(page(project)["build"]["spans"]) == len(steps)
    project.run("report", sm="90,100")
    shown = page(project)
    assert shown["compared"]
    assert {row["target"] for row in shown["rows"] if row["before"] is None} == {"sm_100"}


def test_failing_build_leaves_the_last_report(project):
    project.run("report", sm="90")
    before = (project.folder / "build/report/index.html").read_bytes()
    project.write("a.tilebc", "kernel a\nll: fail\n")
    assert project.run("report", sm="90").returncode != 0
    assert (project.folder / "build/report/index.html").read_bytes() == before


def test_with_k_the_report_is_of_the_kernels_that_are_there(project):
    project.run("report")
    project.write("a.tilebc", "kernel a\nll: fail\n")
    done = project.run("-k", "report")
    assert done.returncode != 0
    assert done.stdout.rstrip().endswith("build/report/index.html is missing a (sm_90)")
    assert {row["kernel"] for row in page(project)["rows"]} == {"b"}
    project.write("a.tilebc", "kernel a\n")
    assert project.run("report").returncode == 0
    assert {row["kernel"] for row in page(project)["rows"]} == {"a", "b"}


def test_command_writes_the_page_of_a_build_folder(project, capsys):
    project.run(sm="90")
    made = project.folder / "page.html"
    assert main(["report", str(project.folder / "build"), "--html", str(made)]) == 0
    assert capsys.readouterr().out == f"{made}\n" and len(data_of(made.read_text())["rows"]) == 2
    assert (project.folder / "trace.json").exists()


OTHER = """
env.Clone(build_dir="other").KernelLibrary("rest", ["more/c.tilebc"])
SConscript("part/SConscript", variant_dir="other/part", duplicate=0, exports={"env": env})
"""


def test_one_page_has_the_libraries_of_all_folders(project):
    for name in ("more", "part"):
        (project.folder / name).mkdir()
    project.write("more/c.tilebc", "kernel c\n")
    project.write("part/d.tilebc", "kernel d\n")
    project.write("part/SConscript", 'Import("env")\nenv.KernelLibrary("part", ["d.tilebc"])\n')
    project.write("SConstruct", SCONSTRUCT + OTHER)
    done = project.run("report", "pages=yes", "report_label=v1", sm="90")
    assert done.returncode == 0, done.stderr
    rows = {row["kernel"]: row["library"] for row in page(project)["rows"]}
    assert rows == {"a": "kernels", "b": "kernels", "c": "rest", "d": "part"}
    report = project.folder / "build/report"
    assert {path.stem for path in (report / "index_kernels").iterdir()} == set("abcd")
    assert [path.relative_to(project.folder) for path in project.folder.rglob("index.html")] == [
        report.relative_to(project.folder) / "index.html"
    ]
    assert [build.name for build in read_history(report / "history.json").builds] == ["v1"]
    # From another folder it is the same project.
    made = project.folder / "page.html"
    assert main(["report", str(project.folder / "build"), "--html", str(made)]) == 0
    assert {row["kernel"] for row in data_of(made.read_text())["rows"]} == set("abcd")


def artifact(name: str, folder: str, *sources):
    return SimpleNamespace(
        name=name, path=name, dir=SimpleNamespace(name=folder), sources=sources, has_builder=lambda: bool(sources)
    )


def test_launches_are_those_of_the_python_files(tmp_path):
    (tmp_path / "scale.py").write_text(FILE)
    (tmp_path / "wrong.py").write_text("CASES = [undefined]\n")
    files = [artifact(str(tmp_path / name), "kernels") for name in ("scale.py", "wrong.py")]
    exported = [artifact(f"{number}.tilebc", "tilebc", file) for number, file in enumerate(files)]
    given = artifact("given.tilebc", "kernels")
    action = ReportAction("build")
    last = [artifact("k.cubin", "sm_100f", one) for one in (*exported, given)]
    action.libraries.append(ReportLibrary("kernels", "build", last))
    env = {BUILD: SimpleNamespace(executor=lambda env: InProcessExecutor())}
    assert set(action._launches(env, jobs=1)) == {("sized", "sm_100"), ("tuned", "sm_100")}
