"""Builds ``fake_libcuda.c`` and reads its log: launches through the real bindings, up to the driver."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def cuda_include() -> Path:
    """The CUDA headers of the nvidia-cuda-runtime wheel (or a toolkit); skips the test where there are none."""
    from cuda import pathfinder

    found = pathfinder.find_nvidia_header_directory("cudart")
    if found is None or not Path(found, "cuda.h").is_file():
        pytest.skip("no cuda.h: pip install nvidia-cuda-runtime")
    return Path(found)


def compiler(name: str) -> str:
    """A C or C++ compiler's path; skips the test where there is none."""
    return shutil.which(name) or pytest.skip(f"no compiler: {name} is not installed")


def run(command: list, **more) -> subprocess.CompletedProcess:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


@dataclass
class FakeCuda:
    """A folder with libcuda.so.1; ``launch`` runs a program on it and returns the calls that it recorded."""

    folder: Path

    def launch(self, command: list, number: int, sizes: list[int], **environment: str) -> list[list[str]]:
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        known = {"FAKE_CUDA_LOG": str(log), "FAKE_CUDA_SM": str(number), "FAKE_CUDA_PARAMS": ",".join(map(str, sizes))}
        run(command, env=os.environ | known | {"LD_LIBRARY_PATH": str(self.folder)} | environment)
        return [line.split() for line in log.read_text().splitlines()]


def build(folder: Path, *more: str) -> FakeCuda:
    """Compile the fake driver, with options ``more``, into ``folder``, under both names that programs look for."""
    library = folder / "libcuda.so.1"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wl,-soname,libcuda.so.1"]
    run([compiler("gcc"), *flags, *more, f"-I{cuda_include()}", "-o", library, HERE / "fake_libcuda.c", "-ldl"])
    (folder / "libcuda.so").symlink_to(library.name)
    return FakeCuda(folder)
