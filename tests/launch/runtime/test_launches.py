"""Launches from Python, C and C++ through the real CUDA interfaces, up to a driver that records: all say the same."""

import os
import sys
from pathlib import Path

import pytest

from tests.launch.packages import sample_library
from tests.launch.packages.sample_library import NAME, PLAIN, TENSOR, artifacts_of
from tests.launch.runtime import fake_libcuda

ROOT = Path(__file__).resolve().parents[3]
BINDINGS = [path for path in [os.environ.get("PYTHONPATH")] if path]  # of another version, where a tool asks for it
SIZES = {PLAIN: [8, 4, 4] * 3, TENSOR: [*[8, 4, 4] * 3, 128]}
ADDRESSES = (0x10000, 0x20000, 0x30000)
STRIDES = {PLAIN: 1, TENSOR: 64}
GPUS = [(PLAIN, 80), (PLAIN, 86), (PLAIN, 87), (PLAIN, 90), (PLAIN, 100), (TENSOR, 90)]

PYTHON = """
import sys
from tileiras_build.launch.runtime import Library, Address

folder, kernel, stride, *addresses = sys.argv[1:]
parameters = [number for address in addresses for number in (int(address), 1000, int(stride))]
with_stream = type("Stream", (), {"__cuda_stream__": lambda self: (0, 0x99)})()
Library(folder)[kernel].launch((4, 2), *parameters, stream=with_stream)
"""
C = """
#include "sample.h"
#include <stdio.h>
#include <string.h>

int main(int count, char **words)
{
    sample_library *library;
    sample_grid grid = {4, 2, 1};
    CUstream stream = (CUstream)0x99;
    const sample_vector_add_f32_arguments plain = {
        {0x10000, {1000}, {1}}, {0x20000, {1000}, {1}}, {0x30000, {1000}, {1}}};
    const sample_vector_add_f16_arguments tensor = {
        {0x10000, {1000}, {64}}, {0x20000, {1000}, {64}}, {0x30000, {1000}, {64}}};
    CUresult status = count > 2 ? sample_open_file(&library, words[2]) : sample_open_embedded(&library);
    if (!status && !strcmp(words[1], "vector_add_f32"))
        status = sample_launch_vector_add_f32(library, grid, stream, &plain);
    else if (!status)
        status = sample_launch_vector_add_f16(library, grid, stream, &tensor);
    sample_close(library);
    if (status)
        printf("status %d\\n", (int)status);
    return 0;
}
"""
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return sample_library.build(tmp_path_factory.mktemp("sample"), embed=True)


@pytest.fixture(scope="module")
def cuda(tmp_path_factory):
    return fake_libcuda.build(tmp_path_factory.mktemp("cuda"))


def launch_from_python(cuda, package, kernel, number):
    command = [sys.executable, "-c", PYTHON, package, kernel, STRIDES[kernel], *ADDRESSES]
    return cuda.launch(command, number, SIZES[kernel], PYTHONPATH=os.pathsep.join([str(ROOT), *BINDINGS]))


@pytest.mark.parametrize(("kernel", "number"), [(PLAIN, 80), (PLAIN, 90), (TENSOR, 90)])
def test_python_tells_the_driver_what_the_manifest_says(cuda, package, kernel, number):
    calls = launch_from_python(cuda, package, kernel, number)
    artifacts = artifacts_of(kernel, f"sm_{number}")
    maps = [call for call in calls if call[0] == "cuTensorMapEncodeTiled"]
    assert ["cuLibraryLoadData", "0", "0", artifacts.cubin[:512].hex()] in calls
    assert ["cuLibraryGetKernel", "0x52", kernel] in calls
    name, handle, grid, block, shared, stream, *more = calls[-1]
    threads = artifacts.manifest["kernels"][kernel]["threads_per_cta"]
    assert (name, handle, grid, block, stream) == ("cuLaunchKernelEx", "0x53", "4,2,1", f"{threads},1,1", "0x99")
    words = [f"{number.to_bytes(size, 'little').hex()}" for address in ADDRESSES for number, size in
             ((address, 8), (1000, 4), (STRIDES[kernel], 4))]  # fmt: skip
    if kernel == PLAIN:
        assert (shared, more) == ("0", ["params", *words]) and not maps
        return
    assert (shared, more) == ("102400", ["params", *words, "ab" * 128])
    # FLOAT16 is 6, swizzle 128B 3, promotion 128B 2, NaN fill 1; lengths (1000 over 2) / box / steps; the stride is 64
    # f16 in bytes.
    assert maps == [
        ["cuTensorMapEncodeTiled", "6", "0x10000", "500/64/1", "4/4/1", "128", "0", "3", "2", "1", "aligned"]
    ]


ARRAYS = """
import sys
from tileiras_build.launch.runtime import Library

class Array:
    def __init__(self, address):
        self.__cuda_array_interface__ = {
            "shape": (1000,), "strides": (4,), "typestr": "<f4", "data": (address, False), "version": 3,
        }

launch = Library(sys.argv[1])[sys.argv[2]].launch
for _ in range(2):
    launch((4, 2), *(Array(int(address)) for address in sys.argv[3:]), stream=0x99)
"""


def test_arrays_on_the_gpu_fill_the_same_parameters(cuda, package):
    """At the first launch, and at a later one, by a stub."""
    pytest.importorskip("cuda.core")
    command = [sys.executable, "-c", ARRAYS, package, PLAIN, *ADDRESSES]
    calls = cuda.launch(command, 90, SIZES[PLAIN], PYTHONPATH=os.pathsep.join([str(ROOT), *BINDINGS]))
    expected = launch_from_python(cuda, package, PLAIN, 90)
    assert calls == [*expected, expected[-1]]


@pytest.fixture(scope="module", params=["c99", "c++11", "c++17"])
def program(request, cuda, package, tmp_path_factory):
    """The C program, built as C or as C++ with every warning an error, and linked against the driver."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "main.c").write_text(C)
    language = "c++" if request.param.startswith("c++") else "c"
    program = folder / "program"
    sources = [folder / "main.c", package / f"src/{NAME}.c", package / f"src/{NAME}_image.c"]
    include = [f"-I{package / 'include'}", "-isystem", fake_libcuda.cuda_include()]
    tool = fake_libcuda.compiler("g++" if language == "c++" else "gcc")
    options = [f"-std={request.param}", *STRICT, "-x", language]
    fake_libcuda.run([tool, *options, *include, *sources, "-x", "none", f"-L{cuda.folder}", "-lcuda", "-o", program])
    return program


@pytest.fixture(scope="module")
def calls_from_python(cuda, package):
    """The calls by (kernel, number)."""
    return {pair: sorted(launch_from_python(cuda, package, *pair)) for pair in GPUS}


@pytest.mark.parametrize(("kernel", "number"), GPUS)
@pytest.mark.parametrize("image", ["embedded", "file"])
def test_c_and_c_plus_plus_say_the_same_as_python(cuda, package, program, calls_from_python, kernel, number, image):
    where = [package / f"{NAME}.fatbin"] if image == "file" else []
    from_c = cuda.launch([program, kernel, *where], number, SIZES[kernel])
    assert from_c.pop()[0] == "cuLibraryUnload"
    assert sorted(from_c) == calls_from_python[kernel, number]
    assert from_c[-1][0] == "cuLaunchKernelEx"


@pytest.mark.parametrize(("kernel", "number"), [(PLAIN, 75), (TENSOR, 100)])
def test_c_answers_no_binary_where_there_is_none(cuda, package, program, kernel, number):
    log = cuda.folder / "log"
    log.write_text("")
    environment = {"FAKE_CUDA_LOG": str(log), "FAKE_CUDA_SM": str(number), "LD_LIBRARY_PATH": str(cuda.folder)}
    done = fake_libcuda.run([program, kernel], env=environment)
    assert done.stdout == "status 209\n"  # CUDA_ERROR_NO_BINARY_FOR_GPU
    assert log.read_text() == ""


def test_c_refuses_another_image(cuda, program, tmp_path):
    (tmp_path / "other").write_bytes(b"other")
    environment = {"FAKE_CUDA_LOG": str(tmp_path / "log"), "FAKE_CUDA_SM": "90", "LD_LIBRARY_PATH": str(cuda.folder)}
    for path, status in ((tmp_path / "other", 200), (tmp_path / "absent", 301)):
        assert fake_libcuda.run([program, PLAIN, path], env=environment).stdout == f"status {status}\n"
