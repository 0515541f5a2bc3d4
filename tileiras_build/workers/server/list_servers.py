"""List and stop the compile servers of this user."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from . import environment_fingerprint
from .run_on_server import connect
from .wire_protocol import receive, send

MAX_SERVERS = 4  # servers per user; beyond it the least recently used ones are stopped


@dataclass(frozen=True)
class ServerInfo:
    """A server that answers: the name of its files, its process id, and its start (seconds since 1970).

    ``requests`` counts all requests, ``running`` those in flight; ``spares`` are the preforked processes (``prefork.py``).
    """

    name: str
    process: int
    started: int
    requests: int
    running: int
    spares: tuple[int, ...] = ()

    def __str__(self) -> str:
        minutes = max(int(time.time() - self.started), 0) // 60
        uptime = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
        state = f"{self.running} in flight" if self.running else "idle"
        return f"pid {self.process}, up {uptime}, {self.requests} requests, {state}"


def find_servers(command: str = "status") -> list[ServerInfo]:
    """The servers that answer, of every environment; ``command`` is "status" or "stop". Raises OSError without a folder."""
    folder = environment_fingerprint.open_folder()
    try:
        return [found for name in _names(folder) if (found := _query(folder, name, command))]
    finally:
        os.close(folder)


def end_oldest(folder: int, own: str) -> None:
    """Stop the least recently used servers beyond MAX_SERVERS, counting this one, whose name is ``own``."""
    names = [name for name in _names(folder) if name != own]
    for name in sorted(names, key=lambda name: _last_request_time(folder, name), reverse=True)[MAX_SERVERS - 1 :]:
        _query(folder, name, "stop")


def _names(folder: int) -> Iterator[str]:
    suffix = ".socket"
    return (name.removesuffix(suffix) for name in sorted(os.listdir(folder)) if name.endswith(suffix))


def _last_request_time(folder: int, name: str) -> float:
    with suppress(OSError):
        return os.stat(f"{name}.lock", dir_fd=folder).st_mtime
    return 0.0


def _query(folder: int, name: str, what: str) -> ServerInfo | None:
    with suppress(OSError, EOFError, ValueError):
        with closing(connect(folder, name)) as connection:
            send(connection, [what])
            (answer,), _ = receive(connection)
            process, started, requests, running, *spares = map(int, answer)
            return ServerInfo(name, process, started, requests, running, tuple(spares))
    return None
