"""Scalars and arrays as the bytes of parameters, by what a launch manifest says of them."""

import numpy as np
import pytest

from tileiras_build.frontend.kernel_case import Reference
from tileiras_build.manifest.launch_manifest import Launch, convert
from tileiras_build.verify.guarded_arrays import GuardedArguments
from tileiras_build.verify.pack_parameters import pack

ROW = Reference("k")


def launch(*kinds: str) -> Launch:
    """A kernel with a scalar of each kind."""
    params = [{"name": f"p{i}", "kind": kind, "size": 8, "offset": 0, "argument": i} for i, kind in enumerate(kinds)]
    arguments = [{"name": f"p{i}", "kind": "scalar", "param": i} for i in range(len(kinds))]
    return convert({"threads_per_cta": 32, "params": params, "arguments": arguments}, Launch, 2)


@pytest.mark.parametrize(
    ("kind", "value", "dtype"),
    [
        ("i32", 7, "int32"), ("i32", 2**32 - 1, "uint32"), ("i64", -1, "int64"), ("f32", 1.5, "float32"),
        ("f16", 2, "float16"), ("i1", True, "bool"), ("f64", np.float32(0.1), "float64"),
    ],
)  # fmt: skip
def test_scalars_are_of_the_parameters_type(kind, value, dtype):
    [data] = pack(ROW, launch(kind), GuardedArguments({"n": value}))
    assert data == np.asarray(value, dtype).tobytes()


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("i32", 2**32, "n: 4294967296 does not fit type i32"),
        ("i32", 1.5, "n: 1.5 does not fit type i32"),
        ("f32", "a", "n: expected a scalar of type f32, got str"),
    ],
)
def test_scalars_that_do_not_fit_are_refused(kind, value, words):
    with pytest.raises(ValueError) as caught:
        pack(ROW, launch(kind), GuardedArguments({"n": value}))
    assert str(caught.value) == words


def test_an_array_goes_with_its_lengths_and_strides():
    params = [{"name": "x", "kind": "pointer", "size": 8, "offset": 0, "role": "pointer", "element": "i16"}]
    params += [{"name": f"x{i}", "kind": "i32", "size": 4, "offset": 0, "role": "shape"} for i in range(4)]
    arguments = [{"name": "x", "kind": "array", "param": 0, "rank": 2}]
    kernel = convert({"threads_per_cta": 32, "params": params, "arguments": arguments}, Launch, 2)
    placed = GuardedArguments({"x": np.zeros((3, 8), "int16")[:, :5]})
    address, *scalars = pack(ROW, kernel, placed)
    assert int.from_bytes(address, "little") == placed.values["x"].ctypes.data
    assert [int.from_bytes(number, "little") for number in scalars] == [3, 5, 8, 1]
    with pytest.raises(ValueError, match="x: expected a 2-d array, got 1-d"):
        pack(ROW, kernel, GuardedArguments({"x": np.zeros(3, "int16")}))
