"""Records that processes cache for later processes of this user on this machine.

Records may contain code, so the folder must not be writable by other users; otherwise it is not used. A record is
written atomically, under a key of everything that its contents depend on, and has its own digest: damaged records, and
those of another key, are ignored. A cache that cannot be read or written makes a process slower, but never wrong.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

from .knobs import user_cache_folder

MAX_RECORDS = 8192  # records; above this, the older half is deleted
_OTHERS_WRITE = 0o022
_SIZE = hashlib.sha256().digest_size


class UserCache:
    """The records in ``folder``, which is created with the first record."""

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        self._is_swept = False

    def find(self, key: str) -> bytes | None:
        """The record of a key (hex digits); None if there is no intact one."""
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # The descriptor still refers to the checked folder if its name changes.
            return _read(folder, key) if _is_private(os.fstat(folder)) else None
        except OSError:
            return None
        finally:
            os.close(folder)

    def keep(self, key: str, data: bytes) -> None:
        """Store a record, and replace an existing one."""
        with suppress(OSError):
            if not self.folder.exists():
                self.folder.mkdir(0o700, parents=True, exist_ok=True)
            if self._is_usable():
                self._sweep()
                self._write(key, _digest(key, data) + data)

    def _write(self, key: str, data: bytes) -> None:
        # The name is unique to this thread.
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
        """Delete records above ``MAX_RECORDS`` and leftovers of killed processes, once for each process that writes."""
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
    """Whether it is a folder of this user that no other user can write to."""
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
    """The cache key of strings, bytes, integers, and tuples of them."""
    return hashlib.sha256(repr((purpose, parts)).encode(errors="surrogatepass")).hexdigest()


def user_cache() -> UserCache | None:
    """This user's cache; None if caching is disabled."""
    folder = user_cache_folder()
    return None if folder is None else _open(folder)


@cache
def _open(folder: str) -> UserCache:
    return UserCache(folder)
