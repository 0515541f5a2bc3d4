"""Threads launch kernels of one library: each is loaded once, and never after load_all; ThreadSanitizer reports no race."""

import os
import subprocess

import pytest

from tests.launch.packages.sample_library import NAME
from tests.launch.runtime import fake_libcuda
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run

THREADS, LAUNCHES = 8, 25
PROGRAM = """
#include "sample.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static sample_library *library;
static pthread_barrier_t start;

static void *work(void *unused)
{
    const sample_vector_add_f32_arguments plain = {
        {0x10000, {1000}, {1}}, {0x20000, {1000}, {1}}, {0x30000, {1000}, {1}}};
    const sample_vector_add_f16_arguments tensor = {
        {0x10000, {1000}, {64}}, {0x20000, {1000}, {64}}, {0x30000, {1000}, {64}}};
    const sample_grid grid = {4, 1, 1};
    int index;
    pthread_barrier_wait(&start);
    for (index = 0; index < LAUNCHES; ++index)
        if (sample_launch_vector_add_f32(library, grid, NULL, &plain) || sample_launch_vector_add_f16(library, grid, NULL, &tensor))
            exit(2);
    return unused;
}

int main(int count, char **words)
{
    pthread_t threads[THREADS];
    int index;
    CUresult status;
    if (sample_open_file(&library, words[1]))
        return 1;
    if (count > 2 && (status = sample_load_all(library))) {
        puts(sample_error_string(status));
        return 3;
    }
    pthread_barrier_init(&start, NULL, THREADS);
    for (index = 0; index < THREADS; ++index)
        pthread_create(&threads[index], NULL, work, NULL);
    for (index = 0; index < THREADS; ++index)
        pthread_join(threads[index], NULL);
    sample_close(library);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(package, tmp_path_factory):
    return build(package, tmp_path_factory.mktemp("threads"))


def build(package, folder, *more: str) -> fake_libcuda.FakeCuda:
    """The program, by options beside those that everybody's have."""
    cuda = fake_libcuda.build(folder, *more)
    (folder / "main.c").write_text(PROGRAM)
    sizes = [f"-DTHREADS={THREADS}", f"-DLAUNCHES={LAUNCHES}", "-D_POSIX_C_SOURCE=200809L"]
    options = [
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-isystem",
        cuda_include(),
        f"-I{package}/include",
    ]
    sources = [folder / "main.c", package / f"src/{NAME}.c"]
    run(
        [
            compiler("gcc"),
            *options,
            *more,
            *sizes,
            *sources,
            f"-L{folder}",
            "-lcuda",
            "-pthread",
            "-o",
            folder / "main",
        ]
    )
    return cuda


@pytest.mark.parametrize("first", [[], ["all"]], ids=["by_a_launch", "by_load_all"])
def test_kernels_are_loaded_once(program, package, first):
    log = program.folder / "log"
    log.unlink(missing_ok=True)
    environment = os.environ | {
        "FAKE_CUDA_LOG": str(log), "FAKE_CUDA_SM": "90", "FAKE_CUDA_PARAMS": "8", "LD_LIBRARY_PATH": str(program.folder)
    }  # fmt: skip
    run([program.folder / "main", package / f"{NAME}.fatbin", *first], env=environment)
    calls = [line.split()[0] for line in log.read_text().splitlines()]
    expected = {"cuLibraryLoadData": 2, "cuLibraryGetKernel": 2, "cuKernelSetAttribute": 1}
    expected |= {"cuKernelGetFunction": 2} if first else {}
    counts = {name: calls.count(name) for name in expected}
    assert counts == expected
    assert calls.count("cuLaunchKernelEx") == 2 * THREADS * LAUNCHES
    if first:
        assert calls.index("cuLaunchKernelEx") > max(calls.index(name) for name in counts)
        assert not set(calls[calls.index("cuLaunchKernelEx") :]) & counts.keys()


def test_load_all_says_which_kernel_has_broken_code(program, package):
    """A driver may put off the loading of a kernel to its first launch."""
    environment = os.environ | {
        "FAKE_CUDA_LOG": str(program.folder / "log"), "FAKE_CUDA_SM": "90", "FAKE_CUDA_PARAMS": "8", "FAKE_CUDA_BROKEN": "1",
        "LD_LIBRARY_PATH": str(program.folder),
    }  # fmt: skip
    command = [program.folder / "main", package / f"{NAME}.fatbin", "all"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "kernel vector_add_f16: cuKernelGetFunction failed: CUDA_ERROR\n")


SANITIZED = ("-fsanitize=thread", "-g", "-O1")


def sanitizer(folder) -> None:
    """Skip where ThreadSanitizer is not installed, or cannot run on this system."""
    (folder / "probe.c").write_text("int main(void) { return 0; }")
    command = [compiler("gcc"), *SANITIZED, folder / "probe.c", "-o", folder / "probe"]
    for words in (command, [folder / "probe"]):
        if subprocess.run(list(map(str, words)), capture_output=True, check=False).returncode:
            pytest.skip("no ThreadSanitizer: install libtsan of this compiler")


def test_no_race_is_seen(package, tmp_path):
    """Loading takes so long that all threads want the kernel meanwhile; what the driver does orders none of them. Handles are
    written by the driver, which is watched too.
    """
    sanitizer(tmp_path)
    cuda = build(package, tmp_path, *SANITIZED)
    environment = os.environ | {
        "FAKE_CUDA_LOG": str(tmp_path / "log"), "FAKE_CUDA_SM": "90", "FAKE_CUDA_PARAMS": "8", "LD_LIBRARY_PATH": str(cuda.folder),
        "FAKE_CUDA_PAUSE": "50000", "TSAN_OPTIONS": "halt_on_error=1 exitcode=66 io_sync=0",
    }  # fmt: skip
    run([tmp_path / "main", package / f"{NAME}.fatbin"], env=environment)
