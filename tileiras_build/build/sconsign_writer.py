"""SCons' records (``.sconsign.dblite``): a lock per folder, periodic writes, and a one-line error for a full disk.

SCons writes its records once, at its end. A killed build would leave none, and the next one would rebuild everything; two
builds in one folder would overwrite each other's records.
"""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable

import SCons.Node.FS
import SCons.SConsign
import SCons.Script.Main

from ..core.errors import InvalidInput
from ..core.file_io import write_error_text
from .incremental import compact_sconsign

WRITE_INTERVAL = 60.0  # seconds between two writes during a build
MIN_PAUSE_FACTOR = 20.0  # a write that takes a second is followed by at least so many seconds without one
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY_REMEDY = (
    "build in a writable copy of this folder, or set build_dir= and call SConsignFile('/tmp/records') in the SConstruct"
)


def open_sconsign() -> None:
    """Open the records now: SCons opens them later in a thread, which an error ends. Raises InvalidInput[records-write]."""
    try:
        SCons.SConsign.Get_DataBase(SCons.Node.FS.get_default_fs().Top)
    except OSError as error:
        raise _failure(error) from None


class SconsignWriter:
    """Writes the records of one run: periodically, and at its end."""

    def __init__(self, interval: float | None = None, clock: Callable[[], float] = time.monotonic):
        self._interval, self._clock = WRITE_INTERVAL if interval is None else interval, clock
        self._next = clock() + self._interval
        self._write_at_end = SCons.SConsign.write

    def attach(self) -> None:
        """Replace SCons' own write at its end."""
        compact_sconsign.install()
        SCons.SConsign.write = self.finish

    def step(self) -> None:
        """A step begins: write the records if that is due. Called by the thread that changes SCons' graph."""
        start = self._clock()
        if start < self._next:
            return
        _try(_write_now)
        now = self._clock()
        self._next = now + max(self._interval, MIN_PAUSE_FACTOR * (now - start))

    def finish(self) -> None:
        """Write the records; if the disk is full the build fails, and the next one rebuilds what is not recorded."""
        compact_sconsign.install()
        problem = _try(self._write_at_end)
        if problem:
            print(f"scons: *** {problem}", file=sys.stderr)
            for database in SCons.SConsign.DB_sync_list:
                # Otherwise it tries again when it is collected, with a stack trace.
                database._needs_sync = False
            SCons.Script.Main.exit_status = SCons.Script.Main.this_build_status = 2


def _write_now() -> None:
    compact_sconsign.install()
    for folder in SCons.SConsign.sig_files:
        folder.write(sync=0)
    for database in SCons.SConsign.DB_sync_list:
        database.sync()


def _try(write: Callable[[], None]) -> InvalidInput | None:
    try:
        write()
    except OSError as error:
        return _failure(error)
    return None


def _failure(error: OSError) -> InvalidInput:
    disk_remedy = "free disk space (unrecorded steps will be rebuilt)"
    remedy = disk_remedy if error.errno in _DISK_FULL else _READ_ONLY_REMEDY
    return InvalidInput("records-write", f"cannot write .sconsign.dblite: {write_error_text(error)}", remedy=remedy)
