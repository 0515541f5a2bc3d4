"""Finds nvcc, and asks it what else takes part: the host compiler that preprocesses, and where that looks for headers.

nvcc runs three programs: the host compiler's driver, its preprocessor, and NVIDIA's cicc, which writes the bytecode.
What they are and where headers are looked for depends on flags, on the environment and on nvcc's own profile; so nvcc is
asked for each file (``probe``), which costs a tenth of a second.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cuda import pathfinder

from ..errors import InvalidInput, Location

OLDEST = (13, 3)  # the first nvcc with CUDA Tile C++
HEADER = "include/crt/cuda_tile.h"  # in the toolkit's folder
TIMEOUT = 540.0  # seconds for one file; a step of a build has 600
INSTALL = "pip install 'tileiras-build[tilecpp]', or give nvcc=PATH of a CUDA toolkit 13.3 or newer"
HOST_COMPILERS = ("g++", "clang++")
# What nvcc and the compilers that it runs ask the environment for, and may write other bytes by.
VARIABLES = (
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "SOURCE_DATE_EPOCH"),
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH"),
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
        message = f"CUDA Tile C++ needs nvcc {_text(OLDEST)} or newer with its headers, and none is installed"
        raise InvalidInput("nvcc-missing", message, remedy=INSTALL)
    return Path(found)


def _checked(path: str) -> Path:
    found = Path(path)
    if not found.is_file() or not os.access(found, os.X_OK):
        raise InvalidInput("nvcc-missing", f"{path} is not an executable file", remedy=INSTALL)
    return found


def _has_headers(nvcc: str) -> bool:
    """Whether it lies in a toolkit with Tile C++; of wheels the one with the standard headers counts too."""
    folder = _toolkit(nvcc)
    return Path(folder, HEADER).is_file() and (Path(folder, "include/nv").is_dir() or _has_cccl(folder))


def _has_cccl(folder: str) -> bool:
    return Path(folder, "include/cccl/nv").is_dir()


def _toolkit(nvcc: str | os.PathLike) -> str:
    return os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))


def what_is_missing(nvcc: str | None = None, flags: Sequence[str] = ()) -> str | None:
    """Why no CUDA Tile C++ can be compiled here, in a few words; None where nothing is known to be missing.

    A host compiler that ``flags`` or the environment name is taken to be there.
    """
    try:
        find_nvcc(nvcc)
    except InvalidInput as error:
        return error.message
    is_named = "NVCC_CCBIN" in os.environ or any(flag.startswith(("-ccbin", "--compiler-bindir")) for flag in flags)
    if not is_named and not any(map(shutil.which, HOST_COMPILERS)):
        return f"there is no host compiler ({' or '.join(HOST_COMPILERS)})"
    return None


def own_files(nvcc: str) -> list[str]:
    """nvcc, its profile, and cicc: what NVIDIA's part of the work is done by. Raises InvalidInput[nvcc-missing]."""
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
    if version < OLDEST:
        shown = _text(version) if version else "of no version"
        message = f"{nvcc} is nvcc {shown}; CUDA Tile C++ needs {_text(OLDEST)} or newer"
        raise InvalidInput("nvcc-version", message, remedy=INSTALL)


@cache
def _version(nvcc: str, *stat: int) -> tuple[int, ...]:
    _, said = run([nvcc, "--version"], os.sep)
    found = re.search(r"release (\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else ()


def _text(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


@dataclass(frozen=True)
class Probe:
    """How the host compiler preprocesses: its ``programs``, and the folders that headers are looked for in, in order.

    ``driver`` is what nvcc calls it, a path or a name to be found by PATH; of ``quoted`` folders those that only
    ``#include "…"`` sees. Folders that do not exist are in their lists: one may appear. All paths are absolute.
    """

    driver: str
    programs: tuple[str, ...]
    quoted: tuple[str, ...]
    folders: tuple[str, ...]


_DRIVER = re.compile(r"^COLLECT_GCC=(.+)$", re.MULTILINE)
_PROGRAM = re.compile(r'^ "?(/[^\s"]+)"? .*(?:-quiet|-cc1)\b', re.MULTILINE)
_ABSENT = re.compile(r'^ignoring nonexistent directory "(.+)"$', re.MULTILINE)
_QUOTED, _ANGLED, _END = (
    '#include "..." search starts here:',
    "#include <...> search starts here:",
    "End of search list.",
)


def probe(command: Sequence[str], root: str) -> Probe | None:
    """What preprocesses for ``command``, an nvcc with its flags, run in ``root``; None where it cannot preprocess."""
    status, said = run([*command, "-E", "-x", "cu", os.devnull, "-o", os.devnull, "-Xcompiler", "-v"], root)
    if status or _END not in said:
        return None
    quoted, folders = (_absolute(lines, root) for lines in _search_lists(said))
    driver = _DRIVER.search(said)
    programs = {path for path in _PROGRAM.findall(said) if os.path.isfile(path)}
    # Nobody says where in the order an absent folder stands: it may come first.
    absent = [path for path in _absolute(_ABSENT.findall(said), root) if path not in folders]
    return Probe(driver[1] if driver else "", tuple(sorted(programs)), quoted, (*absent, *folders))


def _search_lists(said: str) -> tuple[list[str], list[str]]:
    quoted, _, rest = said.partition(_QUOTED)[2].partition(_ANGLED)
    angled = rest.partition(_END)[0]
    return [line.strip() for line in quoted.splitlines()], [line.strip() for line in angled.splitlines()]


def _absolute(paths: Sequence[str], root: str) -> tuple[str, ...]:
    found = (os.path.normpath(os.path.join(root, path)) for path in paths if path)
    return tuple(dict.fromkeys(found))


def run(command: Sequence[str], folder: str, temporary: str | None = None) -> tuple[int, str]:
    """(exit status, what it says) of a program; its messages are in English. Raises InvalidInput[nvcc]."""
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
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput("nvcc", f"{command[0]} does not run: {error}", remedy=INSTALL) from None
    return done.returncode, done.stdout.decode(errors="replace")


def host_compiler_missing(path: str, said: str) -> InvalidInput:
    """The error of a file that no host compiler preprocesses; ``said`` is nvcc's last word."""
    message = f"nvcc finds no host compiler that works: {said}"
    remedy = "install g++, or name one with nvcc_flags='-ccbin PATH'"
    return InvalidInput("host-compiler", message, location=Location(path), remedy=remedy)
