"""Find libdevice.10.bc, the math library in LLVM bitcode that NVIDIA ships."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..core.errors import InvalidInput
from ..core.nvidia_wheels import find_in_wheels
from ..core.symbols.check_symbol_names import LIBDEVICE_NAME as DEFAULT_NAME

_IN_WHEEL = f"cu13/nvvm/libdevice/{DEFAULT_NAME}"


def find_libdevice(path: str | Path | None = None) -> Path:
    """Path of the library: ``path``, under any name, else that of the nvidia-nvvm wheel (or the toolkit).

    Raises InvalidInput[libdevice-missing].
    """
    if path is None:
        return _installed()
    found = Path(path)
    if not found.is_file():
        raise InvalidInput(
            "libdevice-missing",
            f"blobLinkedLib: bitcode path does not exist or is not a file: {path}",
            remedy="name an existing libdevice.10.bc or leave libdevice unset to use the nvidia-nvvm wheel's",
        )
    return found


@cache
def _installed() -> Path:
    if (found := find_in_wheels(_IN_WHEEL)) is not None:
        return found
    from cuda import pathfinder

    try:
        return Path(pathfinder.find_bitcode_lib("device"))
    except pathfinder.BitcodeLibNotFoundError as error:
        raise InvalidInput(
            "libdevice-missing",
            f"blobLinkedLib: bitcode path does not exist or is not a file: no {DEFAULT_NAME} is installed",
            remedy="pip install nvidia-nvvm, or name the file with libdevice=PATH",
        ) from error
