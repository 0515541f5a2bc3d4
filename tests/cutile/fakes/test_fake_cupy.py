"""CuPy's own functions on the emulator: random arrays with a type, the device, its memory and its pools."""

import numpy as np
import pytest

import tileiras_build.cutile as hook

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")


@pytest.fixture(scope="module")
def cupy():
    with hook.enabled("sm_90", device="cpu"):
        import cupy

        yield cupy


@pytest.mark.parametrize(
    "name", ["rand", "randn", "random", "standard_normal", "random_sample", "exponential", "uniform"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_random_arrays_may_have_a_type(cupy, name, dtype):
    given = (4,) if name.startswith("rand") and name in ("rand", "randn") else ()
    more = {} if given else {"size": 4}
    made = getattr(cupy.random, name)(*given, **more, dtype=getattr(cupy, dtype))
    assert isinstance(made, cupy.ndarray) and made.dtype == dtype and made.get().shape == (4,)


def test_generators_and_integers_are_on_the_device(cupy):
    for generator in (
        cupy.random.default_rng(0),
        cupy.random.Generator(cupy.random.XORWOW(0)),
        cupy.random.RandomState(0),
    ):
        assert generator.standard_normal(4, dtype=cupy.float32).get().dtype == np.float32
    assert cupy.random.randint(0, 9, (4,), dtype=cupy.int8).get().dtype == np.int8
    assert cupy.random.default_rng(0).integers(0, 9, size=3).get().shape == (3,)
    assert cupy.random.rand().shape == () and cupy.random.rand().get().ndim == 0
    cupy.random.seed(3)
    first = cupy.random.rand(3).get()
    cupy.random.seed(3)
    assert (cupy.random.rand(3).get() == first).all()


def test_the_device_says_what_it_is(cupy):
    device = cupy.cuda.Device(0)
    assert device.compute_capability == "90" and device == cupy.cuda.Device() and int(device) == 0
    assert device.attributes["MultiProcessorCount"] == 132 and cupy.zeros(1).device.compute_capability == "90"
    assert cupy.cuda.runtime.getDeviceProperties(0)["major"] == 9
    free, total = cupy.cuda.runtime.memGetInfo()
    assert 0 < free <= total and device.mem_info == (free, total)


def test_memory_has_addresses_and_pools(cupy):
    x = cupy.zeros(6)
    assert x.data.ptr == x.__array_interface__["data"][0] and x[2:].data.ptr == x.data.ptr + 16
    assert x.data.mem.size == 48 and x.data.device_id == 0
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
    assert pool.used_bytes() == pool.total_bytes() == 0 and cupy.cuda.alloc(100).ptr % 512 == 0
    pool.set_limit(size=1 << 20)
    assert pool.get_limit() == 1 << 20


@pytest.mark.parametrize("place", ["cuda", "cuda.runtime", "random"])
def test_what_is_not_there_is_a_sentence(cupy, place):
    module = cupy
    for name in place.split("."):
        module = getattr(module, name)
    with pytest.raises(
        AttributeError, match=rf"error\[cupy-unsupported\]: cupy.{place}.absent is not supported on the CPU device"
    ):
        module.absent  # noqa: B018
    assert not hasattr(module, "absent")
