"""The report's estimates: for kernels whose parameters are set, in every format."""

import hashlib
import json
import re
from dataclasses import asdict, replace

import pytest

from tests.estimated_kernel import GRID, SETTINGS, WORDS, write_vector_add
from tests.reports.sample_report import NAMES, write_build
from tests.reports.test_html_report import browser, column, data_of  # noqa: F401  (a fixture)
from tileiras_build.cli.dispatch import main
from tileiras_build.reports import cached_estimates
from tileiras_build.reports.build_history import METRICS, History
from tileiras_build.reports.collect_rows import EstimateProblems, read_built, read_rows, remember, values_of
from tileiras_build.reports.html_report import render_page
from tileiras_build.reports.report_cache import ReportCache
from tileiras_build.reports.report_csv_json import json_text
from tileiras_build.simulate.estimate.described_launch import ArrayShape, DescribedLaunch, Description
from tileiras_build.simulate.estimate.estimate_kernel import Problem, estimate_kernel

KERNEL = "vector_add_f32"


@pytest.fixture
def build(tmp_path):
    """A kernel that can be estimated, and one that cannot: its cubin is none."""
    write_build(tmp_path / "build", names=NAMES[:1], gpus=("sm_90",))
    write_vector_add(tmp_path / "build")
    return tmp_path / "build"


def run(capsys, *words: object) -> str:
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_rows_are_what_the_command_estimates(build, capsys):
    rows = {row.kernel: row for row in read_rows(build, problems=EstimateProblems(Problem.read(SETTINGS, GRID)))}
    alone = json.loads(run(capsys, "estimate", build / f"sm_90/{KERNEL}.cubin", *WORDS, "--json"))
    assert (rows[KERNEL].microseconds, rows[KERNEL].estimate_limit) == (round(alone["microseconds"], 2), alone["limit"])
    assert rows[KERNEL].microseconds > 0 and rows[KERNEL].instructions > 10
    assert rows[NAMES[0]].microseconds is None and rows[NAMES[0]].instructions is None


def test_the_launch_that_was_verified_is_estimated(build, capsys):
    cubin = build / f"sm_90/{KERNEL}.cubin"
    ptx = b"code"
    cubin.with_suffix(".ptx").write_bytes(ptx)
    settings = dict(setting.split("=") for setting in SETTINGS)
    kernel = {"entry": KERNEL, "share": 0.5, "grid": [256, 1, 1], "settings": settings}
    content = {"ptx": hashlib.sha256(ptx).hexdigest(), "kernels": [kernel]}
    cubin.with_suffix(".reference").write_text(json.dumps(content))
    expected = read_rows(build, problems=EstimateProblems(Problem.read(SETTINGS, GRID)))
    assert json.loads(run(capsys, "report", build, "--estimate", "--json"))["rows"] == [asdict(row) for row in expected]
    assert all(row.microseconds is None for row in read_rows(build))
    cubin.with_suffix(".ptx").write_bytes(b"other code")
    assert all(row.microseconds is None for row in read_rows(build, problems=EstimateProblems(of_references=True)))


def test_the_launch_of_a_case_is_estimated_once(build, monkeypatch, tmp_path):
    arguments = tuple(Description(ArrayShape((1 << 20,), (1,))) for _ in range(3))
    cases = {(KERNEL, "sm_90"): DescribedLaunch(arguments, (256, 1, 1))}
    wanted, cache = EstimateProblems(None, True, cases), ReportCache(tmp_path / "cache")
    (found,) = [one for one in read_built(build, problems=wanted, cache=cache) if one.estimated]
    assert found.row.kernel == KERNEL and found.problem.grid == (256, 1, 1) and found.row.microseconds > 0
    assert all(0 < clocks <= found.estimated.bounds[name] * 1.001 for name, clocks in found.estimated.peaks.items())
    monkeypatch.setattr(cached_estimates, "estimate_kernel", None)
    (again,) = [one for one in read_built(build, problems=wanted, cache=cache) if one.estimated]
    assert again.estimated == found.estimated


def test_the_table_has_two_columns_more(build, capsys):
    header, _, *lines = run(capsys, "report", build, *WORDS).splitlines()
    assert header.endswith("limited by") and "estimate" in header
    assert re.search(r"[\d.]+ us +\w+", next(line for line in lines if line.startswith(KERNEL)))
    assert re.search(r"- +-$", next(line for line in lines if line.startswith(NAMES[0])))


def test_changes_show_estimates_that_both_have(build, tmp_path, capsys):
    rows = read_rows(build, problems=EstimateProblems(Problem.read(SETTINGS, GRID)))
    slower = [replace(row, microseconds=row.microseconds and 99.0) for row in rows]
    path = tmp_path / "main.json"
    path.write_text(json_text(slower))
    (changed,) = json.loads(run(capsys, "report", build, "--against", path, *WORDS, "--json"))
    assert changed["kernel"] == KERNEL and changed["before"]["microseconds"] == 99
    assert "99.0 us -> " in run(capsys, "report", build, "--against", path, *WORDS)
    assert run(capsys, "report", build, "--against", path) == "0 changed, 0 new, 0 removed, 2 unchanged\n"


def test_another_problem_leaves_what_is_compared_with(build):
    plain, history = read_rows(build), History()
    earlier = [replace(plain[0], registers=1), *plain[1:]]
    assert remember(history, earlier, 1.0) is None
    before = remember(history, plain, 2.0)
    estimated = [replace(row, microseconds=1.0, estimate_limit="DRAM") for row in plain]
    assert remember(history, estimated, 3.0, "grid 1") == before == remember(history, plain, 4.0) == values_of(earlier)


def test_parameters_that_are_not_set_are_not_estimated(build):
    cubin = (build / f"sm_90/{KERNEL}.cubin").read_bytes()
    assert estimate_kernel(cubin, KERNEL, {}, Problem({}, (1, 1, 1))) is None
    assert all(
        row.microseconds is None for row in read_rows(build, problems=EstimateProblems(Problem.read(["n=1"], GRID)))
    )


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (["--set", "a=1"], "report-grid"),
        (["--grid", "0"], "estimate-set"),
        (["--grid", "1", "--set", "a"], "estimate-set"),
    ],
)
def test_wrong_words_are_refused(build, capsys, words, id):
    assert main(["report", str(build), *words]) == 1
    assert f"error[{id}]: " in capsys.readouterr().err


def test_the_page_has_columns_where_something_is_estimated(browser, build, tmp_path):  # noqa: F811
    plain = read_rows(build)
    rows = [replace(plain[0], microseconds=12.5, estimate_limit="DRAM reads"), *plain[1:]]
    before = {key: (*values[:-1], 10.0) for key, values in values_of(plain).items()}
    assert METRICS[-1] == "microseconds"
    page, without = tmp_path / "page.html", tmp_path / "without.html"
    page.write_text(render_page("build", rows, before, None))
    without.write_text(render_page("build", plain, None, None))
    opened = browser.new_page()
    opened.goto(page.as_uri())
    titles = opened.locator("#kernels thead th").all_inner_texts()
    number = [title.split("\n")[0].strip() for title in titles].index("estimate") + 1
    assert [re.sub(r"\s", "", text) for text in column(opened, number)] == ["12.50us+2.50us", "\u2013"]
    assert column(opened, len(titles)) == ["DRAM reads", "\u2013"] and titles[-1] == "estimate limited by"
    opened.goto(without.as_uri())
    assert "estimate" not in opened.locator("#kernels thead").inner_text()
    opened.close()
