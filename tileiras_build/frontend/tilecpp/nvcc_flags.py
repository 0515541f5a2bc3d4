"""Flags of nvcc that a project may set."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ...core.errors import InvalidInput

STANDARD = "-std=c++20"  # what cuda_tile.h requires; the default
_RESERVED_FLAGS = (
    *("-o", "--output-file", "-c", "--compile", "-E", "--preprocess", "-arch", "--gpu-architecture", "-code"),
    *("--gpu-code", "-gencode", "--generate-code", "-M", "-MM", "-MD", "-MMD", "-MF", "-MT", "-MP", "-keep", "--keep"),
    *("-dryrun", "--dryrun", "-tilebc", "--tilebc", "-tile-only", "--tile-only", "-simt-only", "--simt-only"),
)


def split_flags(text: str | Sequence[str]) -> tuple[str, ...]:
    """nvcc's flags, from a text as a shell takes it, or a list; raises InvalidInput[nvcc-flags]."""
    try:
        flags = tuple(shlex.split(text)) if isinstance(text, str) else tuple(map(str, text))
    except ValueError as error:
        raise InvalidInput("nvcc-flags", f"nvcc_flags={text}: {error}", remedy="close the quotation") from None
    if wrong := next((flag for flag in flags if flag.partition("=")[0] in _RESERVED_FLAGS), None):
        message = f"nvcc_flags= has {wrong}, which the build itself says"
        raise InvalidInput("nvcc-flags", message, remedy="leave it out; sm= names the targets")
    return flags


def with_standard(flags: Sequence[str]) -> list[str]:
    """``flags``, with STANDARD where they set no standard."""
    return [*([] if any(flag.startswith(("-std", "--std")) for flag in flags) else [STANDARD]), *flags]
