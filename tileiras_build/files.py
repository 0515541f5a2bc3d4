"""Reading inputs and writing artifacts, with one clear sentence for everything a file system can answer.

An artifact appears whole or not at all: it is written beside its place under a temporary name and renamed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from .errors import InvalidInput, Location

# Reading the umask means setting it, which is safe only before there are threads.
_UMASK = os.umask(0o022)
os.umask(_UMASK)

_READ_FAULTS = {
    FileNotFoundError: ("file-missing", "there is no such file"),
    IsADirectoryError: ("file-is-directory", "this is a directory, not a file"),
    PermissionError: ("file-unreadable", "the file is not readable"),
}
_WRITE_FAULTS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full (quota)",
    errno.EEXIST: "its folder is a file",
    errno.ENOTDIR: "its folder is a file",
}


def read_file(path: str | os.PathLike) -> bytes:
    """The bytes of the file; raises InvalidInput naming it if it is missing, a directory or unreadable."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        id, message = _READ_FAULTS.get(type(error), ("file-unreadable", f"cannot read: {error.strerror}"))
        raise InvalidInput(id, message, location=Location(os.fspath(path))) from None


def file_digest(path: str | os.PathLike) -> str:
    """SHA-256 (hex) of a tool or library; raises OSError.

    Read again only if its stat changes, since ptxas has tens of megabytes.
    """
    found = os.stat(path)
    return _digest_as_of(os.fspath(path), found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


@cache
def _digest_as_of(path: str, *stat: int) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_files(files: dict[Path, bytes]) -> None:
    """Write all of ``files``, or none of them and raise InvalidInput[write-failed] saying why."""
    written: list[tuple[Path, Path]] = []
    current = None
    try:
        for current, data in files.items():
            if _is_device(current):
                current.write_bytes(data)
            else:
                written.append((_write_beside(current, data), current))
        for temporary, current in written:
            os.replace(temporary, current)
    except OSError as error:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
        raise _write_failure(error, current) from None


def _is_device(path: Path) -> bool:
    """Whether ``path`` is a device or pipe, such as /dev/stdout, which must not be replaced by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _write_beside(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(descriptor, 0o666 & ~_UMASK)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    return Path(name)


def _write_failure(error: OSError, path: Path) -> InvalidInput:
    reason = _WRITE_FAULTS.get(error.errno) or error.strerror or str(error)
    return InvalidInput("write-failed", f"cannot write the file: {reason}", location=Location(str(path)))
