"""The emulator's replacement for a cubin: PTX and manifest in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAGIC = b"tileiras_build: kernels for the emulator\n"


def pack(ptx: str, manifest: Mapping[str, Any]) -> bytes:
    """The contents of the file."""
    return MAGIC + json.dumps({"ptx": ptx, "manifest": manifest}).encode()


def unpack(data: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """(PTX, manifest) of a file; None if it is of another kind, such as a cubin."""
    if not data.startswith(MAGIC):
        return None
    made = json.loads(data[len(MAGIC) :])
    return made["ptx"], made["manifest"]
