"""The servers of this user: what runs, and the end of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from . import environment_fingerprint
from .client import connect
from .wire_protocol import receive, send

MAX_SERVERS = 4  # servers of a user; those that were asked longest ago end where there are more


@dataclass(frozen=True)
class ServerInfo:
    """A server that has answered: what its files are called, its process, and when it began (seconds since 1970).

    ``requests`` counts those that it has had, ``running`` those that are under way; ``spares`` are the processes that wait for
    one (``spare.py``).
    """

    name: str
    process: int
    started: int
    requests: int
    running: int
    spares: tuple[int, ...] = ()

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.started))
        return f"process {self.process} since {since}: {self.requests} requests, {self.running} under way"


def find_servers(command: str = "status") -> list[ServerInfo]:
    """Those that answer, of every environment, asked for their "status" or to "stop". Raises OSError without a folder."""
    folder = environment_fingerprint.open_folder()
    try:
        return [found for name in _names(folder) if (found := _query(folder, name, command))]
    finally:
        os.close(folder)


def end_oldest(folder: int, own: str) -> None:
    """Let not more than MOST servers be there, this one included, whose name is ``own``."""
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
