"""The user's folder in the temporary folder: scratch folders of running processes, and dumps.

The temporary folder is shared by all users. An attacker who knows a name in advance can create it first, for example as
a link to another file, which would then be overwritten. So all files of this project are in one folder that only its
owner can access, ``<temporary folder>/tileiras-<user id>``; if another user has created that name, in a new folder with
an unpredictable name. A scratch folder is locked by its process (flock) and removed with it, or, if the process was
killed, by the next process that sweeps (``remove_dead_scratch``). Dumps stay.
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
_ATTEMPTS = 5  # another process may remove the empty folder
_OTHERS = 0o077
OTHERS_WRITE = 0o022

_temporary: str | None = None  # the temporary folder, while libraries see another one


def owned_folder(path: Path, forbidden: int = _OTHERS) -> Path:
    """``path``, created if absent, if it is a folder of this user without the ``forbidden`` modes; else a new folder.

    Raises OSError if no folder can be created.
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
    """This user's folder in the temporary folder, created if absent. Raises OSError."""
    return owned_folder(_root())


def _root() -> Path:
    return temporary_folder() / f"tileiras-{os.geteuid()}"


def dump_root() -> Path:
    """The default folder of dumps, created if absent. Raises OSError."""
    for _ in range(_ATTEMPTS):
        with suppress(FileNotFoundError):
            return owned_folder(user_tmp_root() / DUMPS)
    return Path(tempfile.mkdtemp(prefix="tileiras-", dir=temporary_folder()))


class ScratchFolder:
    """A new folder that is removed by ``close``, at exit, or by the next process if this one is killed."""

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
        """Remove the folder and its contents; not in a fork of the process that created it."""
        if self._lock is None or os.getpid() != self._owner:
            return
        atexit.unregister(self.close)
        _remove(self.path)
        os.close(self._lock)
        self._lock = None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A scratch folder for the block."""
    made = ScratchFolder()
    try:
        yield made.path
    finally:
        made.close()


@contextmanager
def tempdir_in_scratch() -> Iterator[None]:
    """Redirect temporary files of libraries to a scratch folder during the block."""
    global _temporary
    before = _temporary, tempfile.tempdir
    with scratch_folder() as folder:
        set_python_tempdir(folder)
        try:
            yield
        finally:
            _temporary, tempfile.tempdir = before


def set_python_tempdir(folder: Path) -> None:
    """Make ``folder`` the temporary folder of Python libraries; the environment is unchanged."""
    global _temporary
    _temporary = str(temporary_folder())
    tempfile.tempdir = str(folder)


def remove_dead_scratch() -> None:
    """Remove the scratch folders of processes that ended without doing so."""
    root = _root()
    with suppress(OSError):
        names = os.listdir(root) if _is_own(root) else ()
        for name in names:
            if name.startswith(_SCRATCH):
                _remove_if_dead(root / name)


def _locked_folder() -> tuple[Path, int]:
    """A new scratch folder, and the descriptor with its lock."""
    for _ in range(_ATTEMPTS):
        try:
            path = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=user_tmp_root()))
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        with suppress(OSError):
            # A file system without locks: nobody sweeps there.
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_same(path, lock):
            return path, lock
        os.close(lock)
    # Another process removes files in the common folder.
    path = Path(tempfile.mkdtemp(prefix="tileiras-", dir=temporary_folder()))
    return path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _is_same(path: Path, descriptor: int) -> bool:
    """Whether ``path`` is still the open folder: it may have been removed before it was locked."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove_if_dead(path: Path) -> None:
    # If it is not a folder, its process is alive, or the file system has no locks, it stays.
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
            # Empty only if it has no folder of another process and no dump.
            os.rmdir(path.parent)
