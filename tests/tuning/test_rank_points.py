"""Points of a space, compiled and estimated."""

import math

import pytest

from tests.tuning.tuned_kernels import source
from tileiras_build.core.errors import InvalidInput
from tileiras_build.driver import compile
from tileiras_build.frontend.export_cutile import opened_cases
from tileiras_build.tuning.rank_points import RankedPoint, best_point, rank_points, result_of


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("tuned") / "double.py")
    with open(path, "w") as file:
        file.write(source(1024, 48))  # no tile has 48 elements
    with opened_cases(path) as (case, _):
        yield case, rank_points(case, path, lambda data: compile(data, "sm_90"))


def test_points_have_times_or_reasons(ranked):
    _, rows = ranked
    assert [row.point for row in rows] == [{"TILE": 64}, {"TILE": 1024}, {"TILE": 48}]
    assert [len(row.microseconds) for row in rows] == [1, 1, 0]
    assert "48" in rows[2].problem or "power" in rows[2].problem


def test_wide_tiles_copy_faster_than_narrow_ones(ranked):
    _, rows = ranked
    assert best_point(rows) is rows[1] and rows[1].mean < rows[0].mean < rows[2].mean == math.inf


def test_the_result_as_json(ranked):
    case, rows = ranked
    found = result_of(case, "sm_90", rows, "model", "abc")
    assert found["best"] == 1 and found["points"][1]["mean"] == round(rows[1].mean, 3)
    assert found["points"][2] == {"point": {"TILE": 48}, "problem": rows[2].problem}


def test_a_mean_is_geometric_and_ties_keep_the_default():
    one, other = RankedPoint({"TILE": 1}, (2.0, 8.0)), RankedPoint({"TILE": 2}, (4.0, 4.0))
    assert one.mean == pytest.approx(4.0)
    assert best_point([RankedPoint({}, (4.0,)), other]).point == {}


def test_a_space_without_any_time_is_an_error(tmp_path):
    (tmp_path / "double.py").write_text(
        source(48).replace('"out": 1 << 22}]', '"out": 1 << 22}]').replace(", 64)", ", 96)")
    )
    with opened_cases(tmp_path / "double.py") as (case, _), pytest.raises(InvalidInput) as found:
        rank_points(case, str(tmp_path / "double.py"), lambda data: compile(data, "sm_90"))
    assert found.value.id == "tune-none"
