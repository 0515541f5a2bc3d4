"""Diagnostics for limits of a shell or a container: memory, files, processes, time, and ``/proc``."""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import InvalidInput

_PROC = "/proc/self"
_CONTAINER_MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # cgroup v2, v1
# errno -> the exhausted resource, and what a user can do.
_WITHHELD = {
    errno.EMFILE: ("a process may have no more open files", "raise the limit (ulimit -n 1024)"),
    errno.ENFILE: ("the machine has too many open files", "close programs, or raise fs.file-max"),
    errno.EAGAIN: ("no more processes may be started", "raise the limit (ulimit -u, or the container's), or build with fewer jobs"),
    errno.ENOMEM: ("there is too little memory", "raise the limit (ulimit -v, or the container's), or build with fewer jobs"),
    errno.EFBIG: ("a file may not be as large", "raise the limit (ulimit -f)"),
}  # fmt: skip
_NO_THREAD = "can't start new thread"
_NO_FOLDER = "No usable temporary directory"
# Messages of loaders of shared libraries when the address space is exhausted.
_UNLOADED = (
    "failed to map segment",
    "cannot allocate memory",
    "Cannot allocate memory",
    "Could not find/load shared object file",
)


def withheld(error: BaseException) -> InvalidInput | None:
    """The diagnostic of an exception that a limit caused."""
    if isinstance(error, FileNotFoundError) and _NO_FOLDER in str(error):
        message = "no file can be made in a folder for temporary files"
        return InvalidInput(
            "system-limit", message, remedy="set TMPDIR to a folder, free space, or raise the limit (ulimit -f)"
        )
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        number = errno.EAGAIN
    elif isinstance(error, OSError | ImportError) and _is_unloaded(error):
        number = errno.ENOMEM
    if number not in _WITHHELD:
        return None
    message, remedy = _WITHHELD[number]
    return InvalidInput("system-limit", message, remedy=remedy)


def _is_unloaded(error: BaseException) -> bool:
    return address_space() is not None and any(words in str(error) for words in _UNLOADED)


def address_space() -> int | None:
    """The bytes of memory that a process may address (``ulimit -v``); None: unlimited."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def memory() -> int:
    """The bytes of memory of this machine, or of this container."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CONTAINER_MEMORY:
        with suppress(OSError, ValueError):  # "max": no limit
            found.append(int(Path(path).read_text()))
    return min(found)


@contextmanager
def start_errors() -> Iterator[None]:
    """Report errors of starting a process in this block: raises InvalidInput[system-limit] or [no-proc]."""
    check_proc()
    try:
        yield
    except (OSError, RuntimeError, MemoryError) as error:
        if (diagnostic := withheld(error)) is None:
            raise
        raise diagnostic from None
    except EOFError:
        message = "the process that starts others was killed when it began"
        remedy = "raise the limits of time and memory (ulimit -a, or the container's)"
        raise InvalidInput("system-limit", message, remedy=remedy) from None


def check_proc() -> None:
    """Raise InvalidInput[no-proc] if Linux has no ``/proc``, through which ptxas gets its files."""
    if sys.platform == "linux" and not os.path.exists(_PROC):
        message = "/proc is not mounted, through which processes get their files"
        raise InvalidInput("no-proc", message, remedy="mount it (mount -t proc proc /proc)")
