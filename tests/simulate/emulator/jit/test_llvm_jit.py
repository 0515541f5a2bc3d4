"""Addresses of arrays, read from NumPy's C structure."""

import numpy as np

from tileiras_build.simulate.emulator.jit import llvm_jit

SHAPE = (3, 8)
FLOAT = np.dtype(np.float32)


def test_address_equals_numpys():
    array = np.zeros(SHAPE, FLOAT)
    assert llvm_jit.address(array) == array.ctypes.data and llvm_jit.address(array[1:]) == array.ctypes.data + 32


def test_addresses_of_contiguous_arrays_of_the_shape_and_type():
    good = np.zeros(SHAPE, FLOAT), np.zeros((6, 8), FLOAT)[2:5]
    bad = (
        np.zeros(SHAPE, np.uint32), np.zeros((8, 3), FLOAT).T, np.zeros((3, 9), FLOAT)[:, :8], np.zeros((1, 8), FLOAT),
        np.zeros(24, FLOAT), np.zeros((3, 8, 1), FLOAT), np.float32(3), 3, None, np.ma.zeros(SHAPE, FLOAT),
    )  # fmt: skip
    given = (good[0], *bad, good[1])
    out = np.full(len(given) + 1, 5, np.int64)
    assert llvm_jit.addresses(given, llvm_jit.identities([FLOAT] * len(given)), SHAPE, out) == len(bad)
    assert out.tolist() == [good[0].ctypes.data, *[0] * len(bad), good[1].ctypes.data, 5]
