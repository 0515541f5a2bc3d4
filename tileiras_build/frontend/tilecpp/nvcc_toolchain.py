"""Finds nvcc and its toolkit, and runs it.

nvcc runs three programs: the host compiler's driver, its preprocessor, and NVIDIA's cicc, which writes the bytecode.
Which programs and header folders these are depends on flags, the environment and nvcc's profile; the files that they
open are traced (``core/tracing/subprocess_reads.py``).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from cuda import pathfinder

from ...core.errors import InvalidInput, Location

OLDEST_NVCC = (13, 3)  # the first nvcc with CUDA Tile C++
HEADER = "include/crt/cuda_tile.h"  # in the toolkit's folder
TIMEOUT = 540.0  # seconds per file; a build step has 600
INSTALL = "pip install 'tileiras-build[tilecpp]', or give nvcc=PATH of a CUDA toolkit 13.3 or newer"
HOST_COMPILERS = ("g++", "clang++")
# Environment variables of nvcc and of the compilers that it runs, which may change the output.
VARIABLES = (
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "SOURCE_DATE_EPOCH"),
    # Those that nvcc.profile adds to.
    *(
        "INCLUDES",
        "SYSTEM_INCLUDES",
        "LIBRARIES",
        "CUDAFE_FLAGS",
        "PTXAS_FLAGS",
        "NVVM_FLAGS",
        "LLVMC_FLAGS",
        "OCG_FLAGS",
    ),
    *("CICC_PATH", "NVVMIR_LIBRARY_DIR", "CUDA_ROOT", "TOP"),
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH"),
    *("GCC_COMPARE_DEBUG", "CCC_OVERRIDE_OPTIONS", "COMPILER_DRIVER_OPTIONS"),
)


def find_nvcc(path: str | None = None) -> Path:
    """Path of nvcc: an explicit one, else the wheel's if its headers are installed too, else PATH's.

    Raises InvalidInput[nvcc-missing].
    """
    if path is not None:
        return _checked(path)
    wheel = pathfinder.find_nvidia_binary_utility("nvcc")
    found = next((nvcc for nvcc in (wheel, shutil.which("nvcc")) if nvcc and _has_headers(nvcc)), None)
    if found is None:
        message = f"CUDA Tile C++ needs nvcc {_text(OLDEST_NVCC)} or newer with its headers, and none is installed"
        raise InvalidInput("nvcc-missing", message, remedy=INSTALL)
    return Path(found)


def _checked(path: str) -> Path:
    found = Path(path)
    if not found.is_file() or not os.access(found, os.X_OK):
        raise InvalidInput("nvcc-missing", f"{path} is not an executable file", remedy=INSTALL)
    return found


def _has_headers(nvcc: str) -> bool:
    """Whether it is in a toolkit with Tile C++; for wheels, the wheel of the standard headers must be installed too."""
    folder = _toolkit(nvcc)
    return Path(folder, HEADER).is_file() and (Path(folder, "include/nv").is_dir() or _has_cccl(folder))


def _has_cccl(folder: str) -> bool:
    return Path(folder, "include/cccl/nv").is_dir()


def _toolkit(nvcc: str | os.PathLike) -> str:
    return os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))


def toolchain_fault(nvcc: str | None = None, flags: Sequence[str] = ()) -> str | None:
    """Why CUDA Tile C++ cannot be compiled here, in a few words; None where nothing is known to be missing.

    A host compiler that ``flags`` or the environment name is assumed to exist.
    """
    try:
        find_nvcc(nvcc)
    except InvalidInput as error:
        return error.message
    is_named = "NVCC_CCBIN" in os.environ or any(flag.startswith(("-ccbin", "--compiler-bindir")) for flag in flags)
    if not is_named and not any(map(shutil.which, HOST_COMPILERS)):
        return f"there is no host compiler ({' or '.join(HOST_COMPILERS)})"
    return None


def toolchain_files(nvcc: str) -> list[str]:
    """nvcc, its profile, and cicc: the NVIDIA programs of a compilation. Raises InvalidInput[nvcc-missing]."""
    folder = _toolkit(nvcc)
    cicc = os.path.join(folder, "nvvm", "bin", "cicc")
    if not os.path.isfile(cicc):
        remedy = "pip install nvidia-nvvm of the same version, or install the whole toolkit"
        raise InvalidInput("nvcc-missing", f"{nvcc} has no cicc in {folder}/nvvm/bin", remedy=remedy)
    profile = os.path.join(folder, "bin", "nvcc.profile")
    return [os.path.realpath(nvcc), cicc, *([profile] if os.path.isfile(profile) else [])]


def check_version(nvcc: str) -> None:
    """Raise InvalidInput[nvcc-version] where nvcc is older than OLDEST."""
    found = os.stat(nvcc)
    version = _version(nvcc, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
    if version < OLDEST_NVCC:
        shown = _text(version) if version else "of no version"
        message = f"{nvcc} is nvcc {shown}; CUDA Tile C++ needs {_text(OLDEST_NVCC)} or newer"
        raise InvalidInput("nvcc-version", message, remedy=INSTALL)


@cache
def _version(nvcc: str, *stat: int) -> tuple[int, ...]:
    _, output = run([nvcc, "--version"], os.sep)
    found = re.search(r"release (\d+)\.(\d+)", output)
    return (int(found[1]), int(found[2])) if found else ()


def _text(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def run(
    command: Sequence[str], folder: str, temporary: str | None = None, begin: Callable[[], None] | None = None
) -> tuple[int, str]:
    """(exit status, output) of a program, whose process calls ``begin`` first; its messages are in English.

    Raises InvalidInput[nvcc].
    """
    environment = os.environ | {"LC_ALL": "C"} | ({"TMPDIR": temporary} if temporary else {})
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            check=False,
            preexec_fn=begin,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidInput("nvcc", f"{command[0]} does not run: {error}", remedy=INSTALL) from None
    return done.returncode, done.stdout.decode(errors="replace")


def host_compiler_missing(path: str, output: str) -> InvalidInput:
    """The error of a file that no host compiler preprocesses; ``output`` is the last line of nvcc's output."""
    message = f"nvcc finds no host compiler that works: {output}"
    remedy = "install g++, or name one with nvcc_flags='-ccbin PATH'"
    return InvalidInput("host-compiler", message, location=Location(path), remedy=remedy)
