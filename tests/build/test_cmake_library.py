"""``tileiras_add_library`` of the CMake package: configure, build, build again, and build after an edit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launch.packages.test_build_files import PROJECT, C
from tests.launch.runtime import fake_libcuda
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run
from tileiras_build.cli.dispatch import main

KERNEL = '''
import cuda.tile as ct
from tileiras_build.cases import Array, Case


@ct.kernel
def scale(x, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (TILE,)) * 2.0)


CASES = [Case("scale", scale, (Array("float32", 1), 128))]
'''
KERNELS = """
find_package(tileiras_build CONFIG REQUIRED)
tileiras_add_library(sample SOURCES kernels/scale.py SM 80 h100 OPTIONS opt=2)
add_executable(probe main.c)
target_link_libraries(probe PRIVATE sample)
"""


@pytest.fixture
def cuda(tmp_path):
    (tmp_path / "cuda").mkdir()
    return fake_libcuda.build(tmp_path / "cuda")


@pytest.fixture
def project(tmp_path, cuda):
    folder = tmp_path / "project"
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels/scale.py").write_text(KERNEL)
    (folder / "main.c").write_text(C)
    (folder / "CMakeLists.txt").write_text((PROJECT + KERNELS).format(include=cuda_include()))
    return folder


def _cmake_dir(capsys) -> str:
    with pytest.raises(SystemExit):
        main(["--cmake-dir"])
    return capsys.readouterr().out.strip()


def _configure(project: Path, package: str, python: str) -> list:
    settings = {
        "CMAKE_C_COMPILER": compiler("gcc"),
        "tileiras_build_DIR": package,
        "tileiras_build_PYTHON": python,
    }
    return [
        compiler("cmake"),
        "-S",
        project,
        "-B",
        project / "out",
        *(f"-D{name}={value}" for name, value in settings.items()),
    ]


def test_kernels_are_built_into_a_library(project, cuda, capsys):
    run(_configure(project, _cmake_dir(capsys), sys.executable))
    build = [compiler("cmake"), "--build", project / "out"]
    assert "[ 1/" in run(build).stdout
    image = project / "out/sample.tileiras/package/sample/sample.fatbin"
    first = image.read_bytes()
    program = [project / "out/probe"]
    known = {"LD_LIBRARY_PATH": str(cuda.folder), "FAKE_CUDA_LOG": str(cuda.folder / "log")}
    run(program, env=os.environ | known)
    assert sorted(path.name for path in project.iterdir()) == ["CMakeLists.txt", "kernels", "main.c", "out"]

    assert "is up to date" in run(build).stdout
    (project / "kernels/scale.py").write_text(KERNEL.replace("2.0", "3.0"))
    assert "scale.py" in run(build).stdout
    assert image.read_bytes() != first


def test_a_python_without_the_package_is_named(project, capsys, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    command = list(map(str, _configure(project, _cmake_dir(capsys), str(python))))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "cannot import tileiras_build" in " ".join(done.stderr.split())
