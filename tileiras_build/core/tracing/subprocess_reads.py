"""The reads of a program and its children, and their failed searches, from their system calls.

A compiler's dependency file lists the headers that it has read, but not the paths that it searched before: a new header
there would be found first.
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

from .created_paths import CreatedPaths
from .dependency_state import is_standard
from .seccomp_listener import FileCall, FileOperation, Listener, send_listener

_LISTENING = 100  # ms between checks whether the program has ended
# Paths that the loader of shared libraries and the C library open themselves.
_SYSTEM = re.compile(
    r"/(dev|proc|sys)/|/etc/ld\.so|.*(/locale/|/gconv/|\.so(\.\d+)*$|/glibc-hwcaps)|/lib(64|x32)?/[^/]*$"
)


class SubprocessReads:
    """Collects reads by absolute path. ``is_complete``: whether the system has reported the calls."""

    def __init__(self) -> None:
        self.is_complete = False
        self.files: dict[str, None] = {}
        self.programs: dict[str, None] = {}
        self._absent: dict[str, None] = {}
        self._created = CreatedPaths()

    def on_call(self, call: FileCall) -> None:
        """Handle one call, which waits meanwhile."""
        if call.path is None or _SYSTEM.match(call.path) or is_standard(call.path):
            return
        if call.kind in (FileOperation.MAKE, FileOperation.RENAME):
            self._created.add(call.path)
        elif call.kind is FileOperation.RUN and os.path.isfile(call.path):
            self.programs[call.path] = None
        elif (
            call.kind
            in (
                FileOperation.OPEN,
                FileOperation.STAT,
                FileOperation.LINK,
                FileOperation.RUN,
            )
            and call.path not in self._created
        ):
            self._handle(call)

    def _handle(self, call: FileCall) -> None:
        assert call.path is not None
        if not os.path.lexists(call.path):
            if call.kind is FileOperation.OPEN and call.flags & os.O_CREAT:
                self._created.add(call.path)
            else:
                self._absent[call.path] = None
        elif call.kind is FileOperation.OPEN and not call.flags & os.O_WRONLY and os.path.isfile(call.path):
            self.files[call.path] = None

    def absent(self) -> dict[str, set[str]]:
        """Folder -> names that were searched in it and not found; if the folder does not exist, its first missing
        ancestor.
        """
        found: dict[str, set[str]] = defaultdict(set)
        for path in self._absent:
            folder, name = os.path.split(path)
            while not os.path.isdir(folder) and folder != os.path.dirname(folder):
                folder, name = os.path.split(folder)
            found[folder].add(name)
        return dict(found)

    @contextmanager
    def tracing(self) -> Iterator[Callable[[], None]]:
        """Trace a program that calls the yielded function in its process before it begins."""
        ours, theirs = socket.socketpair()
        ended = threading.Event()
        listener = threading.Thread(target=self._listen, args=(ours, ended), daemon=True)
        listener.start()
        try:
            yield lambda: send_listener(theirs)
        finally:
            theirs.close()
            ended.set()
            listener.join()
            ours.close()

    def _listen(self, ours: socket.socket, ended: threading.Event) -> None:
        if (listener := Listener.from_channel(ours)) is None:
            return
        self.is_complete = True
        waiting = select.poll()
        waiting.register(listener.descriptor, select.POLLIN)
        while (events := waiting.poll(_LISTENING)) or not ended.is_set():
            if any(event & (select.POLLHUP | select.POLLERR) and not event & select.POLLIN for _, event in events):
                break
            if events:
                for asked in listener.receive():
                    self.on_call(asked)
        listener.close()
