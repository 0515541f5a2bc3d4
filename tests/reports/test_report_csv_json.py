"""``tileiras-build report`` for programs: JSON, CSV, and the changes since a saved JSON."""

import csv
import json
from dataclasses import fields, replace

import pytest

from tests.reports.sample_report import NAMES, write_build
from tests.reports.test_html_report import data_of
from tileiras_build.cli.dispatch import main
from tileiras_build.core.errors import InvalidInput
from tileiras_build.reports.collect_rows import KernelRow, read_rows
from tileiras_build.reports.report_csv_json import csv_text, json_text, read_baseline

GPUS = ("sm_80", "sm_90")


@pytest.fixture
def build(tmp_path):
    write_build(tmp_path / "build", names=NAMES[:3], gpus=GPUS)
    return tmp_path / "build"


@pytest.fixture
def baseline(build, tmp_path):
    """What the build's report was: one kernel had fewer registers on sm_80, one was not there, another one still was."""
    first, _absent, *rest = read_rows(build)
    gone = replace(first, kernel="gone")
    path = tmp_path / "main.json"
    path.write_text(json_text([replace(first, registers=7), gone, *rest]))
    return path


def run(capsys, *words: object) -> str:
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_json_is_read_again_as_it_was(build, tmp_path, capsys):
    path = tmp_path / "rows.json"
    path.write_text(run(capsys, "report", build, "--json"))
    assert read_baseline(path) == read_rows(build)


def test_csv_has_the_columns_of_rows(build, capsys):
    header, *lines = csv.reader(run(capsys, "report", build, "--csv").splitlines())
    assert header == [field.name for field in fields(KernelRow)] and len(lines) == 6
    row = read_rows(build)[0]
    assert dict(zip(header, lines[0])) == {
        name: "" if (value := getattr(row, name)) is None else str(value) for name in header
    }


def test_names_with_commas_stay_one_cell(build):
    row = replace(read_rows(build)[0], kernel='scale<float, "256">')
    assert list(csv.reader(csv_text([row]).splitlines()))[1][0] == row.kernel


def test_a_folder_without_gpu_folders_is_read_whole(build, capsys):
    (build / "sm_80").rename(build / "here")
    (build / "sm_90").rename(build / "there")
    rows = json.loads(run(capsys, "report", build, "--json"))["rows"]
    assert {row["target"] for row in rows} == set(GPUS) and len(rows) == 6


def test_changes_are_a_table(build, baseline, capsys):
    first, second, *_ = read_rows(build)
    said = run(capsys, "report", build, "--against", baseline)
    lines = [line.split() for line in said.splitlines()]
    assert lines[2][:5] == [first.kernel, "sm_80", "7", "->", str(first.registers)]
    assert lines[3][:3] == [second.kernel, second.target, str(second.registers)]
    assert lines[4][:5] == ["gone", "sm_80", str(first.registers), "->", "removed"]
    assert said.splitlines()[-1] == "1 changed, 1 new, 1 removed, 4 unchanged"


def test_an_unchanged_build_is_one_line(build, tmp_path, capsys):
    (tmp_path / "same.json").write_text(json_text(read_rows(build)))
    said = run(capsys, "report", build, "--against", tmp_path / "same.json")
    assert said == "0 changed, 0 new, 0 removed, 6 unchanged\n"


def test_changes_are_json(build, baseline, capsys):
    first, second, *_ = read_rows(build)
    changed, new, gone = json.loads(run(capsys, "report", build, "--against", baseline, "--json"))
    assert (changed["kernel"], changed["target"]) == (first.kernel, "sm_80")
    assert (changed["before"]["registers"], changed["now"]["registers"]) == (7, first.registers)
    assert new["kernel"] == second.kernel and new["before"] is None and new["now"]["registers"] == second.registers
    assert gone["kernel"] == "gone" and gone["now"] is None


def test_the_page_is_compared_with_the_baseline(build, baseline, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(capsys, "report", build, "--html", page, "--against", baseline) == f"{page}\n"
    data = data_of(page.read_text())
    assert (
        data["since"] == "main.json" and data["gone"] == ["gone sm_80"] and data["rows"][0]["before"]["registers"] == 7
    )


FOREIGN = {
    "cut": '{"version": 1, "rows": [{"kern', "a list": "[]", "a manifest": '{"version": 2, "target": "sm_90", "kernels": {}}',
    "another version": '{"version": 99, "rows": []}', "another type": '{"version": 1, "rows": [{"kernel": 3}]}',
    "deep": '{"x": ' + "[" * 100_000, "bytes": b"\xff\xfe\x00", "nothing": "",
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
def test_another_file_is_refused(build, tmp_path, capsys, what):
    path, content = tmp_path / "main.json", FOREIGN[what]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["report", str(build), "--against", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"{path}: error[report-baseline]: not a report JSON file: ") and "--json" in said


def test_a_refused_baseline_leaves_no_page(build, tmp_path):
    (tmp_path / "main.json").write_text("{}")
    assert (
        main(["report", str(build), "--html", str(tmp_path / "page.html"), "--against", str(tmp_path / "main.json")])
        == 1
    )
    assert not (tmp_path / "page.html").exists()


def test_changes_are_not_csv(build, baseline, capsys):
    assert main(["report", str(build), "--csv", "--against", str(baseline)]) == 1
    assert "error[report-against]: --csv cannot be combined with --against" in capsys.readouterr().err


def test_a_damaged_manifest_is_named(build):
    path = build / "sm_80" / f"{NAMES[0]}.json"
    path.write_text('{"version": 2, "kernels": {"k": 3}}')
    with pytest.raises(InvalidInput, match="not a launch manifest") as caught:
        read_rows(build)
    assert str(path) in str(caught.value)
