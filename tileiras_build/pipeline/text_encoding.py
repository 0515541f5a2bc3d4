"""Encode and decode text artifacts (``.ll``, ``.ptx``), without loading an IR framework."""

from __future__ import annotations

from ..core.errors import InvalidInput, Location


def decode(data: bytes, name: str | None = None) -> str:
    """``data`` as text; raises InvalidInput at the first byte that is not UTF-8, and for an empty file."""
    if not data:
        raise InvalidInput("empty-file", "the file is empty", location=Location(name))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "not-text", "the file is not UTF-8 text", location=Location(name, offset=error.start)
        ) from None


def encode(text: str) -> bytes:
    """Encode text as stored in a file."""
    return text.encode()
