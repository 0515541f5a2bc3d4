"""Find NVIDIA's PTX assembler and query its version."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from ...core.errors import InvalidInput
from ...core.nvidia_wheels import find_in_wheels

_REMEDY = "pip install nvidia-cuda-nvcc, or name the program with ptxas=PATH"
_RELEASE = re.compile(r"\bV(\d+(?:\.\d+)+)")


def find_ptxas(path: str | Path | None = None) -> Path:
    """Path of ptxas: ``path`` if given, else that of the nvidia-cuda-nvcc wheel (or a toolkit), else from PATH.

    Raises InvalidInput[ptxas-missing].
    """
    if path is None:
        return _installed()
    found = Path(path)
    if not found.is_file() or not os.access(found, os.X_OK):
        raise InvalidInput("ptxas-missing", f"{path} is not an executable file", remedy=_REMEDY)
    return found


@cache
def _installed() -> Path:
    if (in_wheel := find_in_wheels("cu13/bin/ptxas")) is not None and os.access(in_wheel, os.X_OK):
        return in_wheel
    import shutil

    from cuda import pathfinder

    found = pathfinder.find_nvidia_binary_utility("ptxas") or shutil.which("ptxas")
    if found is None:
        raise InvalidInput("ptxas-missing", "no ptxas is installed", remedy=_REMEDY)
    return Path(found)


def ptxas_version(path: str | Path | None = None) -> str:
    """Release of a ptxas, e.g. "13.5.37", which is part of every cubin's signature. Cached by file content.

    Raises InvalidInput[ptxas-missing] for a program that is not ptxas.
    """
    found = find_ptxas(path)
    status = found.stat()
    return _version_of(str(found), status.st_mtime_ns, status.st_size)


@cache
def _version_of(path: str, mtime_ns: int, size: int) -> str:
    import subprocess

    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput("ptxas-missing", f"{path} does not run: {error}", remedy=_REMEDY) from error
    release = _RELEASE.search(output)
    if release is None:
        raise InvalidInput("ptxas-missing", f"{path} does not answer --version like ptxas", remedy=_REMEDY)
    return release[1]
