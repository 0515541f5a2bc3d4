"""Programs that launch kernels of CUDA Tile C++ through cuda.core: what they load, what they pass, what goes wrong."""

import subprocess
import sys

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.cutile.inherit import inherited
from tileiras_build.cutile.reports import KernelFault
from tileiras_build.cutile.settings import Settings
from tileiras_build.emulator import image as emulator_image
from tileiras_build.errors import InvalidInput

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
    with inherited(Settings("cpu", "sm_90")):
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
    ("sizes", "message"), [((), "takes 3 arguments, and 1 were given"), ((np.int64(N), np.int32(1)), "8 bytes .* of 4")]
)
def test_arguments_that_do_not_fit_are_refused(image, sizes, message):
    with pytest.raises(InvalidInput, match=message):
        launch(image, torch.zeros(N, device="cuda"), *sizes)


def test_machine_code_is_refused(session):
    with pytest.raises(InvalidInput, match="emulator-image"):
        core.ObjectCode.from_cubin(b"\x7fELF")
    assert driver.cuModuleLoadData(b"\x7fELF")[0] == driver.CUresult.CUDA_ERROR_INVALID_IMAGE


def test_an_image_holds_what_launches_need(image):
    ptx, manifest = emulator_image.unpack(image)
    assert ".loc" in ptx and len(manifest["kernels"]) == 1
