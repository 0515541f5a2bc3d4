"""Forks of the server that are there before anybody asks.

The first thing that a fork does with a page of memory is to copy it, and the compilation of one kernel changes some five
thousand of them: half of its time. So a server that has nothing to do forks itself ahead. Such a fork compiles what the server
has compiled before it answered (``warm_up`` of its image), then waits, and takes one request. Whether the code is current the
server looks when somebody asks, as for each request; a fork that has imported anything by then is none to use, for of that
the server knows nothing.
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

MAX_PREFORKED = 2  # as many workers as the shortest build of one kernel for two targets has
_IS_READY = b"+"
_SIGNALS = (signal.SIGHUP, signal.SIGTERM)


@dataclass
class PreforkedProcess:
    """A fork that waits, or will soon; ``channel`` is the server's end."""

    process: int
    channel: socket.socket
    is_ready: bool = False


@dataclass
class PreforkPool:
    """Those of a server, which hears of them by ``waiting``. One that ends by itself is the last: it would do so again."""

    waiting: select.poll
    _all: dict[int, PreforkedProcess] = field(default_factory=dict)  # by the descriptor of the channel
    _has_failed: bool = False

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._all

    @property
    def ready(self) -> list[int]:
        """The processes that wait."""
        return [spare.process for spare in self._all.values() if spare.is_ready]

    @property
    def needs_more(self) -> bool:
        """Whether one more should be made now: one at a time."""
        return (
            not self._has_failed
            and len(self._all) < MAX_PREFORKED
            and all(spare.is_ready for spare in self._all.values())
        )

    def add(self, fork: Callable[[Callable[[], int]], int], stand_by: Callable[[socket.socket], int]) -> None:
        """Let ``fork`` make a process that calls ``wait_for_client`` with its end of a channel."""
        ours, theirs = socket.socketpair()

        def begin() -> int:
            ours.close()
            return stand_by(theirs)

        with theirs:
            process = fork(begin)
        self._all[ours.fileno()] = PreforkedProcess(process, ours)
        self.waiting.register(ours, select.POLLIN)

    def on_readable(self, descriptor: int) -> None:
        """The one at a descriptor is ready, or it is ending."""
        spare = self._all[descriptor]
        spare.is_ready = False
        with suppress(OSError):
            spare.is_ready = spare.channel.recv(len(_IS_READY)) == _IS_READY
        if not spare.is_ready:
            self.waiting.unregister(descriptor)

    def dispatch(self, connection: socket.socket, client: int) -> int | None:
        """The process that takes a request, the ``connection`` to its ``client``; None where there is none."""
        for descriptor, spare in self._all.items():
            if spare.is_ready:
                with suppress(OSError):
                    wire_protocol.send(spare.channel, [str(client)], files=(connection.fileno(),))
                    self._forget(descriptor)
                    return spare.process
        return None

    def reap(self) -> None:
        """Forget those that have ended."""
        for descriptor, spare in list(self._all.items()):
            if os.waitpid(spare.process, os.WNOHANG)[0]:
                self._has_failed = True
                self._forget(descriptor)

    def _forget(self, descriptor: int) -> None:
        with suppress(KeyError):
            self.waiting.unregister(descriptor)
        self._all.pop(descriptor).channel.close()

    def close(self) -> None:
        """Let them go: they end when nobody can speak to them any more."""
        for spare in self._all.values():
            spare.channel.close()


def wait_for_client(
    channel: socket.socket, rehearse: Callable[[], None], answer: Callable[[socket.socket, int], int]
) -> int:
    """In the fork: get ready, wait, and ``answer`` a connection to a client; the status to end with."""
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
