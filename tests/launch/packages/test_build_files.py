"""CMake and pkg-config find a package's launcher, and a program built so runs."""

import os
import subprocess

import pytest

from tests.launch.packages.sample_library import NAME
from tests.launch.runtime import fake_libcuda
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run

C = """
#include "sample.h"

int main(void)
{
    sample_library *library;
    CUresult status = sample_open_embedded(&library);
    sample_close(library);
    return (int)status;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(probe C)
set(CUDAToolkit_INCLUDE_DIRS "{include}")  # what find_package(CUDAToolkit) brings
"""
CMAKE = (
    PROJECT
    + """
find_package(sample CONFIG REQUIRED PATHS "{package}/cmake" NO_DEFAULT_PATH)
if(NOT EXISTS "${{sample_IMAGE}}" OR NOT sample_TARGETS STREQUAL "sm_80 sm_90")
  message(FATAL_ERROR "${{sample_IMAGE}} ${{sample_TARGETS}}")
endif()
add_executable(probe main.c)
target_link_libraries(probe PRIVATE sample::sample)
"""
)


@pytest.fixture(scope="module")
def cuda(tmp_path_factory):
    return fake_libcuda.build(tmp_path_factory.mktemp("cuda"))


def runs(program, cuda):
    environment = os.environ | {"LD_LIBRARY_PATH": str(cuda.folder), "FAKE_CUDA_LOG": str(cuda.folder / "log")}
    return subprocess.run([program], env=environment, check=False).returncode == 0


def test_cmake(package, cuda, tmp_path):
    cmake = compiler("cmake")
    (tmp_path / "main.c").write_text(C)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(include=cuda_include(), package=package))
    run([cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_C_COMPILER={compiler('gcc')}"])
    run([cmake, "--build", tmp_path / "build"])
    assert runs(tmp_path / "build/probe", cuda)


def test_without_a_driver_the_first_call_says_so(package, tmp_path):
    """Nothing is linked with it, so the program starts."""
    text = C.replace("#include", "#include <stdio.h>\n#include", 1).replace(
        "    sample_close", "    puts(sample_error_string(status));\n    sample_close"
    )
    (tmp_path / "main.c").write_text(text)
    sources = [tmp_path / "main.c", package / f"src/{NAME}.c", package / f"src/{NAME}_image.c"]
    include = [f"-I{package / 'include'}", "-isystem", cuda_include()]
    run([compiler("gcc"), "-std=c99", *include, *sources, "-ldl", "-o", tmp_path / "main"])
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    assert done.returncode and done.stdout == "cannot load the CUDA driver (libcuda.so.1)\n"


# As CMake's own module: its variables are those of the folder that asks.
FIND_TOOLKIT = """
set(CUDAToolkit_FOUND TRUE)
set(CUDAToolkit_INCLUDE_DIRS "{include}")
"""
FOLDER = """
find_package(sample CONFIG REQUIRED PATHS "{package}/cmake" NO_DEFAULT_PATH)
if(NOT EXISTS "${{sample_IMAGE}}" OR NOT sample_TARGETS STREQUAL "sm_80 sm_90")
  message(FATAL_ERROR "${{sample_IMAGE}} ${{sample_TARGETS}}")
endif()
add_executable({name} ../main.c)
target_link_libraries({name} PRIVATE sample::sample)
"""


def test_cmake_finds_a_package_in_two_folders(package, cuda, tmp_path):
    """A program of the user's may be called like it."""
    (tmp_path / "main.c").write_text(C)
    (tmp_path / "FindCUDAToolkit.cmake").write_text(FIND_TOOLKIT.format(include=cuda_include()))
    for name in ("sample", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "CMakeLists.txt").write_text(FOLDER.format(package=package, name=name))
    top = "cmake_minimum_required(VERSION 3.18)\nproject(p C CXX)\nadd_subdirectory(sample)\nadd_subdirectory(other)\n"
    (tmp_path / "CMakeLists.txt").write_text(top)
    run([compiler("cmake"), "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_MODULE_PATH={tmp_path}"])
    run([compiler("cmake"), "--build", tmp_path / "build"])
    assert runs(tmp_path / "build/sample/sample", cuda) and runs(tmp_path / "build/other/other", cuda)


def test_pkg_config(package, cuda, tmp_path):
    (tmp_path / "main.c").write_text(C)
    environment = os.environ | {"PKG_CONFIG_PATH": str(package / "lib/pkgconfig")}
    ask = lambda *words: run([compiler("pkg-config"), *words, NAME], env=environment).stdout.split()
    sources = ask("--variable=sources")
    assert [os.path.realpath(source) for source in sources] == [
        os.path.realpath(package / f"src/{name}.c") for name in (NAME, f"{NAME}_image")
    ]
    assert os.path.realpath(ask("--variable=image")[0]) == os.path.realpath(package / f"{NAME}.fatbin")
    own = ["-isystem", cuda_include()]
    run(
        [
            compiler("gcc"),
            *ask("--cflags"),
            tmp_path / "main.c",
            *sources,
            *own,
            *ask("--libs"),
            "-o",
            tmp_path / "main",
        ]
    )
    assert runs(tmp_path / "main", cuda)
