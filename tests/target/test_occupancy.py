"""Occupancy: the same as NVIDIA's own calculator says, and what limits it."""

import itertools
import subprocess

import pytest

from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run
from tileiras_build.target.occupancy import Occupancy, occupancy
from tileiras_build.target.targets import TARGETS

# sm_88 is not in NVIDIA's calculator: it is checked as its neighbor.
CASES = list(itertools.product((32, 64, 96, 128, 160, 256, 384, 512, 1024), (16, 24, 33, 40, 64, 65, 96, 128, 168, 255),
                               (0, 1, 1024, 16384, 33000, 49152, 65536, 99 * 1024)))  # fmt: skip

PROGRAM = """
#include <cuda_occupancy.h>
#include <cstdio>

int main()
{
    int major, minor, threads_per_sm, threads, registers;
    unsigned long shared_per_sm, optin, shared;
    while (scanf("%d %d %d %lu %lu %d %d %lu", &major, &minor, &threads_per_sm, &shared_per_sm, &optin, &threads,
                 &registers, &shared) == 8) {
        cudaOccDeviceProp device;
        cudaOccFuncAttributes function;
        cudaOccDeviceState state;
        cudaOccResult result;
        device.computeMajor = major, device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = threads_per_sm;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536;
        device.warpSize = 32, device.numSms = 1;
        device.sharedMemPerBlock = 49152, device.sharedMemPerMultiprocessor = shared_per_sm;
        device.sharedMemPerBlockOptin = optin, device.reservedSharedMemPerBlock = 1024;
        function.maxThreadsPerBlock = 1024, function.numRegs = registers, function.sharedSizeBytes = 0;
        function.partitionedGCConfig = PARTITIONED_GC_OFF, function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        function.maxDynamicSharedSizeBytes = optin, function.numBlockBarriers = 1;
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, shared);
        printf("%d %d\\n", (int)error, result.activeBlocksPerMultiprocessor);
    }
}
"""


@pytest.fixture(scope="module")
def calculator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("occupancy")
    (folder / "main.cc").write_text(PROGRAM)
    run([compiler("g++"), "-w", f"-I{cuda_include()}", folder / "main.cc", "-o", folder / "main"])
    return folder / "main"


@pytest.mark.parametrize(
    "target", [target for target in TARGETS.values() if target.number != 88], ids=lambda target: target.name
)
def test_same_as_nvidia_s_calculator(calculator, target):
    limits = target.sm_limits
    cases = [case for case in CASES if case[2] <= target.max_shared_memory]
    head = (
        f"{target.number // 10} {target.number % 10} {limits.threads} {limits.shared_memory} {target.max_shared_memory}"
    )
    text = "".join(f"{head} {threads} {registers} {shared}\n" for threads, registers, shared in cases)
    done = subprocess.run([calculator], input=text, capture_output=True, text=True, timeout=60, check=True)
    expected = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert [(0, occupancy(target, *case).ctas) for case in cases] == expected


def test_limit_and_share_are_named():
    hopper = TARGETS["sm_90"]
    assert occupancy(hopper, 128, 32, 0) == Occupancy(16, 1.0, "threads")
    assert occupancy(hopper, 128, 128, 0) == Occupancy(4, 0.25, "registers")
    assert occupancy(hopper, 128, 32, 227 * 1024) == Occupancy(1, 1 / 16, "shared memory")
    assert occupancy(hopper, 32, 16, 0) == Occupancy(32, 0.5, "blocks")
    assert occupancy(hopper, 1024, 255, 0) == Occupancy(0, 0.0, "registers")


def test_an_allocation_of_tensor_memory_waits_for_free_columns():
    blackwell = TARGETS["sm_100"]
    assert occupancy(blackwell, 128, 32, 0, 256) == Occupancy(2, 1 / 8, "tensor memory")
    assert occupancy(blackwell, 128, 32, 227 * 1024, 256) == Occupancy(1, 1 / 16, "shared memory")
