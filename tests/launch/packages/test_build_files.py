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
add_library(CUDA::cuda_driver INTERFACE IMPORTED)  # what find_package(CUDAToolkit) brings
target_include_directories(CUDA::cuda_driver INTERFACE "{include}")
target_link_libraries(CUDA::cuda_driver INTERFACE "{driver}/libcuda.so")
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
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(include=cuda_include(), driver=cuda.folder, package=package))
    run([cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_C_COMPILER={compiler('gcc')}"])
    run([cmake, "--build", tmp_path / "build"])
    assert runs(tmp_path / "build/probe", cuda)


WITHOUT_DRIVER = """
cmake_minimum_required(VERSION 3.18)
project(probe C)
set(CMAKE_MODULE_PATH "${{CMAKE_SOURCE_DIR}}")
find_package(sample CONFIG REQUIRED PATHS "{package}/cmake" NO_DEFAULT_PATH)
"""


def test_a_toolkit_without_a_driver_to_link_with_is_reported(package, tmp_path):
    """As a partial one is where no driver is installed."""
    (tmp_path / "FindCUDAToolkit.cmake").write_text("set(CUDAToolkit_FOUND TRUE)\n")
    (tmp_path / "CMakeLists.txt").write_text(WITHOUT_DRIVER.format(package=package))
    command = [compiler("cmake"), "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_C_COMPILER={compiler('gcc')}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = " ".join(done.stderr.split())
    assert done.returncode and "libcuda.so not found; install" in said
    assert "-DCUDA_cuda_driver_LIBRARY=FILE" in said and "typo" not in said


# As CMake's own module: its targets are those of the folder that asks.
FIND_TOOLKIT = """
set(CUDAToolkit_FOUND TRUE)
if(NOT TARGET CUDA::cuda_driver)
  add_library(CUDA::cuda_driver UNKNOWN IMPORTED)
  set_target_properties(CUDA::cuda_driver PROPERTIES
    IMPORTED_LOCATION "{driver}/libcuda.so" INTERFACE_INCLUDE_DIRECTORIES "{include}")
endif()
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
    (tmp_path / "FindCUDAToolkit.cmake").write_text(FIND_TOOLKIT.format(driver=cuda.folder, include=cuda_include()))
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
    own = ["-isystem", cuda_include(), f"-L{cuda.folder}"]
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
