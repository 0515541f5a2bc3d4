"""Fat binaries: the cubins of one kernel for several GPUs, and PTX for GPUs that come later, in one file.

``fatbinary`` of the nvidia-cuda-nvcc wheel creates them, uncompressed, so that a library's manifest can point at a cubin's
bytes in the file. Fat binaries may be concatenated: ``cuobjdump`` lists all of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...core.errors import InternalError, InvalidInput
from ...core.user_tmp import scratch_folder
from ...target.targets import find_target
from ..runtime.library_manifest import CUBIN, PTX

ALIGNMENT = 8  # bytes, as ELF requires; cuobjdump reports more padding as a damaged fat binary
_KINDS = {CUBIN: "elf", PTX: "ptx"}
_REMEDY = "pip install nvidia-cuda-nvcc"
_TIMEOUT = 120.0  # seconds


@dataclass(frozen=True)
class FatbinImage:
    """One image of a fat binary: ``kind`` is CUBIN or PTX, ``target`` the ptxas name of the GPU ("sm_90a")."""

    kind: str
    target: str
    data: bytes


@cache
def find_fatbinary(path: str | None = None) -> Path:
    """Path of fatbinary: an explicit one, else the nvidia-cuda-nvcc wheel's, else PATH's.

    Raises InvalidInput[fatbinary-missing].
    """
    from cuda import pathfinder

    found = path or pathfinder.find_nvidia_binary_utility("fatbinary") or shutil.which("fatbinary")
    if found is None or not os.access(found, os.X_OK):
        raise InvalidInput("fatbinary-missing", f"{found or 'fatbinary'} is not installed", remedy=_REMEDY)
    return Path(found)


def make_fatbin(name: str, members: tuple[FatbinImage, ...], fatbinary: str | None = None) -> bytes:
    """The fat binary of ``members``, listed by ``cuobjdump`` under ``name``; its size is a multiple of ALIGNMENT.

    Deterministic. Raises InvalidInput[fatbinary] with the tool's message.
    """
    program = find_fatbinary(fatbinary)
    with scratch_folder() as folder:
        images = []
        for index, part in enumerate(members):
            file = f"{index}.{part.kind}"
            Path(folder, file).write_bytes(part.data)
            images.append(f"--image3=kind={_KINDS[part.kind]},sm={_arch(part.target)},file={file}")
        made = Path(folder, "made")
        _run([str(program), "--64", "--compress=false", f"--ident={name}", "--create=made", *images], folder)
        data = made.read_bytes()
    return data + bytes(-len(data) % ALIGNMENT)


def locate(fatbin: bytes, image: FatbinImage) -> tuple[int, int]:
    """(offset, size) in bytes of a cubin in its fat binary."""
    offset = fatbin.find(image.data)
    if offset < 0:
        raise InternalError("fatbin-image", f"cubin for {image.target} was altered in the fat binary")
    return offset, len(image.data)


def _arch(target: str) -> str:
    return find_target(target).arch.removeprefix("sm_")


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput("fatbinary", f"cannot run {command[0]}: {error}", remedy=_REMEDY) from None
    if done.returncode:
        output = " ".join((done.stderr or done.stdout).split()) or f"exit status {done.returncode}"
        raise InvalidInput("fatbinary", f"fatbinary failed: {output}", remedy="rebuild the images")
