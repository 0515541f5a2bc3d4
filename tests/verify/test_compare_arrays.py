"""Which elements are wrong, the first and the worst of them, and what counts as equal."""

import ml_dtypes
import numpy as np
import pytest

from tileiras_build.frontend.cases_api import place
from tileiras_build.frontend.kernel_case import Reference, Tolerance
from tileiras_build.verify.compare_arrays import compare, differences, find_faults, flat_arrays, tolerance_used

NAN, INF = float("nan"), float("inf")


def array(*values, dtype="float32"):
    return np.array(values, dtype=dtype)


def test_the_first_and_the_worst_elements_are_named():
    expected = array(1, 2, 3, 4, 100, 0.5)
    found = compare("x", array(1, 2.5, 3, 4.5, 103, 5, dtype="float32"), expected, Tolerance(absolute=0.1))
    assert (found.count, found.of) == (4, 6)
    assert [one.index for one in found.first] == [(1,), (3,), (4,)]
    assert (found.worst.index, found.worst.absolute) == ((5,), 4.5)
    assert (found.worst_relative.index, found.worst_relative.relative) == ((5,), 9.0)
    assert str(found) == "x: 4 of 6 elements differ; first at (1,): got 2.5, expected 2.0"


@pytest.mark.parametrize(
    ("actual", "expected", "agrees"),
    [
        (1.0, 1.0, True), (NAN, NAN, True), (INF, INF, True), (0.0, -0.0, True), (1.05, 1.0, True),
        (1.2, 1.0, False), (NAN, 1.0, False), (1.0, NAN, False), (INF, 1.0, False), (-INF, INF, False),
    ],
)  # fmt: skip
def test_what_agrees(actual, expected, agrees):
    close = Tolerance(relative=0.05, absolute=0.01)
    assert (compare("x", array(actual), array(expected), close) is None) == agrees


def test_a_not_a_number_is_worse_than_any_number():
    found = compare("x", array(1000, NAN, 3), array(1, 2, 3))
    assert found.worst.index == (1,)


def test_large_integers_are_compared_exactly():
    one = array(2**62 + 1, dtype="int64")
    assert compare("x", one, one - 1).count == 1 and compare("x", one, one.copy()) is None


def test_small_floats_are_compared_by_their_values():
    one = array(1, 2, 4, dtype=ml_dtypes.float8_e4m3fn)
    assert compare("x", one, one.copy()) is None
    assert compare("x", one, array(1, 2, 5, dtype=ml_dtypes.float8_e4m3fn)).first[0].index == (2,)


def test_the_share_is_that_of_the_tolerance():
    assert tolerance_used(array(1.0, 2.05), array(1.0, 2.0), Tolerance(absolute=0.1)) == pytest.approx(0.5, rel=1e-4)
    assert tolerance_used(array(1.0), array(1.0), Tolerance()) == 0


def row(**tolerance) -> Reference:
    return Reference("k", inputs=lambda rng: {}, reference=lambda values: values, grid=1, **tolerance)


def test_arrays_that_the_reference_does_not_name_stay_as_they_were():
    before = {"x": array(1, 2), "out": array(0, 0), "n": 3}
    after = {"x": array(1, 9), "out": array(5, 5), "n": 3}
    found = differences(row(), {"out": array(5, 5)}, before, after)
    assert [(one.array, one.first[0].index) for one in found] == [("x", (1,))]


def test_each_array_may_have_a_tolerance_of_its_own():
    close = {"a": Tolerance(absolute=1)}
    expected, after = {"a": array(1), "b": array(1)}, {"a": array(1.5), "b": array(1.5)}
    assert [one.array for one in differences(row(tolerance=close), expected, expected, after)] == ["b"]


def test_arrays_in_lists_have_names_of_their_own():
    arguments = {"x": [array(1), (array(2), array(3))], "n": 4, "y": array(5)}
    assert [(name, one[0]) for name, one in flat_arrays(arguments)] == [
        ("x[0]", 1), ("x[1][0]", 2), ("x[1][1]", 3), ("y", 5),
    ]  # fmt: skip


def test_guard_bytes_are_checked():
    checked = Reference("k", inputs=lambda rng: {}, reference=lambda values: {"x": values["x"]}, grid=1)
    before, after = ({"x": place(np.arange(6).reshape(2, 3), "float32", padded=True)} for _ in range(2))
    assert find_faults(checked, before, after) == []
    after["x"].base[after["x"].ctypes.data - after["x"].base.ctypes.data + 12] ^= 1
    assert find_faults(checked, before, after) == ["out-of-bounds write: padding of x was modified"]
