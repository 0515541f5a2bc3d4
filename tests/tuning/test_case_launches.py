"""The launches that a file's cases name: problems of a Tune before the sizes of inputs, with the constants that a GPU has."""

import json

from tileiras_build.simulate.estimate.described_launch import ArrayShape, DescribedLaunch, Description
from tileiras_build.tuning.case_launches import launches_of_file

FILE = """\
import cuda.tile as ct
import numpy as np
from tileiras_build.cases import Array, Case, Scalar, Tune, first_tiles


@ct.kernel
def scale(x, y, factor, TILE: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)) * factor)


ROW = (Array("float32", 1), Array("float32", 1), Scalar("float32"), 32)
GRID = first_tiles("x", "TILE")


def inputs(rng):
    return {"x": np.zeros(100, np.float32), "y": np.zeros(100, np.float32), "factor": 2.0}


CASES = [
    Case("plain", scale, ROW),
    Case("sized", scale, ROW, inputs=inputs, reference=lambda values: {"y": values["x"] * 2}, grid=GRID),
    Case(
        "tuned", scale, ROW, grid=GRID,
        tune=Tune({"TILE": [32, 64]}, problems=[{"x": 1 << 30, "y": 1 << 30, "factor": 0.5}]),
    ),
]
"""


def array(length: int) -> Description:
    return Description(ArrayShape((length,), (1,)))


def test_launches_of_a_file(tmp_path):
    path = tmp_path / "scale.py"
    path.write_text(FILE)
    choices = {"tuned": {"sm_90": {"point": {"TILE": 64}, "by": "model"}}}
    (tmp_path / "scale.tune.json").write_text(json.dumps(choices))
    found = launches_of_file(str(path), ["sm_80", "sm_90"])
    small = DescribedLaunch((array(100), array(100), Description(scalar="2.0")), (4, 1, 1))
    large = (array(1 << 30), array(1 << 30), Description(scalar="0.5"))
    assert found == {
        ("sized", "sm_80"): small,
        ("sized", "sm_90"): small,
        ("tuned", "sm_80"): DescribedLaunch(large, (1 << 25, 1, 1)),
        ("tuned", "sm_90"): DescribedLaunch(large, (1 << 24, 1, 1)),
    }
