"""``Tune``: points of a space, and the case at a point."""

import cuda.tile as ct
import pytest

from tileiras_build.cases import Array, Case, Tune
from tileiras_build.frontend.tuning_space import at_point, default_point, digest, point_text, points


@ct.kernel
def copy(x, out, ROWS: ct.Constant[int], COLUMNS: ct.Constant[int]):
    ct.store(out, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (ROWS, COLUMNS)))


def case(space, **options) -> Case:
    matrix = Array("float32", 2)
    return Case("copy", copy, (matrix, matrix, 8, 16), tune=Tune(space, **options))


def test_points_are_the_default_and_all_combinations():
    found = points(case({"ROWS": [4, 8], "num_ctas": [1, 2]}))
    assert found[0] == {"ROWS": 8, "num_ctas": None}
    assert found[1:] == [{"ROWS": rows, "num_ctas": ctas} for rows in (4, 8) for ctas in (1, 2)]


def test_points_may_be_listed():
    listed = [{"ROWS": 4, "COLUMNS": 32}, {"ROWS": 16}]
    assert points(case(listed)) == [
        {"ROWS": 8, "COLUMNS": 16},
        {"ROWS": 4, "COLUMNS": 32},
        {"ROWS": 16, "COLUMNS": 16},
    ]


def test_where_drops_points_but_not_the_default():
    found = points(case({"ROWS": [4, 8, 16]}, where=lambda point: point["ROWS"] > 8))
    assert [point["ROWS"] for point in found] == [8, 16]


def test_a_point_sets_arguments_and_hints():
    moved = at_point(case({"ROWS": [4], "occupancy": [2]}), {"ROWS": 4, "occupancy": 2})
    assert moved.arguments[2:] == (4, 16) and moved.constants == {"ROWS": 4, "COLUMNS": 16}
    assert moved.kernel._compiler_options.occupancy == 2
    assert copy._compiler_options.occupancy is None


def test_the_default_point_changes_nothing():
    tuned = case({"ROWS": [4], "occupancy": [2]})
    assert at_point(tuned, default_point(tuned)) == tuned


def test_a_digest_is_of_the_points():
    assert digest(points(case({"ROWS": [4, 8]}))) == digest(points(case([{"ROWS": 4}, {"ROWS": 8}])))
    assert digest(points(case({"ROWS": [4, 8]}))) != digest(points(case({"ROWS": [4, 16]})))


def test_text_leaves_out_the_kernels_own_hints():
    assert point_text({"ROWS": 4, "num_ctas": None}) == "ROWS=4"


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({}, "the space of Tune is empty"),
        ({"ROWS": []}, "'ROWS' has no values"),
        ({"ROWS": 4}, "'ROWS' has no values"),
        ({"ROW": [4]}, "'ROW' is no constant parameter and no hint; did you mean ROWS?"),
        ({"x": [4]}, "'x' is no constant parameter and no hint"),
        ({"ROWS": range(50), "COLUMNS": range(50)}, "more than 1000 points"),
    ],
)
def test_invalid_spaces(space, message):
    with pytest.raises(ValueError) as found:
        points(case(space))
    assert message in str(found.value)
