"""A digest of what PTX computes: the same with and without source lines."""

from __future__ import annotations

import hashlib
import re

# What line information adds; it changes no other line (tests/manifest/test_ptx_code_digest.py).
_NAMES = rb"\s*\.section\s+\.debug_str\s*\{[^}]*\}"  # of inlined functions, whose bytes are decimal
_LINES = re.compile(
    rb"^(?:\s*\.(?:loc|file)\s.*|\$L__tmp\d+:|\s*\.section\s+\.debug_macinfo\s.*|" + _NAMES + rb")\n", re.MULTILINE
)


def code_digest(ptx: bytes) -> str:
    """The SHA-256 of the PTX without line information."""
    return hashlib.sha256(_LINES.sub(b"", ptx)).hexdigest()
