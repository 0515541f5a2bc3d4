"""Read inputs and write artifacts, with one clear sentence for every error of the file system.

Artifacts are written atomically: to an unnamed file, which is then linked at its path.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from .errors import InvalidInput, Location

# Reading the umask requires setting it, which is safe only before there are threads.
_UMASK = os.umask(0o022)
os.umask(_UMASK)

_OPEN = "/proc/self/fd"  # open files of a process as links, on Linux
_UNNAMED = 64  # unnamed files at once; each needs a descriptor, of which a process may have 1,024
_SHOWN = 60  # characters of a name; in UTF-8 each has up to 4 bytes

_READ_FAULTS = {
    FileNotFoundError: ("file-missing", "file not found"),
    IsADirectoryError: ("file-is-directory", "this is a directory, not a file"),
    PermissionError: ("file-unreadable", "permission denied"),
}
_WRITE_FAULTS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full (quota)",
    errno.EEXIST: "parent path is a file",
    errno.ENOTDIR: "parent path is a file",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
}


def read_file(path: str | os.PathLike) -> bytes:
    """The bytes of the file; raises InvalidInput naming it if it is missing, a directory or unreadable."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        id, message = _READ_FAULTS.get(type(error), ("file-unreadable", f"cannot read: {error.strerror}"))
        raise InvalidInput(id, message, location=Location(os.fspath(path))) from None
    except ValueError:
        message = "invalid file name"
        raise InvalidInput("file-missing", message, location=Location(os.fspath(path))) from None


def read_stored(path: str | os.PathLike) -> bytes:
    """``read_file`` for a file that a program created: raises InvalidInput[file-special] for a pipe or device, which
    might block forever.
    """
    if _is_device(Path(path)):
        message = "expected a regular file, found a pipe or device"
        raise InvalidInput("file-special", message, location=Location(os.fspath(path)), remedy="remove it")
    return read_file(path)


def file_digest(path: str | os.PathLike) -> str:
    """SHA-256 (hex) of a tool or library; raises OSError.

    Cached by stat, also for later processes, as ptxas has tens of megabytes.
    """
    found = os.stat(path)
    return _digest_as_of(os.fspath(path), found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


@cache
def _digest_as_of(path: str, *stat: int) -> str:
    from .kept_digests import large_file_digest

    return large_file_digest(path, _read_digest)


def _read_digest(path: str) -> str:
    import hashlib

    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write all of ``files``, or none of them and raise InvalidInput[write-failed] with the reason.

    Devices and pipes, such as /dev/stdout, are written to.
    """
    devices = [path for path in files if _is_device(path)]
    with _AtomicWrites() as placing:
        for path, data in files.items():
            if path not in devices:
                placing.add(path, data)
        for path in devices:
            placing.current = path
            path.write_bytes(files[path])
        placing.place_all()


def replace_files(files: Mapping[Path, bytes]) -> None:
    """``write_files``, except that a device, pipe or link at the path of a file is replaced: another user may have
    created it.
    """
    with _AtomicWrites() as placing:
        for path, data in files.items():
            placing.add(path, data)
        placing.place_all()


def _is_device(path: Path) -> bool:
    """Whether ``path`` is a device or pipe, such as /dev/stdout, which must not be replaced by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


class _AtomicWrites:
    """Written files that are not yet at their paths: unnamed, so that a killed process leaves nothing behind.

    If a file system does not support unnamed files, or the process has no more descriptors, they have hidden names.
    """

    def __init__(self):
        self.current: Path | None = None
        self._unnamed: list[tuple[int, Path, bytes]] = []
        self._named: list[tuple[Path, Path]] = []
        self._new: list[Path] = []

    def __enter__(self) -> _AtomicWrites:
        return self

    def __exit__(self, kind, error, trace) -> None:
        for descriptor, _, _ in self._unnamed:
            os.close(descriptor)
        for path in [temporary for temporary, _ in self._named] + (self._new if error else []):
            path.unlink(missing_ok=True)
        if isinstance(error, OSError) and self.current is not None:
            raise write_error(error, self.current) from None

    def add(self, path: Path, data: bytes) -> None:
        """Write ``data`` to a file for ``path``. Raises OSError."""
        self.current = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if len(self._unnamed) < _UNNAMED and (descriptor := _open_unnamed(path.parent)) is not None:
            self._unnamed.append((descriptor, path, data))
            _write_all(descriptor, data)
        else:
            self._add_named(path, data)

    def _add_named(self, path: Path, data: bytes) -> None:
        import tempfile

        descriptor, name = tempfile.mkstemp(prefix=_hidden(path), dir=path.parent)
        self._named.append((Path(name), path))
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(descriptor, 0o666 & ~_UMASK)

    def place_all(self) -> None:
        """Link each file at its path. Raises OSError."""
        for descriptor, path, data in self._unnamed:
            self.current = path
            self._name(descriptor, path, data)
        # Files that replace existing ones are renamed last, together.
        for temporary, path in self._named:
            self.current = path
            os.replace(temporary, path)

    def _name(self, descriptor: int, path: Path, data: bytes) -> None:
        try:
            _link(descriptor, path)
            self._new.append(path)
        except FileExistsError:
            # Only a rename can replace an existing file, and it needs a name.
            temporary = path.parent / f"{_hidden(path)}{os.urandom(4).hex()}"
            _link(descriptor, temporary)
            self._named.append((temporary, path))
        except OSError:
            # Not allowed here; if a named file is not allowed either, its error has the reason.
            self._add_named(path, data)


def _open_unnamed(folder: Path) -> int | None:
    """A descriptor of a new unnamed file (O_TMPFILE) in ``folder``; None if that is not supported."""
    if not os.path.isdir(_OPEN):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.EMFILE):
            return None
        raise


def _link(descriptor: int, path: Path) -> None:
    # With a directory descriptor, which an absolute path ignores, Python calls linkat(2), which can follow links.
    os.link(f"{_OPEN}/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _hidden(path: Path) -> str:
    """The prefix of a temporary file's name; a name has at most 255 bytes."""
    return f".{path.name[:_SHOWN]}."


def write_error_text(error: OSError) -> str:
    """The reason of a failed write, in a few words."""
    return _WRITE_FAULTS.get(error.errno or 0) or error.strerror or str(error)


def write_error(error: OSError, path: str | os.PathLike) -> InvalidInput:
    """The diagnostic for a failed write to ``path``."""
    return InvalidInput(
        "write-failed", f"cannot write the file: {write_error_text(error)}", location=Location(os.fspath(path))
    )
