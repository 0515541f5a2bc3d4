"""The user's own folder in the temporary folder, and what lies there: scratch folders of running processes, and dumps.

The temporary folder is everybody's. Whoever knows a name in advance can make it first, as a link to a file of somebody
else's, which is then written to. So all that this project writes there lies in one folder that only its owner can look
into, ``<temporary folder>/tileiras-<user id>``; where another user has made that name, in a new one that nobody could
know. A scratch folder is locked by its process (flock), goes with it, and is removed by the next process that looks
(``sweep``) if it was killed. Dumps stay.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

DUMPS = "dump"
_SCRATCH = "run-"
_ATTEMPTS = 5  # another process may remove the folder while it is empty
_OTHERS = 0o077
OTHERS_WRITE = 0o022

_temporary: str | None = None  # the temporary folder, where libraries are shown another one


def owned_folder(path: Path, forbidden: int = _OTHERS) -> Path:
    """``path``, made if absent, if it is a folder of this user's without the ``forbidden`` modes; else a new one.

    Raises OSError where no folder can be made.
    """
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return path if _is_own(path, forbidden) else _fresh(path)


def _is_own(path: Path, forbidden: int = _OTHERS) -> bool:
    found = os.lstat(path)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & forbidden


@cache
def _fresh(path: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"{path.name}-", dir=path.parent))


def temporary_folder() -> Path:
    """The temporary folder of this user's environment."""
    return Path(_temporary or tempfile.gettempdir())


def user_tmp_root() -> Path:
    """This user's folder in the temporary folder, made if absent. Raises OSError."""
    return owned_folder(_root())


def _root() -> Path:
    return temporary_folder() / f"tileiras-{os.geteuid()}"


def dump_root() -> Path:
    """Where dumps lie unless the user says so, made if absent. Raises OSError."""
    for _ in range(_ATTEMPTS):
        with suppress(FileNotFoundError):
            return owned_folder(user_tmp_root() / DUMPS)
    return Path(tempfile.mkdtemp(prefix="tileiras-", dir=temporary_folder()))


class ScratchFolder:
    """A new folder that goes with ``close``, with this process, or with the next one if this one is killed."""

    def __init__(self):
        remove_dead_scratch()
        self.path, lock = _locked_folder()
        self._lock: int | None = lock
        self._owner = os.getpid()
        atexit.register(self.close)

    @property
    def closed(self) -> bool:
        """Whether the folder is removed."""
        return self._lock is None

    def close(self) -> None:
        """Remove the folder and what is in it; not in a fork of the process that has made it."""
        if self._lock is None or os.getpid() != self._owner:
            return
        atexit.unregister(self.close)
        _remove(self.path)
        os.close(self._lock)
        self._lock = None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the block."""
    made = ScratchFolder()
    try:
        yield made.path
    finally:
        made.close()


@contextmanager
def tempdir_in_scratch() -> Iterator[None]:
    """What libraries put into the temporary folder during the block lies in a scratch folder instead."""
    global _temporary
    before = _temporary, tempfile.tempdir
    with scratch_folder() as folder:
        set_python_tempdir(folder)
        try:
            yield
        finally:
            _temporary, tempfile.tempdir = before


def set_python_tempdir(folder: Path) -> None:
    """From now on ``folder`` is the temporary folder that Python libraries see; the environment stays as it is."""
    global _temporary
    _temporary = str(temporary_folder())
    tempfile.tempdir = str(folder)


def remove_dead_scratch() -> None:
    """Remove the scratch folders of processes that have ended without doing so."""
    root = _root()
    with suppress(OSError):
        names = os.listdir(root) if _is_own(root) else ()
        for name in names:
            if name.startswith(_SCRATCH):
                _remove_if_dead(root / name)


def _locked_folder() -> tuple[Path, int]:
    """A new scratch folder, and the descriptor that holds its lock."""
    for _ in range(_ATTEMPTS):
        try:
            path = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=user_tmp_root()))
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        with suppress(OSError):
            # A file system without locks: there nobody sweeps.
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_same(path, lock):
            return path, lock
        os.close(lock)
    # Somebody removes what is made in the common folder.
    path = Path(tempfile.mkdtemp(prefix="tileiras-", dir=temporary_folder()))
    return path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _is_same(path: Path, descriptor: int) -> bool:
    """Whether ``path`` is still the open folder: it may have been swept before it was locked."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove_if_dead(path: Path) -> None:
    # Where it is no folder, its process lives, or the file system has no locks, it stays.
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
        finally:
            os.close(lock)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if path.parent != temporary_folder():
        with suppress(OSError):
            # Empty only where no other process and no dump is in it.
            os.rmdir(path.parent)
