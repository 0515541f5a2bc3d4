"""What takes the place of a cubin where kernels run in the emulator: their PTX and their manifest in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...errors import InvalidInput
from ..compiled import Compiled

HEAD = b"tileiras_build: kernels for the emulator\n"


def pack(ptx: str, manifest: Mapping[str, Any]) -> bytes:
    """The file."""
    return HEAD + json.dumps({"ptx": ptx, "manifest": manifest}).encode()


def unpack(data: bytes) -> dict[str, Compiled]:
    """The kernels of a file by their names; raises InvalidInput[emulator-image] for one of machine code."""
    if not data.startswith(HEAD):
        message = "a cubin of machine code cannot run in the emulator"
        remedy = (
            "let a link named tileiras to tileiras-build be first on PATH when it is made, and remove caches of cubins"
        )
        raise InvalidInput("emulator-image", message, remedy=remedy)
    made = json.loads(data[len(HEAD) :])
    return {entry: Compiled(entry, made["manifest"], made["ptx"], None) for entry in made["manifest"]["kernels"]}
