"""What takes the place of a cubin where kernels run in the emulator: their PTX and their manifest in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAGIC = b"tileiras_build: kernels for the emulator\n"


def pack(ptx: str, manifest: Mapping[str, Any]) -> bytes:
    """The file."""
    return MAGIC + json.dumps({"ptx": ptx, "manifest": manifest}).encode()


def unpack(data: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """(the PTX, the manifest) of a file; None of one of another kind, such as a cubin."""
    if not data.startswith(MAGIC):
        return None
    made = json.loads(data[len(MAGIC) :])
    return made["ptx"], made["manifest"]
