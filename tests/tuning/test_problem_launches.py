"""The launches that a choice is for."""

import cuda.tile as ct
import numpy as np
import pytest

from tileiras_build.cases import Array, Case, Scalar, Tune, first_tiles
from tileiras_build.tuning.problem_launches import problem_launches


@ct.kernel
def scale(x, factor, out, TILE: ct.Constant[int]):
    ct.store(out, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (TILE, 8)) * factor)


GRID = first_tiles("out", "TILE", 8)


def tuned(*problems, grid=GRID, **options) -> Case:
    arguments = (Array("float16", 2, unit_stride=0), Scalar("float32"), Array("float16", 2), 16)
    return Case("scale", scale, arguments, grid=grid, tune=Tune({"TILE": [16]}, problems=problems), **options)


def test_a_problem_has_lengths_and_scalars():
    one, other = problem_launches(
        tuned({"x": (64, 8), "factor": 2.0, "out": (64, 8)}, {"x": (160, 24), "factor": 1.0, "out": (160, 24)})
    )
    assert (one.grid, other.grid) == ((4, 1, 1), (10, 3, 1))
    assert list(one.values) == ["x", "factor", "out"] and one.values["factor"] == 2.0
    assert one.values["x"].shape == (64, 8) and one.values["x"].strides == (2, 128)
    assert one.values["out"].strides == (16, 2) and one.values["out"].dtype == np.float16


def test_without_problems_the_inputs_are_one():
    inputs = lambda rng: {"out": np.zeros((32, 8), "float16"), "factor": 2.0, "x": np.zeros((32, 8), "float16", "F")}
    [launch] = problem_launches(tuned(inputs=inputs, reference=lambda values: values))
    assert launch.grid == (2, 1, 1) and list(launch.values) == ["x", "factor", "out"]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (tuned({"x": (64, 8), "out": (64, 8)}), "lacking or unknown: factor"),
        (tuned({"x": 64, "factor": 1.0, "out": (64, 8)}), "x has 2 axes, the problem gives 1 lengths"),
        (tuned(), "Tune needs problems="),
        (tuned({"x": (64, 8)}, grid=None), "Tune needs grid="),
    ],
)
def test_invalid_problems(case, message):
    with pytest.raises(ValueError) as found:
        problem_launches(case)
    assert message in str(found.value)
