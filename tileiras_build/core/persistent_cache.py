"""Records that a process leaves for the next ones of this user on this machine: what took a while to find out.

They may hold code, so the folder is one that nobody else may write to; one that is not so is not used. A record appears whole or
not at all, under a key that says all that its contents depend on, and has its own digest: what is damaged, or of another key, is
none. A store that cannot be read or written makes a process slower, never wrong and never stopped.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

from .knobs import user_cache_folder

MAX_RECORDS = 8192  # records; then the older half goes
_OTHERS_WRITE = 0o022
_SIZE = hashlib.sha256().digest_size


class UserCache:
    """The records in ``folder``, which is made with the first one."""

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        self._is_swept = False

    def find(self, key: str) -> bytes | None:
        """The record of a key (hex digits); None where there is none that is whole."""
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # What is read is in the folder that was looked at, whatever has become of its name.
            return _read(folder, key) if _is_private(os.fstat(folder)) else None
        except OSError:
            return None
        finally:
            os.close(folder)

    def keep(self, key: str, data: bytes) -> None:
        """Keep a record, in the place of one that is there."""
        with suppress(OSError):
            if not self.folder.exists():
                self.folder.mkdir(0o700, parents=True, exist_ok=True)
            if self._is_usable():
                self._sweep()
                self._write(key, _digest(key, data) + data)

    def _write(self, key: str, data: bytes) -> None:
        # The name is this thread's own, so that nobody else writes to the same file.
        hidden = self.folder / f".{key}-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as stream:
                stream.write(data)
            os.replace(hidden, self.folder / key)
        except OSError:
            with suppress(OSError):
                hidden.unlink()
            raise

    def _is_usable(self) -> bool:
        try:
            return _is_private(os.lstat(self.folder))
        except OSError:
            return False

    def _sweep(self) -> None:
        """Once for each process that writes: what is over ``MOST``, and what a killed one has left."""
        if self._is_swept:
            return
        self._is_swept = True
        with os.scandir(self.folder) as found:
            entries = [(one.stat(follow_symlinks=False).st_mtime_ns, one.path) for one in found]
        if len(entries) <= MAX_RECORDS:
            return
        for _, path in sorted(entries)[: len(entries) // 2]:
            with suppress(OSError):
                os.unlink(path)


def _is_private(found: os.stat_result) -> bool:
    """Whether it is a folder of this user's, which nobody else may write to."""
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


def _read(folder: int, key: str) -> bytes | None:
    """The record of a key in an open folder. Raises OSError."""
    descriptor = os.open(key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with open(descriptor, "rb") as stream:
        digest, data = stream.read(_SIZE), stream.read()
    return data if digest == _digest(key, data) else None


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(b"%s\0%s" % (key.encode(), data)).digest()


def cache_key(purpose: str, *parts: object) -> str:
    """The key of what depends on these strings, bytes and numbers, and on tuples of them."""
    return hashlib.sha256(repr((purpose, parts)).encode(errors="surrogatepass")).hexdigest()


def user_cache() -> UserCache | None:
    """This user's; None where nothing is to be kept."""
    folder = user_cache_folder()
    return None if folder is None else _open(folder)


@cache
def _open(folder: str) -> UserCache:
    return UserCache(folder)
