"""Preforked processes of the server.

The first write of a fork to a page of memory copies it, and the compilation of one kernel writes some five thousand of them:
half of its time. So an idle server forks itself ahead. Such a fork compiles what the server compiled before it was ready
(``rehearse`` of its image), then waits, and serves one request. The server checks that the code is current at each request. A
fork that has imported further modules is not used, because the server does not check those.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from . import wire_protocol

MAX_PREFORKED = 2  # the number of workers of the shortest build, of one kernel for two targets
_IS_READY = b"+"
_SIGNALS = (signal.SIGHUP, signal.SIGTERM)


@dataclass
class PreforkedProcess:
    """A fork that waits, or soon will; ``channel`` is the server's end."""

    process: int
    channel: socket.socket
    is_ready: bool = False


@dataclass
class PreforkPool:
    """The preforked processes of a server, which polls them by ``waiting``. After one exits by itself none is forked any more."""

    waiting: select.poll
    _all: dict[int, PreforkedProcess] = field(default_factory=dict)  # by the descriptor of the channel
    _has_failed: bool = False

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._all

    @property
    def ready(self) -> list[int]:
        """The waiting processes."""
        return [spare.process for spare in self._all.values() if spare.is_ready]

    @property
    def needs_more(self) -> bool:
        """Whether to fork another one now: one at a time."""
        return (
            not self._has_failed
            and len(self._all) < MAX_PREFORKED
            and all(spare.is_ready for spare in self._all.values())
        )

    def add(self, fork: Callable[[Callable[[], int]], int], stand_by: Callable[[socket.socket], int]) -> None:
        """Add a process, made by ``fork``, that calls ``wait_for_client`` with its end of a channel."""
        ours, theirs = socket.socketpair()

        def begin() -> int:
            ours.close()
            return stand_by(theirs)

        with theirs:
            process = fork(begin)
        self._all[ours.fileno()] = PreforkedProcess(process, ours)
        self.waiting.register(ours, select.POLLIN)

    def on_readable(self, descriptor: int) -> None:
        """The process at a descriptor is ready, or it is ending."""
        spare = self._all[descriptor]
        spare.is_ready = False
        with suppress(OSError):
            spare.is_ready = spare.channel.recv(len(_IS_READY)) == _IS_READY
        if not spare.is_ready:
            self.waiting.unregister(descriptor)

    def dispatch(self, connection: socket.socket, client: int) -> int | None:
        """The process that serves the request of ``connection``'s ``client``; None if there is none."""
        for descriptor, spare in self._all.items():
            if spare.is_ready:
                with suppress(OSError):
                    wire_protocol.send(spare.channel, [str(client)], files=(connection.fileno(),))
                    self._forget(descriptor)
                    return spare.process
        return None

    def reap(self) -> None:
        """Remove processes that have ended."""
        for descriptor, spare in list(self._all.items()):
            if os.waitpid(spare.process, os.WNOHANG)[0]:
                self._has_failed = True
                self._forget(descriptor)

    def _forget(self, descriptor: int) -> None:
        with suppress(KeyError):
            self.waiting.unregister(descriptor)
        self._all.pop(descriptor).channel.close()

    def close(self) -> None:
        """Release them: they exit when their channel closes."""
        for spare in self._all.values():
            spare.channel.close()


def wait_for_client(
    channel: socket.socket, rehearse: Callable[[], None], answer: Callable[[socket.socket, int], int]
) -> int:
    """In the fork: warm up, wait, and ``answer`` a connection to a client; returns the exit status."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    before = set(sys.modules)
    rehearse()
    if sys.modules.keys() != before:
        return 1
    gc.freeze()
    channel.send(_IS_READY)
    try:
        ((client,),), (file,) = wire_protocol.receive(channel)
    except EOFError:
        return 0
    channel.close()
    return answer(socket.socket(fileno=file), int(client))
