"""What a program and all that it runs read, and what they looked for and did not find, by their system calls.

A compiler says in its dependency file which headers it has read. Where it would have found another one first it does not
say: that is what it looked for in vain.
"""

from __future__ import annotations

import os
import re
import select
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .fs_probe import is_standard
from .seccomp_listener import Asked, Kind, Listener, show_calls

_LISTENING = 100  # ms between looks whether the program has ended
# What the loader of shared libraries and the C library ask for by themselves.
_SYSTEM = re.compile(
    r"/(dev|proc|sys)/|/etc/ld\.so|.*(/locale/|/gconv/|\.so(\.\d+)*$|/glibc-hwcaps)|/lib(64|x32)?/[^/]*$"
)


class ProgramReads:
    """Collects, by absolute path. ``is_complete`` tells whether the system has told the calls."""

    def __init__(self) -> None:
        self.is_complete = False
        self.files: dict[str, None] = {}
        self.programs: dict[str, None] = {}
        self._absent: dict[str, None] = {}
        self._made: set[str] = set()

    def see(self, asked: Asked) -> None:
        """One call, which waits meanwhile."""
        if asked.path is None or _SYSTEM.match(asked.path) or is_standard(asked.path):
            return
        if asked.kind in (Kind.MAKE, Kind.RENAME):
            self._made.add(asked.path)
        elif asked.kind is Kind.RUN and os.path.isfile(asked.path):
            self.programs[asked.path] = None
        elif asked.kind in (Kind.OPEN, Kind.STAT, Kind.LINK, Kind.RUN) and not self._is_made(asked.path):
            self._look(asked)

    def _look(self, asked: Asked) -> None:
        assert asked.path is not None
        if not os.path.lexists(asked.path):
            if asked.kind is Kind.OPEN and asked.flags & os.O_CREAT:
                self._made.add(asked.path)
            else:
                self._absent[asked.path] = None
        elif asked.kind is Kind.OPEN and not asked.flags & os.O_WRONLY and os.path.isfile(asked.path):
            self.files[asked.path] = None

    def _is_made(self, path: str) -> bool:
        return path in self._made or any(path.startswith(made + os.sep) for made in self._made)

    def absent(self) -> dict[str, set[str]]:
        """Folder -> names in it that were looked for; of a path whose folder is not there, the part that would appear first."""
        found: dict[str, set[str]] = defaultdict(set)
        for path in self._absent:
            folder, name = os.path.split(path)
            while not os.path.isdir(folder) and folder != os.path.dirname(folder):
                folder, name = os.path.split(folder)
            found[folder].add(name)
        return dict(found)

    @contextmanager
    def tracing(self) -> Iterator[Callable[[], None]]:
        """While a program runs that calls the yielded function in its process before it begins."""
        ours, theirs = socket.socketpair()
        ended = threading.Event()
        listener = threading.Thread(target=self._listen, args=(ours, ended), daemon=True)
        listener.start()
        try:
            yield lambda: show_calls(theirs)
        finally:
            theirs.close()
            ended.set()
            listener.join()
            ours.close()

    def _listen(self, ours: socket.socket, ended: threading.Event) -> None:
        if (listener := Listener.shown(ours)) is None:
            return
        self.is_complete = True
        waiting = select.poll()
        waiting.register(listener.descriptor, select.POLLIN)
        while (events := waiting.poll(_LISTENING)) or not ended.is_set():
            if any(event & (select.POLLHUP | select.POLLERR) and not event & select.POLLIN for _, event in events):
                break
            if events:
                for asked in listener.receive():
                    self.see(asked)
        listener.close()
