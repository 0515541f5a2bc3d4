"""What ``scons verify`` has found of the kernels beside a cubin, where it is still of their code."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

SUFFIX = ".reference"  # of the file that a step of scons verify writes


def references_of(cubin: Path) -> dict[str, str]:
    """How the kernels of a cubin agree with their references, in words, by the names that people call them.

    A kernel without a reference is not in it, nor is one whose PTX is another one than what was compared.
    """
    try:
        found = json.loads(cubin.with_suffix(SUFFIX).read_bytes())
        ptx = hashlib.sha256(cubin.with_suffix(".ptx").read_bytes()).hexdigest()
        kernels = found["kernels"] if found["ptx"] == ptx else []
        return {kernel["entry"]: f"agrees, {kernel['share']:.0%} of tolerance" for kernel in kernels}
    except (OSError, ValueError, KeyError, TypeError):
        # Not verified, or by another version.
        return {}
