"""What authors' functions may return, and the sentence for each thing that they may not."""

from functools import partial

import numpy as np
import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.frontend.kernel_case import Array, Case, Reference, Scalar, Tolerance
from tileiras_build.verify.reference_launch import make_reference_launch


class Kernel:
    """What a row sees of a cuTile kernel."""

    def __init__(self, function):
        self._pyfunc = function


def scale(x, a, out, parts, pair, TILE):
    """The parameters of a kernel."""


VECTOR = Array("float32", 1)
ARGUMENTS = (VECTOR, Scalar("float32"), VECTOR, [VECTOR], (Scalar("int32"), 4, VECTOR), 64)


def make_inputs(**changes):
    one = lambda: np.zeros(3, "float32")
    return {"pair": (1, one()), "x": one(), "a": 2.0, "out": one(), "parts": [one(), one()]} | changes


def result(**changes):
    return {"out": np.ones(3, "float32")} | changes


def trial(inputs=make_inputs, reference=result, grid=1):
    row = Case(
        "scale",
        Kernel(scale),
        ARGUMENTS,
        inputs=lambda rng: inputs(),
        reference=lambda values: reference(),
        grid=grid,
    )
    return make_reference_launch(row, __file__)


def test_arguments_are_in_the_order_of_the_kernel():
    made = trial(grid=lambda values: (len(values["parts"]), 3))
    assert list(made.values) == ["x", "a", "out", "parts", "pair"] and made.grid == (2, 3, 1)
    assert list(made.expected) == ["out"]


def test_inputs_are_seeded_by_the_reference():
    def drawn(name):
        random = lambda rng: {"x": rng.standard_normal(4).astype("float32")}
        row = Reference(name, inputs=random, reference=lambda values: {"x": values["x"]}, grid=1)
        return make_reference_launch(row, __file__).values["x"].tolist()

    assert drawn("a") == drawn("a") != drawn("b")


def test_a_reference_that_works_in_place_changes_no_arguments():
    def double(values):
        values["x"] *= 2
        return {"x": values["x"]}

    row = Reference("k", inputs=lambda rng: {"x": np.ones(2)}, reference=double, grid=1)
    made = make_reference_launch(row, __file__)
    assert made.values["x"].tolist() == [1, 1] and made.expected["x"].tolist() == [2, 2]


def without(name):
    return {key: value for key, value in make_inputs().items() if key != name}


INPUTS = {
    "a list": (lambda: [1], "must return a dict of arguments by name, got list"),
    "other names": (lambda: {1: 2}, "must return a dict of arguments by name, got dict"),
    "one too many": (
        lambda: make_inputs(TILE=3),
        "returned unknown argument 'TILE' (arguments: x, a, out, parts, pair)",
    ),
    "one too few": (lambda: without("out"), "lacks argument 'out'"),
    "text": (lambda: make_inputs(x=np.array(["a"])), "returned 'x' with elements of type <U1"),
    "no array": (lambda: make_inputs(x=[1.0]), "returned 'x' as a list, expected a NumPy array"),
    "another type": (
        lambda: make_inputs(x=np.zeros(3)),
        "returned 'x' as a 1-d array of float64, expected a 1-d array of float32",
    ),
    "another rank": (
        lambda: make_inputs(x=np.zeros((3, 1), "float32")),
        "returned 'x' as a 2-d array of float32, expected a 1-d array of float32",
    ),
    "no number": (lambda: make_inputs(a="2"), "returned 'a' as a str, expected a scalar"),
    "no list": (lambda: make_inputs(parts=np.zeros(3)), "returned 'parts' as a ndarray, expected a list of arrays"),
    "a list of scalars": (
        lambda: make_inputs(parts=[1]),
        "returned 'parts' as a list with elements that are no arrays",
    ),
    "a short tuple": (lambda: make_inputs(pair=(1,)), "returned 'pair' as 1 elements, expected 2"),
    "a wrong tuple": (lambda: make_inputs(pair=(1, 2)), "returned 'pair' as a int, expected a NumPy array"),
}


@pytest.mark.parametrize("how", INPUTS)
def test_wrong_inputs_are_one_sentence(how):
    inputs, words = INPUTS[how]
    with pytest.raises(InvalidInput) as caught:
        trial(inputs)
    error = caught.value
    assert (error.id, error.message) == ("reference-inputs", f"inputs of 'scale' {words}")
    assert (
        error.location.file.endswith("test_reference_launch.py") and error.location.line > 0 and "\n" not in str(error)
    )


RESULTS = {
    "an array": (lambda: np.zeros(3), "must return a dict of arrays by name, got ndarray"),
    "nothing": (lambda: {}, "returned no arrays"),
    "an unknown name": (
        lambda: {"y": np.ones(3, "float32")},
        "returned unknown array 'y' (arrays: x, out, parts[0], parts[1], pair[1])",
    ),
    "a list of scalars": (lambda: {"out": [1.0]}, "returned 'out' as list, expected a NumPy array"),
    "a number": (lambda: {"out": 1.0}, "returned 'out' as float, expected a NumPy array"),
    "another type": (
        lambda: {"out": np.ones(3)},
        "returned 'out' as float64 of shape (3,), expected float32 of shape (3,)",
    ),
    "another shape": (
        lambda: {"parts": [np.ones(2, "float32")]},
        "returned 'parts[0]' as float32 of shape (2,), expected float32 of shape (3,)",
    ),
}


@pytest.mark.parametrize("how", RESULTS)
def test_wrong_results_are_one_sentence(how):
    reference, words = RESULTS[how]
    with pytest.raises(InvalidInput) as caught:
        trial(reference=reference)
    assert (caught.value.id, caught.value.message) == ("reference-result", f"reference of 'scale' {words}")
    assert caught.value.location.line > 0 and "\n" not in str(caught.value)


@pytest.mark.parametrize("grid", [0, (1, 2, 3, 4), (), "2", lambda values: (1.5,), lambda values: None])
def test_wrong_grids_are_one_sentence(grid):
    with pytest.raises(InvalidInput, match=r"error\[reference-grid\]: grid of 'scale' is .*; grid is one to three"):
        trial(grid=grid)


def fails(rng):
    return {"x": np.zeros(3)["a"]}


def test_what_a_function_raises_is_reported_with_its_line():
    row = Reference("k", inputs=partial(fails), reference=lambda values: values, grid=1)
    with pytest.raises(InvalidInput) as caught:
        make_reference_launch(row, __file__)
    error = caught.value
    assert error.id == "reference-raised" and error.message.startswith("inputs of 'k': IndexError: only integers")
    assert error.location.line == fails.__code__.co_firstlineno + 1 and "\n" not in str(error)


def test_a_tolerance_of_no_array_is_refused():
    row = Reference("k", inputs=lambda rng: {"x": np.ones(2)}, reference=dict, grid=1, tolerance={"y": Tolerance(1, 1)})
    with pytest.raises(InvalidInput, match="reference-tolerance.*names unknown array 'y' .arrays: x.; tolerance is"):
        make_reference_launch(row, __file__)


def ends(rng):
    raise SystemExit(3)


def test_a_function_that_ends_the_process_is_reported_as_well():
    row = Reference("k", inputs=ends, reference=lambda values: values, grid=1)
    with pytest.raises(InvalidInput, match="reference-raised.*SystemExit: 3"):
        make_reference_launch(row, __file__)


ROWS = {
    "inputs alone": (dict(inputs=fails), "row 'k' has inputs= and no reference="),
    "no grid": (dict(inputs=fails, reference=fails), "row 'k' has inputs= and no grid="),
    "no inputs": (dict(reference=fails, grid=1), "row 'k' has reference= and no inputs="),
    "no function": (dict(inputs={}, reference=fails, grid=1), "row 'k': inputs= is a dict, no function"),
    "no tolerance": (dict(tolerance=0.1), "row 'k': tolerance= is a float, no Tolerance"),
    "a wrong one": (dict(tolerance={"x": 1}), "row 'k': tolerance= is a int, no Tolerance"),
}


@pytest.mark.parametrize("how", ROWS)
def test_rows_are_whole(how):
    words, message = ROWS[how]
    with pytest.raises(ValueError) as caught:
        Case("k", None, (), **words)
    assert str(caught.value) == message


def test_tolerances_are_not_negative():
    with pytest.raises(ValueError, match="a tolerance is not negative: relative=-1"):
        Tolerance(relative=-1)
