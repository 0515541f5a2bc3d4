"""Initcheck: the pattern of uninitialized memory, and the first read of it."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.launch import LaunchOptions, execute
from tileiras_build.simulate.emulator.ptx.program import load
from tileiras_build.simulate.emulator.sanitizers.initcheck import Initcheck, fill_unwritten, flip_varying_bits

COUNT = 64  # words


def unwritten(dtype=np.uint32):
    array = aligned(np.zeros(COUNT, np.uint32)).view(dtype)
    fill_unwritten(array.__array_interface__["data"][0], array.nbytes)
    return array


def first_read(body: str, array: np.ndarray):
    """The first uninitialized read by 32 threads: t0 is the thread's index, u0 the address of the array."""
    memory = emulator.Memory()
    address = memory.map_array(array)
    reads = Initcheck([(address, array.nbytes)])
    ptx = kernel("mov.u32 t0, %tid.x; mul.wide.u32 u1, t0, 4; add.u64 u1, u0, u1;" + body)
    execute(load(ptx, "k", None), 1, 32, [address.to_bytes(8, "little")], memory, 0, LaunchOptions(initcheck=reads))
    return reads.first


@pytest.mark.parametrize("body", ["ld.global.u32 t1, [u1];", "mov.u32 t1, 1; red.global.add.u32 [u1], t1;"])
def test_first_read_is_recorded_with_thread_and_address(body):
    array = unwritten()
    array[:8] = 0
    found = first_read(body, array)
    assert found.thread[1] == (8, 0, 0) and found.address == array.__array_interface__["data"][0] + 32


@pytest.mark.parametrize("body", ["st.global.u32 [u1], t0; ld.global.u32 t1, [u1];", "st.global.u32 [u1], t0;", "ret;"])
def test_memory_written_by_the_kernel_is_initialized(body):
    assert first_read(body, unwritten()) is None


def test_partly_written_granule_is_initialized():
    array = unwritten()
    array[::4] = 7
    assert first_read("ld.global.u32 t1, [u1];", array) is None


@pytest.mark.parametrize(("dtype", "least"), [(np.float16, 0.5), (np.float32, 2**-8), (np.float64, 2**-61)])
def test_uninitialized_floats_have_moderate_magnitude_before_and_after_flipping(dtype, least):
    array = unwritten(dtype)
    before = array.copy()
    assert ((np.abs(before) > least) & (np.abs(before) < 2)).all()
    array[:16] = 1
    flip_varying_bits(array.__array_interface__["data"][0], array.nbytes)
    assert ((np.abs(array) > least) & (np.abs(array) < 2)).all()
    assert (array[:16] == 1).all() and (np.abs(array[16:] - before[16:]) > least).all()
