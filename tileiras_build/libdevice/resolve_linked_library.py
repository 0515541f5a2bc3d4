"""blobLinkedLib: the bitcode library that a module embeds or names.

``blobLinkedLib`` of a gpu.module, and ``!tileiras.libdevice`` in its ``.ll``, are one string: a path, read whenever the
module is linked, or ``base64:`` and the bitcode itself, which pins the library: such a module compiles to the same PTX
on a machine without a CUDA toolkit. ``libdevice.10.bc`` without a folder, which the compiler attaches, is not a path
but the library of the job, or the installed one: artifacts do not depend on the machine.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..core.errors import InternalError, InvalidInput
from ..core.symbols.check_symbol_names import LIBDEVICE_NAME
from .locate_libdevice import find_libdevice

INLINE = "base64:"
_INLINE_NAME = "the inline blob"
_NODE = re.compile(r"^!tileiras\.libdevice = !\{!(\d+)\}", re.MULTILINE)


@dataclass(frozen=True)
class Blob:
    """A bitcode library: the file at ``path``, or ``data`` if that is None. ``name`` is its name in diagnostics."""

    name: str
    path: Path | None = None
    data: bytes = field(default=b"", repr=False)

    @classmethod
    def of_file(cls, path: str | Path) -> Blob:
        """The file at ``path``."""
        return cls(Path(path).name, path=Path(path))

    @property
    def location(self) -> str:
        """Its origin, for diagnostics."""
        return str(self.path or self.name)

    def read(self) -> bytes:
        """The bitcode; raises InvalidInput[libdevice-missing]."""
        if self.path is None:
            return self.data
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise _missing(self.path) from error

    def digest(self) -> str:
        """SHA-256 (hex) of the bitcode, cached until the file changes. Raises InvalidInput[libdevice-missing]."""
        if self.path is None:
            return hashlib.sha256(self.data).hexdigest()
        try:
            status = self.path.stat()
        except OSError as error:
            raise _missing(self.path) from error
        return _digest_of_file(self.path, status.st_mtime_ns, status.st_size)


@cache
def _digest_of_file(path: Path, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _missing(path: Path) -> InvalidInput:
    return InvalidInput("libdevice-missing", f"blobLinkedLib: bitcode path does not exist or is not a file: {path}")


def broken_library(name: str) -> InvalidInput:
    """The diagnostic for a blob that is not a bitcode library."""
    return InvalidInput(
        "libdevice-broken",
        f"blobLinkedLib: failed to parse embedded bitcode: {name}",
        remedy="reinstall nvidia-nvvm or name an intact libdevice.10.bc",
    )


def resolve(note: str, path: str | Path | None = None) -> Blob:
    """The blob of a module's ``!tileiras.libdevice`` string.

    ``path`` is the caller's library for a string without a folder; an inline blob and a path of the module take
    precedence. Raises InvalidInput[libdevice-missing, libdevice-broken].
    """
    if not note.startswith(INLINE):
        return Blob.of_file(find_libdevice(path if note == LIBDEVICE_NAME else note))
    try:
        return Blob(_INLINE_NAME, data=base64.b64decode(note.removeprefix(INLINE), validate=True))
    except binascii.Error as error:
        raise broken_library(_INLINE_NAME) from error


def encode(data: bytes) -> str:
    """The string of an inline blob."""
    return INLINE + base64.b64encode(data).decode("ascii")


def with_blob_note(text: str, path: str | Path | None = None) -> str:
    """The .ll with its library inline instead of named; a module that needs no library is unchanged.

    Raises InvalidInput[libdevice-missing], InternalError[ll-metadata].
    """
    node = _NODE.search(text)
    if node is None:
        return text
    held = re.compile(rf'^!{node[1]} = (?:distinct )?!\{{!"([^"\n]*)"\}}', re.MULTILINE)
    string = held.search(text)
    if string is None:
        raise InternalError("ll-metadata", "!tileiras.libdevice is not a string")
    note = encode(resolve(string[1], path).read())
    return f'{text[: string.start()]}!{node[1]} = !{{!"{note}"}}{text[string.end() :]}'
