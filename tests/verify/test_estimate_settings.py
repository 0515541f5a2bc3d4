"""Arguments of references as settings of an estimate: lengths, strides, scalars; lists are unsupported."""

import numpy as np

from tileiras_build.manifest.launch_manifest import Argument, Launch, Parameter
from tileiras_build.simulate.estimate.problem_size import launch_of_manifest
from tileiras_build.verify.estimate_settings import settings_of

PARAMS = [
    Parameter(name="m", kind="pointer", size=8, offset=0, role="pointer", element="f32", access="loaded"),
    *(Parameter(name=f"m_shape_{axis}", kind="i32", size=4, offset=8 + 4 * axis, role="shape") for axis in range(2)),
    *(Parameter(name=f"m_stride_{axis}", kind="i32", size=4, offset=16 + 4 * axis, role="stride") for axis in range(2)),
    Parameter(name="p", kind="pointer", size=8, offset=24, role="pointer", element="i8", access="stored"),
    Parameter(name="scale", kind="f32", size=4, offset=32),
    Parameter(name="n", kind="i32", size=4, offset=36),
]
LAUNCH = Launch(
    threads_per_cta=128,
    params=PARAMS,
    arguments=[
        Argument(name="m", kind="array", param=0, rank=2), Argument(name="p", kind="pointer", param=5),
        Argument(name="scale", kind="scalar", param=6), Argument(name="n", kind="scalar", param=7),
    ],
)  # fmt: skip
VALUES = {"a": np.zeros((6, 8), "float32")[:, :5], "b": np.zeros((3, 4), "int8"), "c": np.float32(0.5), "d": True}


def test_settings_are_what_an_estimate_takes():
    settings = settings_of(LAUNCH, VALUES)
    assert settings == {"m": "6x5", "m_stride_0": "8", "m_stride_1": "1", "p": "3x4", "scale": "0.5", "n": "1"}
    values = [argument.value for argument in launch_of_manifest(LAUNCH, settings, (2, 1, 1)).arguments]
    assert values[1:5] == [6, 5, 8, 1] and values[5].size == 12 and values[6:] == [0.5, 1]


def test_lists_and_other_counts_have_none():
    assert settings_of(LAUNCH, VALUES | {"d": [np.zeros(3)]}) is None
    assert settings_of(LAUNCH, VALUES | {"a": 3}) is None
    assert settings_of(LAUNCH, {"a": VALUES["a"]}) is None
