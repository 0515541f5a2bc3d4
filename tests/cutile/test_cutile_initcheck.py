"""The check of uninitialized memory: reports only memory that results depend on."""

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.cutile.kernel_fault_report import KernelFault
from tileiras_build.simulate.emulator.sanitizers.initcheck import fill_unwritten

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")

from tests.cutile import faulty_kernels as kernels  # noqa: E402 - it imports cuTile

TILE = kernels.TILE


@pytest.fixture(scope="module", autouse=True)
def device():
    with hook.enabled("sm_90", device="cpu", init_check=True):
        yield


def unwritten(*shape, dtype=np.float32) -> np.ndarray:
    """As an allocation without values leaves it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    part = memory[start : start + size]
    fill_unwritten(part.__array_interface__["data"][0], size)
    return part.view(dtype).reshape(shape)


def test_a_result_that_depends_on_unwritten_memory_is_a_fault():
    x = unwritten(2 * TILE)
    x[:TILE] = 1
    with pytest.raises(KernelFault) as caught:
        ct.launch(0, (2,), kernels.plus_one, (x, TILE))
    fault = caught.value
    assert (fault.id, fault.kernel, fault.block) == ("kernel-uninitialised", "plus_one", (1, 0, 0))
    assert fault.location.line == kernels.line_of("adds one")
    assert 'of array "x" (float32, shape [128]), which is uninitialized' in str(fault)
    assert fault.fault.address == x.__array_interface__["data"][0] + 4 * TILE
    assert (x[:TILE] == 2).all()  # what the kernel has written stays


def test_operands_of_tensor_cores_that_bulk_copies_load_are_seen():
    a, b = unwritten(64, 64, dtype=np.float16), np.ones((64, 64), np.float16)
    out = unwritten(64, 64)
    ct.launch(0, (1,), kernels.matmul, (b, b, out))
    assert (out == 64).all()
    with pytest.raises(KernelFault, match='of array "a" .*which is uninitialized'):
        ct.launch(0, (1,), kernels.matmul, (a, b, out))


@pytest.mark.parametrize("used", [0, TILE // 2])
def test_what_is_masked_away_does_not_matter(used):
    x, y = unwritten(TILE), unwritten(TILE)
    x[:used] = 1
    ct.launch(0, (1,), kernels.masked, (x, y, used))
    assert (y[:used] == 2).all() and not y[used:].any()
    if used:
        with pytest.raises(KernelFault, match="kernel-uninitialised"):
            ct.launch(0, (1,), kernels.masked, (x, y, used + 4))


def test_copies_of_unwritten_memory_do_not_matter():
    x, y = unwritten(TILE), np.zeros(TILE, np.float32)
    ct.launch(0, (1,), kernels.shifted, (x, y, 0))
    np.testing.assert_array_equal(x, y)


def test_allocations_of_cupy_are_marked():
    import cupy

    for x in (cupy.empty(TILE, np.float32), cupy.empty_like(cupy.zeros(TILE, np.float32))):
        with pytest.raises(KernelFault, match="kernel-uninitialised"):
            ct.launch(0, (1,), kernels.plus_one, (x, TILE))
    ct.launch(0, (1,), kernels.plus_one, (cupy.zeros(TILE, np.float32), TILE))


def test_allocations_of_pytorch_are_marked():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    like = torch.zeros(TILE, device="cuda")
    for x in (torch.empty(TILE, device="cuda"), torch.empty_like(like), like.new_empty(TILE)):
        with pytest.raises(KernelFault, match="kernel-uninitialised"):
            ct.launch(0, (1,), kernels.plus_one, (x, TILE))
        x.fill_(1)
        ct.launch(0, (1,), kernels.plus_one, (x, TILE))
        assert (x == 2).all()
