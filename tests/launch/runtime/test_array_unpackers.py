"""The lines that read arrays of each library, run as a launch stub would."""

import sys
import types

import numpy as np
import pytest

from tileiras_build.launch.runtime.array_unpackers import Names, Wanted, unpack_code
from tileiras_build.launch.runtime.pack_arguments import ArrayView

SHAPE, STRIDES, ADDRESS = (4, 6, 5), (30, 5, 1), 0x7000
NAMES = Names("x", "p", ("n0", "n1", "n2"), ("s0", "s1", "s2"))


class Interface:
    def __init__(self, strides, kind="<f4", shape=SHAPE, readonly=False, **more):
        data = ADDRESS, readonly
        self.__cuda_array_interface__ = {"shape": shape, "typestr": kind, "data": data, "strides": strides, **more}


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
    module._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0x99)
    monkeypatch.setitem(sys.modules, "torch", module)


def read(reading, array, handle=0) -> tuple[tuple[int, ...], bool]:
    """The values that the lines read from ``array``, and whether a guard says that it is of another kind."""
    scope = {"x": array, "view": lambda given, stream: given.view, "handle": handle} | reading.names
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


PLAIN = Wanted()


def reading(example, wanted=PLAIN):
    return unpack_code(example, ArrayView(ADDRESS, SHAPE, STRIDES, 0, np.dtype("float32")), NAMES, wanted)


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
    made = unpack_code(Interface(None, shape=()), ArrayView(ADDRESS, (), (), 0), Names("x", "p", (), ()), Wanted())
    exec("\n".join(made.lines), scope)
    assert scope["p"] == ADDRESS


@pytest.mark.parametrize("example", [Interface(None), Tensor(), Opaque()], ids=["interface", "torch", "view"])
def test_of_a_plain_pointer_the_address_alone_is_read(example):
    names, view = Names("x", "p", (), (), False), ArrayView(ADDRESS, SHAPE, STRIDES, 0, np.dtype("float32"))
    made = unpack_code(example, view, names, Wanted())
    scope = {"x": example, "view": lambda given, stream: given.view, "handle": 0} | made.names
    exec("\n".join(made.lines), scope)
    assert scope["p"] == ADDRESS and "n0" not in scope and "s0" not in scope


# (array, handle of the launch's stream, whether its producer's work may be on another stream)
STREAMS = [
    (Interface(None), 0x99, False),
    (Interface(None, stream=None), 0x99, False),
    (Interface(None, stream=0x99), 0x99, False),
    (Interface(None, stream=1), 0, False),
    (Interface(None, stream=1), 0x99, True),
    (Interface(None, stream=0x98), 0x99, True),
    (Interface(None, stream=2), 0, True),
    (Tensor(), 0x99, False),
    (Tensor(), 0, True),
]


@pytest.mark.parametrize(("array", "handle", "is_late"), STREAMS, ids=range(len(STREAMS)))
def test_work_on_another_stream_is_noticed(array, handle, is_late):
    made = reading(array, Wanted(stream_order=True))
    assert read(made, array, handle)[1] == is_late


def test_tensors_of_a_torch_without_streams_are_seen_by_the_driver(torch):
    del sys.modules["torch"]._C
    assert any("view(" in line for line in reading(Tensor(), Wanted(stream_order=True)).lines)


@pytest.mark.parametrize(
    "wanted", [Wanted(written=True), Wanted(home_of=lambda address: 1)], ids=["read_only", "device"]
)
def test_memory_that_the_kernel_cannot_use_is_noticed(wanted):
    assert read(reading(Interface(None), wanted), Interface(None, readonly=True))[1]
    assert not read(reading(Interface(None), Wanted(True, True, lambda address: 0)), Interface(None))[1]
