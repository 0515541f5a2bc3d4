"""Programs that launch CUDA Tile C++ kernels through cuda.core: images, arguments and errors."""

import subprocess
import sys

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.core.errors import InvalidInput
from tileiras_build.cutile.child_processes import inherit_device
from tileiras_build.cutile.kernel_fault_report import KernelFault
from tileiras_build.cutile.run_script_settings import Settings
from tileiras_build.simulate.emulator import ptx_bundle

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
core = pytest.importorskip("cuda.core", reason="cuda-core is not installed")
from cuda.bindings import driver  # noqa: E402 - it is there where cuda.core is

from tests.cutile import faulty_kernels as kernels  # noqa: E402 - it imports cuTile

N = kernels.TILE


@pytest.fixture(scope="module")
def session():
    with hook.enabled("sm_90", device="cpu") as session:
        yield session


@pytest.fixture(scope="module")
def image(session, tmp_path_factory):
    """What ``tileiras`` leaves under the emulator, of bytecode whose kernel adds 1 to an array of one dimension."""
    folder = tmp_path_factory.mktemp("image")
    kernel, exported = kernels.plus_one, session.cutile
    signature = session._signature(kernel, (np.zeros(N, np.float32), N))
    (folder / "k.tilebc").write_bytes(exported.export(kernel, signature, "sm_90").data)
    with inherit_device(Settings("cpu", "sm_90")):
        words = ["as", "--gpu-name=sm_90", "k.tilebc", "-o", "k.cubin"]
        subprocess.run([sys.executable, "-m", "tileiras_build", *words], cwd=folder, check=True)
    return (folder / "k.cubin").read_bytes()


def launch(image, tensor, *sizes):
    success, module = driver.cuModuleLoadData(image)
    assert success == driver.CUresult.CUDA_SUCCESS
    _, count = driver.cuModuleGetFunctionCount(module)
    _, (function,) = driver.cuModuleEnumerateFunctions(count, module)
    kernel = core.ObjectCode.from_cubin(image).get_kernel(driver.cuFuncGetName(function)[1].decode())
    stream = core.Stream.from_handle(torch.cuda.current_stream().cuda_stream)
    core.launch(stream, core.LaunchConfig(grid=1, block=1), kernel, np.uint64(tensor.data_ptr()), *sizes)


def test_a_kernel_runs_on_the_tensors_that_its_pointers_point_into(image):
    x = torch.zeros(N, device="cuda")
    launch(image, x, np.int32(N), np.int32(1))
    assert (x == 1).all() and tuple(core.Device(0).compute_capability) == (9, 0)


def test_a_kernel_runs_on_the_gradients_that_a_function_is_given(image):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, gradient):
            held = gradient.contiguous()
            launch(image, held, np.int32(N), np.int32(1))
            return held

    x = torch.zeros(N, device="cuda", requires_grad=True)
    (3 * Doubled.apply(x)).sum().backward()
    assert (x.grad == 4).all()


def test_faults_name_the_argument(image):
    short = torch.zeros(4, device="cuda")
    with pytest.raises(KernelFault, match='past the end of array "argument 0"|after the end of array "argument 0"'):
        launch(image, short, np.int32(N), np.int32(1))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((), "takes 3 arguments, got 1"), ((np.int64(N), np.int32(1)), "has 8 bytes, its parameter has 4")],
)
def test_arguments_that_do_not_fit_are_refused(image, sizes, message):
    with pytest.raises(InvalidInput, match=message):
        launch(image, torch.zeros(N, device="cuda"), *sizes)


def test_machine_code_is_refused(session):
    with pytest.raises(InvalidInput, match="emulator-image"):
        core.ObjectCode.from_cubin(b"\x7fELF")
    assert driver.cuModuleLoadData(b"\x7fELF")[0] == driver.CUresult.CUDA_ERROR_INVALID_IMAGE


def test_an_image_holds_what_launches_need(image):
    ptx, manifest = ptx_bundle.unpack(image)
    assert ".loc" in ptx and len(manifest["kernels"]) == 1


# ---- without PyTorch: memory, streams, events and properties -----------------------------------------------------
def test_a_kernel_runs_on_memory_that_cuda_core_has_allocated(image):
    kernel = core.ObjectCode.from_cubin(image).get_kernel(kernels.plus_one._pyfunc.__name__)
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    buffer = device.allocate(4 * N, stream=stream)
    host = np.arange(N, dtype=np.float32)
    assert driver.cuMemcpyHtoD(buffer.handle, host, host.nbytes) == (driver.CUresult.CUDA_SUCCESS,)
    core.launch(stream, core.LaunchConfig(grid=1, block=1), kernel, buffer, np.int32(N), np.int32(1))
    stream.sync()
    out = np.zeros_like(host)
    assert driver.cuMemcpyDtoH(out, buffer.handle, out.nbytes) == (driver.CUresult.CUDA_SUCCESS,)
    assert (out == host + 1).all()
    again = buffer.copy_to(stream=stream)
    assert (np.from_dlpack(again).view(np.float32) == out).all() and again.size == buffer.size


def test_memory_beside_what_was_allocated_is_no_place_for_a_kernel(image):
    kernel = core.ObjectCode.from_cubin(image).get_kernel(kernels.plus_one._pyfunc.__name__)
    short = core.Device().allocate(16)
    with pytest.raises(KernelFault, match='end of array "argument 0"'):
        core.launch(core.Device().default_stream, core.LaunchConfig(grid=1), kernel, short, np.int32(N), np.int32(1))


def test_properties_streams_and_events(session):
    device = core.Device()
    assert (
        device.properties.multiprocessor_count == 132 and device.properties.max_shared_memory_per_block_optin > 200_000
    )
    assert isinstance(device.name, str) and device.arch == "90" and core.Device.get_all_devices()[0].device_id == 0
    with pytest.raises(AttributeError, match="the device has no property colour"):
        device.properties.colour  # noqa: B018
    stream = device.create_stream()
    start, end = device.create_event(), device.create_event()
    stream.record(start)
    stream.record(end)
    end.sync()
    assert end - start >= 0 and stream.handle and stream.__cuda_stream__() == (0, stream.handle)
    assert device.create_stream(stream).handle == stream.handle


def test_the_runtime_answers_for_the_same_device(session):
    runtime = pytest.importorskip("cuda.bindings.runtime")
    good, bad = runtime.cudaError_t.cudaSuccess, runtime.cudaError_t.cudaErrorInvalidValue
    kind, which = runtime.cudaMemcpyKind, runtime.cudaDeviceAttr.cudaDevAttrMultiProcessorCount
    assert runtime.cudaDeviceGetAttribute(which, 0) == (good, 132) and runtime.cudaGetDeviceCount() == (good, 1)
    _, place = runtime.cudaMalloc(64)
    host, back = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    assert runtime.cudaMemcpy(place, host, 64, kind.cudaMemcpyHostToDevice) == (good,)
    assert runtime.cudaMemset(place + 32, 0, 32) == (good,)
    assert runtime.cudaMemcpy(back, place, 64, kind.cudaMemcpyDeviceToHost) == (good,)
    assert list(back) == [*range(8), *[0] * 8]
    assert runtime.cudaMemcpy(place + 32, host, 64, kind.cudaMemcpyHostToDevice) == (bad,)
    assert runtime.cudaFree(place) == (good,) and runtime.cudaFree(place) == (bad,)
    assert runtime.cudaMalloc(1 << 50)[0] == runtime.cudaError_t.cudaErrorMemoryAllocation
    _, properties = runtime.cudaGetDeviceProperties(0)
    assert (properties.major, properties.multiProcessorCount) == (9, 132)


def test_the_driver_has_memory_streams_and_events(session):
    good, bad = driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_INVALID_VALUE
    assert driver.cuInit(0) == (good,) and driver.cuDeviceGetCount() == (good, 1)
    _, place = driver.cuMemAlloc(32)
    assert driver.cuMemsetD32(place, 7, 8) == (good,)
    out = np.zeros(8, np.int32)
    assert driver.cuMemcpyDtoH(out, place, 32) == (good,) and (out == 7).all()
    assert driver.cuMemcpyDtoH(out, int(place) + 4, 32) == (bad,)
    (_, start), (_, end), (_, stream) = driver.cuEventCreate(0), driver.cuEventCreate(0), driver.cuStreamCreate(0)
    assert driver.cuEventElapsedTime(start, end) == (bad, None)
    assert driver.cuEventRecord(start, stream) == driver.cuEventRecord(end, stream) == (good,)
    assert driver.cuEventElapsedTime(start, end)[1] >= 0
    assert driver.cuMemFree(place) == (good,) and driver.cuMemFree(place) == (bad,)
    assert driver.cuGetErrorName(bad) == (good, b"CUDA_ERROR_INVALID_VALUE")


@pytest.mark.parametrize("name", ["cuModuleGetFunction", "cuLaunchKernel"])
def test_launches_through_the_driver_are_refused(session, name):
    with pytest.raises(
        InvalidInput, match=rf"error\[cuda-driver-unsupported\].*{name} of cuda.bindings.driver needs a GPU"
    ):
        getattr(driver, name)(None, b"kernel")
