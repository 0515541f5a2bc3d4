"""The adapter of the real driver: each call matches the signature in cuda.bindings, and passes the right values."""

import ctypes
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from cuda.bindings import driver as cuda

from tests.launch.runtime.fake_driver import CheckedBindings, RecordingEncoder, launched
from tileiras_build.core.errors import InvalidInput
from tileiras_build.launch.runtime.cuda_python_driver import (
    CudaDriver,
    Driver,
    aligned,
    row_major,
    stream_handle,
)
from tileiras_build.launch.runtime.encode_tensor_maps import TensorMap
from tileiras_build.launch.runtime.loaded_kernel import LoadedKernel
from tileiras_build.launch.runtime.pack_arguments import ArrayView, is_array
from tileiras_build.manifest.launch_manifest import Argument, Launch, Parameter

MAP = TensorMap("bf16", 0x1000, (640, 480), (2048,), (64, 128), (1, 2), "64B", "none", "nan", "128B")


def test_every_method_of_the_seam_is_there():
    methods = {name for name in vars(Driver) if not name.startswith("_")}
    own = {"device_count"}  # for itself
    assert methods | own == {name for name in vars(CudaDriver) if not name.startswith("_")}


def test_device_is_the_context_s():
    answers = {"cuCtxGetCurrent": cuda.CUcontext(5), "cuCtxGetDevice": cuda.CUdevice(1), "cuDeviceGetAttribute": 9}
    bindings = CheckedBindings(answers)
    assert CudaDriver(bindings).device() == (1, 99)
    assert not bindings.named("cuCtxSetCurrent")
    asked = [call["attrib"].name for call in bindings.named("cuDeviceGetAttribute")]
    assert asked == [f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}" for part in ("MAJOR", "MINOR")]


def test_without_a_context_gpu_0_gets_its_primary_one():
    answers = {
        "cuCtxGetCurrent": cuda.CUcontext(0), "cuDeviceGet": cuda.CUdevice(0), "cuCtxGetDevice": cuda.CUdevice(0),
        "cuDevicePrimaryCtxRetain": cuda.CUcontext(7), "cuDeviceGetAttribute": 8,
    }  # fmt: skip
    bindings = CheckedBindings(answers)
    CudaDriver(bindings).device()
    assert int(bindings.named("cuCtxSetCurrent")[0]["ctx"]) == 7


def test_image_and_kernel_are_loaded():
    bindings = CheckedBindings({"cuLibraryLoadData": cuda.CUlibrary(3), "cuLibraryGetKernel": cuda.CUkernel(4)})
    driver = CudaDriver(bindings)
    kernel = driver.kernel(driver.load(b"image"), "entry")
    assert int(kernel) == 4
    assert bindings.named("cuLibraryLoadData")[0]["code"] == b"image"
    assert bindings.named("cuLibraryGetKernel")[0]["name"] == b"entry"
    driver.unload(cuda.CUlibrary(3))
    assert int(bindings.named("cuLibraryUnload")[0]["library"]) == 3


def test_shared_memory_is_asked_for_beyond_the_common_limit_only():
    bindings = CheckedBindings()
    driver = CudaDriver(bindings)
    driver.allow_shared_memory(cuda.CUkernel(4), 1, 48 * 1024)
    assert not bindings.calls
    driver.allow_shared_memory(cuda.CUkernel(4), 1, 48 * 1024 + 1)
    (call,) = bindings.named("cuKernelSetAttribute")
    assert call["attrib"] == cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert (call["val"], int(call["dev"])) == (48 * 1024 + 1, 1)


def test_descriptor_is_encoded():
    encoder = RecordingEncoder()
    bindings = CheckedBindings({"cuGetProcAddress": encoder.address})
    driver = CudaDriver(bindings)
    assert driver.encode(MAP) == b"\xab" * 128
    (call,) = encoder.calls
    assert (call.rank, call.address) == (2, 0x1000)
    assert (call.shape, call.strides, call.box, call.steps) == ([640, 480], [2048], [64, 128], [1, 2])
    assert call.modes == [
        cuda.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        cuda.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_64B,
        cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    ]
    driver.encode(MAP)
    (asked,) = bindings.named("cuGetProcAddress")
    assert (asked["symbol"], asked["cudaVersion"], int(asked["flags"])) == (b"cuTensorMapEncodeTiled", 12000, 0)


def test_descriptors_lie_on_64_bytes_wherever_python_allocates():
    encoder = RecordingEncoder()
    driver = CudaDriver(CheckedBindings({"cuGetProcAddress": encoder.address}))
    held = [bytearray(16 * size) for size in range(1, 64) if driver.encode(MAP)]
    assert len(held) == 63 and all(call.place % 64 == 0 for call in encoder.calls)


@pytest.mark.parametrize(
    "element", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "tf32", "f64"]
)
def test_every_element_has_a_data_type(element):
    encoder = RecordingEncoder()
    driver = CudaDriver(CheckedBindings({"cuGetProcAddress": encoder.address}))
    driver.encode(TensorMap(element, 0, (1,), (), (1,), (1,), "none", "none", "zero", "none"))
    assert len(encoder.calls) == 1


def test_refused_descriptor_names_the_driver_s_reason():
    encoder = RecordingEncoder(status=1)
    driver = CudaDriver(CheckedBindings({"cuGetProcAddress": encoder.address}))
    with pytest.raises(InvalidInput, match="cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE"):
        driver.encode(MAP)


def test_a_driver_without_tensor_maps_is_one_sentence():
    with pytest.raises(InvalidInput, match="the driver lacks cuTensorMapEncodeTiled; install the NVIDIA driver of"):
        CudaDriver(CheckedBindings({"cuGetProcAddress": 0})).encode(MAP)


_LAUNCH_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)


@pytest.mark.parametrize("status", [0, 1])
def test_launch_is_configured(status):
    calls = []

    def launch(config, kernel, pointers, extra):
        [place] = (ctypes.c_uint64 * 1).from_address(pointers)
        calls.append((launched(SimpleNamespace(address=config)), kernel, ctypes.string_at(place, 8), extra))
        return status

    function = _LAUNCH_TYPE(launch)
    driver = CudaDriver(CheckedBindings({"cuGetProcAddress": ctypes.cast(function, ctypes.c_void_p).value}))
    rows = {
        "params": [Parameter(name="n", kind="i64", size=8, offset=0)],
        "arguments": [Argument(name="n", kind="scalar", param=0)],
    }
    row = Launch(threads_per_cta=128, **rows)
    kernel = LoadedKernel("k", row, 4, driver, 0)
    with (
        nullcontext() if not status else pytest.raises(InvalidInput, match="cuLaunchKernelEx of k failed: CUDA_ERROR_")
    ):
        kernel.enqueue((5, 6, 7), [-2], 99)
    assert calls == [(((5, 6, 7), (128, 1, 1), 0, 99), 4, (-2).to_bytes(8, "little", signed=True), None)]


def test_parameters_lie_on_64_bytes():
    data = [bytes(range(size)) for size in (1, 4, 8, 128)]
    places = [aligned(part) for part in data]
    assert all(place.address % 64 == 0 for place in places)
    assert [ctypes.string_at(place.address, len(part)) for place, part in zip(places, data)] == data


def test_failure_names_the_call_and_the_driver_s_reason():
    driver = CudaDriver(CheckedBindings(failing="cuLibraryLoadData"))
    with pytest.raises(InvalidInput, match=r"error\[driver\]: cuLibraryLoadData failed: CUDA_ERROR_INVALID_VALUE"):
        driver.load(b"image")


@pytest.mark.parametrize("transposed", [False, True])
def test_arrays_are_seen_through_dlpack(transposed):
    pytest.importorskip("cuda.core")
    array = np.zeros((3, 5), np.float16)
    array = array.T if transposed else array
    strides = (1, 5) if transposed else (5, 1)
    assert CudaDriver(CheckedBindings()).view(array, -1) == ArrayView(
        array.ctypes.data, array.shape, strides, None, np.dtype("float16"), False
    )


def test_no_array_is_one_sentence():
    pytest.importorskip("cuda.core")
    with pytest.raises(InvalidInput, match="cannot read an argument as an array"):
        CudaDriver(CheckedBindings()).view(object(), -1)


class Raises:
    """An array whose producer raises what nobody expects."""

    def __init__(self, error):
        self.error = error

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        raise self.error

    @property
    def __cuda_array_interface__(self):
        raise self.error


class Silent(Exception):
    def __str__(self):
        raise OSError


@pytest.mark.parametrize(("error", "sentence"), [
    (KeyError("lost"), "'lost'"), (AssertionError(), "AssertionError"), (OSError("a\nb"), "a b"), (Silent(), "a Silent"),
    (ValueError("\udc80"), r"\\udc80"), (MemoryError("m" * 500), "m" * 197 + r"\.\.\."),
])  # fmt: skip
def test_whatever_a_producer_raises_is_one_sentence(error, sentence):
    pytest.importorskip("cuda.core")
    array = Raises(error)
    assert is_array(array)
    with pytest.raises(
        InvalidInput, match=rf"cannot read an argument as an array: {sentence}; pass an array"
    ) as caught:
        CudaDriver(CheckedBindings()).view(array, -1)
    str(caught.value).encode()


def test_an_array_may_raise_when_it_is_looked_at():
    class Closed:
        def __getattr__(self, name):
            raise RuntimeError("closed")

    assert is_array(Closed())
    with pytest.raises(InvalidInput, match="cannot read an argument as an array: closed"):
        CudaDriver(CheckedBindings()).view(Closed(), -1)


class Torch:
    cuda_stream = 11


class Core:
    def __cuda_stream__(self):
        return 0, 12


@pytest.mark.parametrize(
    ("stream", "handle"), [(None, 0), (Torch(), 11), (Core(), 12), (13, 13), (cuda.CUstream(14), 14)]
)
def test_streams_of_all_libraries_are_understood(stream, handle):
    assert stream_handle(stream) == handle


def test_no_stream_is_one_sentence():
    with pytest.raises(InvalidInput, match="str is not a stream"):
        stream_handle("stream")


def test_row_major_strides():
    assert row_major((2, 3, 4)) == (12, 4, 1) and row_major(()) == ()
