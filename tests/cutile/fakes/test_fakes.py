"""Stand-ins for a driver, for arrays on a device and for CuPy, without PyTorch."""

import sys
import types

import ml_dtypes
import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.core.errors import InvalidInput
from tileiras_build.cutile.fakes import array_info, dlpack_capsules, post_import_hooks, streams

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")


@pytest.fixture(scope="module", autouse=True)
def device():
    with hook.enabled("sm_120", device="cpu"):
        yield


def test_cutile_hears_of_a_device_of_the_target():
    assert ct._cext.get_compute_capability() == (12, 0)
    assert ct._cext.get_driver_version() >= (13, 0)
    assert ct._cext._get_max_grid_size(0) == (2**31 - 1, 65535, 65535)


@pytest.mark.parametrize("kind", ["float32", "int8", "bool", "complex64", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_a_capsule_says_what_an_array_is_and_that_it_is_on_a_gpu(kind):
    array = np.zeros((4, 6), kind)[::2, 1:]
    found = array_info.describe(array)
    tensor = dlpack_capsules.Managed.from_address(
        dlpack_capsules.pointer_of(dlpack_capsules.capsule(found), dlpack_capsules.NAME)
    ).tensor
    assert (tensor.device.type, tensor.data) == (dlpack_capsules.CUDA, array.__array_interface__["data"][0])
    assert (tuple(tensor.shape[:2]), tuple(tensor.strides[:2])) == ((2, 5), (12, 1))
    assert (tensor.type.bits, tensor.type.lanes) == (8 * array.itemsize, 1)
    assert found.size == 24 * array.itemsize  # of the whole, of which it is a view


def test_an_address_is_that_of_an_element():
    whole = np.zeros((4, 6), np.float32)
    view, start = array_info.describe(whole[1:, ::2].T), whole.__array_interface__["data"][0]
    places = [start + 4 * (6 * row + column) for row, column in ((1, 0), (2, 4), (1, 1), (0, 0))]
    assert [view.index_at(place) for place in (*places, places[0] + 1)] == [(0, 0), (2, 1), None, None, None]
    assert array_info.describe(np.broadcast_to(whole[0, :1], (3,))).index_at(start) is None
    assert array_info.describe(whole[0, 0:1].reshape(())).index_at(start) == ()


def test_the_memory_of_an_array_that_runs_backwards_is_all_of_it():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)[::-1, ::-2]
    found = array_info.describe(type("Other", (), {"__cuda_array_interface__": array.__array_interface__})())
    assert (found.base, found.size) == (array.__array_interface__["data"][0] - 10 * 4, 11 * 4)


def test_arrays_by_other_protocols_are_described_alike():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    interface = types.SimpleNamespace(__cuda_array_interface__={**array.__array_interface__, "version": 3})
    by_dlpack = types.SimpleNamespace(__dlpack__=array.__dlpack__)
    for other in (interface, by_dlpack):
        found, own = array_info.describe(other), array_info.describe(array)
        facts = lambda one: (one.address, one.shape, one.strides, one.element, one.bits, one.code, one.size)
        assert facts(found) == facts(own)


@pytest.mark.parametrize("value", [3, "x", np.zeros(2, "datetime64[s]"), np.zeros(2, ">f4")])
def test_what_is_no_array_of_a_kernel_is_refused(value):
    with pytest.raises(InvalidInput):
        array_info.describe(value)


def test_cupy_is_numpy_whose_arrays_have_more():
    import cupy as cp

    x = cp.arange(4, dtype=cp.float32) + cp.ones(4)
    assert isinstance(x, cp.ndarray) and x.device.id == 0
    assert type(x.get()) is np.ndarray and type(cp.asnumpy(x)) is np.ndarray
    with cp.cuda.Stream() as stream:
        assert cp.cuda.get_current_stream() is stream
    with pytest.raises(AttributeError, match="RawKernel is not supported on the CPU device"):
        cp.RawKernel  # noqa: B018 - looking at it is the test


def test_a_module_is_reported_after_its_import(tmp_path, monkeypatch):
    (tmp_path / "told_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    post_import_hooks.on_import("told_module", lambda module: seen.append(module.value))
    assert not seen
    __import__("told_module")
    assert seen == [1]
    post_import_hooks.on_import("told_module", lambda module: seen.append(2))
    assert seen == [1, 2]
    del sys.modules["told_module"]


def test_a_capture_inside_a_capture_is_refused():
    graph = streams.Graph()
    graph.capture_begin()
    with pytest.raises(RuntimeError, match="already"):
        streams.Graph().capture_begin()
    graph.capture_end()
