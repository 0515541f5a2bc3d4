"""The lines that read arrays of each library, run as ``launch_stub`` would."""

import sys
import types

import numpy as np
import pytest

from tileiras_build.cutile.devices.array_unpackers import Names, unpack_code
from tileiras_build.launch.runtime.pack_arguments import ArrayView

SHAPE, STRIDES, ADDRESS = (4, 6, 5), (30, 5, 1), 0x7000
NAMES = Names("x", "p", ("n0", "n1", "n2"), ("s0", "s1", "s2"))


class Interface:
    def __init__(self, strides, kind="<f4", shape=SHAPE):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": kind, "data": (ADDRESS, False), "strides": strides}


class Tensor:
    def __init__(self, device=0, dtype="float32"):
        self.shape, self.dtype, self._device = SHAPE, dtype, device

    def data_ptr(self):
        return ADDRESS

    def stride(self):
        return STRIDES

    def get_device(self):
        return self._device


class Opaque:
    """By DLPack alone: a view is asked for."""

    def __init__(self, device=0, dtype="float32"):
        self.view = ArrayView(ADDRESS, SHAPE, STRIDES, device, np.dtype(dtype))


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    module = types.ModuleType("torch")
    module.Tensor = Tensor
    monkeypatch.setitem(sys.modules, "torch", module)


def read(reading, array) -> tuple[tuple[int, ...], bool]:
    """The values that the lines read from ``array``, and whether a guard says that it is of another kind."""
    scope = {"x": array, "view": lambda given, stream: given.view, "stream": 0} | reading.names
    exec("\n".join(reading.lines), scope)
    values = tuple(scope[name] for name in (NAMES.address, *NAMES.shape, *NAMES.strides))
    return values, any(eval(guard, scope) for guard in reading.guards)


ALIKE = [
    (Interface(None), Interface(None)),
    (Interface(None), Interface((120, 20, 4))),
    (Tensor(), Tensor()),
    (Opaque(), Opaque()),
]
OTHER = [
    (Interface(None), Interface(None, "<i4")),
    (Tensor(), Tensor(device=1)),
    (Tensor(), Tensor(device=-1)),
    (Tensor(), Tensor(dtype="float16")),
    (Opaque(), Opaque(device=1)),
    (Opaque(), Opaque(dtype="int32")),
]


def reading(example):
    return unpack_code(example, ArrayView(ADDRESS, SHAPE, STRIDES, 0, np.dtype("float32")), NAMES, 4)


@pytest.mark.parametrize(("example", "array"), ALIKE, ids=range(len(ALIKE)))
def test_an_array_of_the_same_kind_is_read(example, array):
    assert read(reading(example), array) == ((ADDRESS, *SHAPE, *STRIDES), False)


@pytest.mark.parametrize(("example", "array"), OTHER, ids=range(len(OTHER)))
def test_another_kind_is_noticed(example, array):
    assert read(reading(example), array)[1]


def test_an_array_of_another_rank_cannot_be_read():
    with pytest.raises(ValueError):
        read(reading(Interface(None)), Interface(None, shape=(4, 6)))


def test_scalars_have_no_axes():
    scope = {"x": Interface(None, shape=())}
    made = unpack_code(Interface(None, shape=()), ArrayView(ADDRESS, (), (), 0), Names("x", "p", (), ()), 4)
    exec("\n".join(made.lines), scope)
    assert scope["p"] == ADDRESS
