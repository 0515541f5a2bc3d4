"""Copies of arguments: strides, overlaps and the bytes around them."""

import numpy as np

from tileiras_build.simulate import interpreter
from tileiras_build.verify.guarded_arrays import ALIGNMENT, GuardedArguments


def test_copies_have_the_strides_and_contents_of_the_arrays():
    original = np.arange(48, dtype="float32").reshape(6, 8)
    values = {"plain": original.copy(), "turned": original.T.copy().T, "back": original[::-1, ::2].copy()[::-1], "n": 3}
    placed = GuardedArguments(values)
    for name in ("plain", "turned", "back"):
        assert placed.values[name].strides == values[name].strides
        np.testing.assert_array_equal(placed.values[name], values[name])
        assert not np.shares_memory(placed.values[name], values[name])
    assert placed.values["n"] == 3 and placed.values["plain"].ctypes.data % ALIGNMENT == 0


def test_what_overlaps_still_does():
    whole = np.arange(10.0)
    placed = GuardedArguments({"whole": whole, "part": whole[4:], "again": whole, "other": np.zeros(2)})
    placed.values["whole"][5] = 77
    assert placed.values["part"][1] == 77 and placed.values["again"][5] == 77


def test_only_the_elements_are_mapped():
    placed, memory = GuardedArguments({"x": [np.arange(3, dtype="int32")]}), interpreter.Memory()
    placed.map_into(memory)
    (piece,) = memory.pieces
    assert (piece.base, piece.size) == (placed.values["x"][0].ctypes.data, 12)


def test_changed_bytes_between_elements_are_found():
    wide = np.zeros((2, 8), "float32")
    placed = GuardedArguments({"x": wide[:, :3], "y": np.zeros(4)})
    assert placed.changed_guards() == []
    array = placed.values["x"]
    np.ndarray(8, "float32", array.base, array.ctypes.data - array.base.ctypes.data)[3] = 1
    assert placed.changed_guards() == ["x"]
