"""A report on a project with several libraries: their kernels, and how kernels with the same name are distinguished."""

from pathlib import Path

import msgspec
import pytest

from tests.reports.sample_report import NAMES, write_build
from tests.reports.test_html_report import browser, column, data_of, names_shown  # noqa: F401  (a fixture)
from tileiras_build.core.errors import InvalidInput
from tileiras_build.reports.collect_rows import keys_of, read_built, read_rows
from tileiras_build.reports.html_report import write_report
from tileiras_build.reports.project_manifest import Library, write_project
from tileiras_build.reports.report_paths import cubins_of, project_path

ONE, TWO, BOTH = NAMES[:3]


def library(name: str, folder: Path, kernels: list[str]) -> Library:
    found = [path for path in cubins_of(folder) if path.stem in kernels]
    return Library(name, str(folder), {f"{path.parent.name}/{path.stem}": f"{path.stem}.tilebc" for path in found})


@pytest.fixture
def project(tmp_path):
    """Two libraries in one folder, and a third that has a kernel of the second's name in another."""
    first, second = tmp_path / "build", tmp_path / "other"
    write_build(first, names=[ONE, BOTH], gpus=("sm_90",))
    write_build(second, names=[BOTH, TWO], gpus=("sm_90",))
    rest = library("third", second, [BOTH, TWO])
    write_project(first, [library("first", first, [ONE]), library("second", first, [BOTH]), rest])
    return first


def test_rows_name_their_libraries(project):
    rows = read_rows(project)
    assert {(row.kernel, row.library) for row in rows} == {
        (ONE, "first"), (BOTH, "second"), (BOTH, "third"), (TWO, "third")
    }  # fmt: skip
    assert {key for key, _ in keys_of(rows)} == {ONE, TWO, f"{BOTH} [second]", f"{BOTH} [third]"}


def test_one_library_is_not_named(tmp_path):
    write_build(tmp_path, names=[ONE], gpus=("sm_90",))
    write_project(tmp_path, [library("only", tmp_path, [ONE])])
    assert [row.library for row in read_rows(tmp_path)] == [None]


def test_a_gpu_that_the_last_run_has_not_asked_for_is_of_the_same_library(tmp_path):
    write_build(tmp_path, names=[ONE], gpus=("sm_90",))
    write_project(tmp_path, [library("only", tmp_path, [ONE])])
    write_build(tmp_path, names=[ONE], gpus=("sm_100",))
    assert [(row.target, row.library) for row in read_rows(tmp_path)] == [("sm_90", None), ("sm_100", None)]


def test_bytecode_is_where_it_was_or_where_builds_leave_it(project, tmp_path):
    place = tmp_path / "sources"
    place.mkdir()
    document = msgspec.json.decode(project_path(project).read_bytes())
    document["libraries"][0]["bytecode"] = {f"sm_90/{ONE}": str(place / "one.tilebc")}
    project_path(project).write_bytes(msgspec.json.encode(document))
    find = lambda: next(one.member.bytecode for one in read_built(project) if one.row.kernel == ONE)
    assert find() == project / "tilebc" / f"{ONE}.tilebc"
    (project / f"sm_90/{ONE}.tilebc").touch()
    assert find() == project / f"sm_90/{ONE}.tilebc"
    (place / "one.tilebc").touch()
    assert find() == place / "one.tilebc"


@pytest.mark.parametrize("text", ["{", '{"version": 9, "libraries": []}', '{"version": 1}'])
def test_a_damaged_record_is_refused(project, text):
    project_path(project).write_text(text)
    with pytest.raises(InvalidInput, match="delete it"):
        read_rows(project)


def test_the_page_filters_by_library(browser, project):  # noqa: F811
    page = write_report(project)
    assert {row["library"] for row in data_of(page.read_text())["rows"]} == {"first", "second", "third"}
    opened = browser.new_page()
    opened.goto(page.as_uri())
    assert opened.locator(".tile").first.inner_text().startswith("4 kernels") and len(names_shown(opened)) == 4
    opened.click('[data-library="third"]')
    assert column(opened, 2) == ["first", "second"]
    opened.click('[data-library="third"]')
    opened.click("#view-matrix")
    assert sorted(names_shown(opened)) == sorted([f"{ONE} first", f"{TWO} third", f"{BOTH} second", f"{BOTH} third"])
    opened.goto(f"{page.as_uri()}#kernel={BOTH}")
    opened.reload()
    opened.locator("#kernel article").nth(1).wait_for()
    assert opened.locator("#kernel article").count() == 2
    opened.close()
