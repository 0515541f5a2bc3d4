"""The server loop: wait, check that the loaded code is up to date, and serve each request in a fork.

Single-threaded. Forks, created for a request or ahead of it (``prefork.py``), do everything that may block or fail,
including reading the request. The server only reaps them, and kills those whose client has gone. So no client waits for
the command of another.
"""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from ...core.user_tmp import remove_dead_scratch
from ...pipeline.stages import load
from . import environment_fingerprint, wire_protocol
from .impersonate_client import Request, close_all_but, impersonate, run, take_files
from .prefork import PreforkPool, wait_for_client
from .staleness import LoadedCode, StaleServer

IDLE_SECONDS = 15 * 60.0  # without a request, after which a server exits
_CHECK_SECONDS = 30.0  # between checks that its socket is still there
_TIMEOUT_SECONDS = 5.0  # for a client to send its request
_QUIET_SECONDS = 0.1  # without a request, after which a process is preforked
RUN, READY, END, REFUSED, CHANGED = "run", "ready", "end", "refused", "changed"


@dataclass
class ActiveRequest:
    """A request in flight: the fork and the connection to its client."""

    process: int
    connection: socket.socket


@dataclass
class Server:
    """The server at the socket ``name`` in the open ``folder``; ``lock`` is held while it runs.

    ``fingerprint`` is that of its environment, ``variables`` are the environment variables at its start; ``warm_fork`` runs
    a compilation in a fork ahead of its request.
    """

    folder: int
    name: str
    lock: int
    fingerprint: str
    variables: dict[str, str]
    freshness: LoadedCode
    warm_fork: Callable[[], None]
    idle: float = IDLE_SECONDS
    started: float = field(default_factory=time.time)
    requests: int = 0
    _requests_in_flight: dict[int, ActiveRequest] = field(default_factory=dict)
    _unread_clients: dict[int, tuple[socket.socket, int]] = field(
        default_factory=dict
    )  # clients that have not sent anything yet
    _waiting: select.poll = field(default_factory=select.poll)
    _last_request_time: float = field(default_factory=time.monotonic)
    _busy_until: float = -math.inf  # end of the last command
    _abandoned: set[int] = field(default_factory=set)
    _stopped: bool = False

    def serve(self) -> None:
        """Serve until the idle limit, a change of the loaded code, or a stop request."""
        self._spares = PreforkPool(self._waiting)
        self._heard, written = os.pipe()
        for end in (self._heard, written):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.stop_listening())
        self._listen()
        self._waiting.register(self._socket, select.POLLIN)
        self._waiting.register(self._heard, select.POLLIN)
        while self._requests_in_flight or not self._is_done():
            for descriptor, _ in self._waiting.poll(self._pause() * 1000):
                if descriptor == self._heard:
                    self._reap()
                elif descriptor in self._spares:
                    self._spares.on_readable(descriptor)
                elif descriptor in self._unread_clients:
                    self._waiting.unregister(descriptor)
                    self._on_message(*self._unread_clients.pop(descriptor))
                elif descriptor in self._requests_in_flight:
                    self._end(descriptor)
                elif descriptor == self._socket.fileno():
                    self._accept()
            if self._should_prefork() and time.monotonic() >= self._busy_until + _QUIET_SECONDS:
                self._prefork()
        self.stop_listening()

    def _pause(self) -> float:
        """Seconds to wait for the next event."""
        return min(_CHECK_SECONDS, self.idle, _QUIET_SECONDS if self._should_prefork() else _CHECK_SECONDS)

    def _should_prefork(self) -> bool:
        """Whether to prefork a process for the next request."""
        return not self._stopped and not self._requests_in_flight and self._spares.needs_more

    def _prefork(self) -> None:
        def begin(channel: socket.socket) -> int:
            return wait_for_client(channel, self.warm_fork, lambda connection, client: answer(self, connection, client))

        self._spares.add(self._fork, begin)

    def _is_done(self) -> bool:
        """Whether the server is stopped, idle for too long, or replaced."""
        return self._stopped or time.monotonic() - self._last_request_time >= self.idle or not self._is_there()

    def stop_listening(self) -> None:
        """Accept no more requests; another server may take the socket."""
        if self._stopped:
            return
        self._stopped = True
        if self._is_there():
            with suppress(OSError):
                os.unlink(self._path())
        self._waiting.unregister(self._socket)
        self._socket.close()
        for descriptor, (connection, _) in self._unread_clients.items():
            self._waiting.unregister(descriptor)
            connection.close()
        self._unread_clients.clear()
        self._spares.close()
        os.close(self.lock)

    @property
    def set_by_image(self) -> dict[str, str]:
        """The environment variables that imports have set."""
        return {name: value for name, value in os.environ.items() if self.variables.get(name) != value}

    def _listen(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        path = self._path()
        with suppress(FileNotFoundError):
            os.unlink(path)
        mask = os.umask(0o177)
        self._socket.bind(path)
        os.umask(mask)
        self._inode = os.stat(path).st_ino
        self._socket.listen(64)
        self._socket.setblocking(False)

    def _path(self) -> str:
        return environment_fingerprint.path_in(self.folder, f"{self.name}.socket")

    def _is_there(self) -> bool:
        try:
            return os.stat(self._path()).st_ino == self._inode
        except OSError:
            return False

    def _accept(self) -> None:
        """Accept a client; its request starts when its first bytes arrive."""
        try:
            connection, _ = self._socket.accept()
            client, user = wire_protocol.peer_credentials(connection)
        except OSError:
            return
        if user != os.geteuid():
            connection.close()
            return
        self._unread_clients[connection.fileno()] = connection, client
        self._waiting.register(connection, select.POLLIN)

    def _on_message(self, connection: socket.socket, client: int) -> None:
        """Start a request, unless the server is stale."""
        connection.settimeout(_TIMEOUT_SECONDS)
        try:
            self.freshness.check()
        except StaleServer as change:
            # Before the answer: the client starts another server.
            self.stop_listening()
            with suppress(OSError):
                wire_protocol.send(connection, [CHANGED, str(change)])
            connection.close()
            return
        self._last_request_time = time.monotonic()
        os.utime(self.lock)
        self._begin(connection, client)

    def _begin(self, connection: socket.socket, client: int) -> None:
        """Serve in a fork: a preforked one if there is one and the request is to run a command."""
        self.requests += 1
        process = None
        if wire_protocol.first_word(connection) == RUN:
            self._busy_until = math.inf
            process = self._spares.dispatch(connection, client)
        connection.settimeout(_TIMEOUT_SECONDS)
        if process is None:
            process = self._fork(lambda: answer(self, connection, client))
        self._requests_in_flight[connection.fileno()] = ActiveRequest(process, connection)
        self._waiting.register(connection, 0)  # reports only that the other end was closed

    def _fork(self, work: Callable[[], int]) -> int:
        """The process of a fork that exits with the status of ``work``."""
        process = os.fork()
        if process == 0:
            self._do(work)
        with suppress(OSError):
            os.setpgid(process, process)
        return process

    def _do(self, work: Callable[[], int]) -> None:
        """The fork: never returns."""
        status = 1
        try:
            with suppress(OSError):
                os.setpgid(0, 0)
            self._forget()
            status = work()
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)

    def _forget(self) -> None:
        """In a fork: close the descriptors of the server."""
        signal.set_wakeup_fd(-1)
        if not self._stopped:
            self._socket.close()
            os.close(self.lock)
        self._spares.close()
        for active in self._requests_in_flight.values():
            active.connection.close()
        for connection, _ in self._unread_clients.values():
            connection.close()

    def _reap(self) -> None:
        """Reap forks that have ended, and report killed ones to their clients."""
        with suppress(BlockingIOError):
            while os.read(self._heard, 4096):
                pass
        for descriptor, active in list(self._requests_in_flight.items()):
            ended = os.waitid(os.P_PID, active.process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                continue
            if ended.si_code != os.CLD_EXITED:
                with suppress(OSError):
                    wire_protocol.send(active.connection, [END, str(-ended.si_status)])
            os.waitpid(active.process, 0)
            del self._requests_in_flight[descriptor]
            if descriptor in self._abandoned:
                # The client's scratch folder: the client was killed, or removes the folder itself.
                self._abandoned.remove(descriptor)
                remove_dead_scratch()
            with suppress(KeyError):
                self._waiting.unregister(descriptor)
            active.connection.close()
        self._spares.reap()
        if not self._requests_in_flight and self._busy_until == math.inf:
            self._busy_until = time.monotonic()

    def _end(self, descriptor: int) -> None:
        """Kill the fork, with its children, of a client that has gone."""
        self._waiting.unregister(descriptor)
        self._abandoned.add(descriptor)
        with suppress(OSError):
            os.killpg(self._requests_in_flight[descriptor].process, signal.SIGKILL)


def answer(server: Server, connection: socket.socket, client: int) -> int:
    """In a fork: serve one request; returns the exit status."""
    connection.settimeout(_TIMEOUT_SECONDS)
    (head, *lists), _ = wire_protocol.receive(connection)
    if head[0] == RUN:
        return _answer_run(server, connection, client, head[1:], lists)
    if head[0] == "stop":
        os.kill(os.getppid(), signal.SIGTERM)
    wire_protocol.send(connection, _state(server))
    return 0


def _state(server: Server) -> list[str]:
    """The fields of ``list_servers.ServerInfo`` except its name."""
    fields = (
        os.getppid(),
        round(server.started),
        server.requests - 1,
        len(server._requests_in_flight),
        *server._spares.ready,
    )
    return list(map(str, fields))


def _answer_run(server: Server, connection: socket.socket, client: int, head: list[str], lists: list[list[str]]) -> int:
    arguments, words, rows = lists
    request = Request(head[0], head[1], arguments, words, dict(row.split("=", 1) for row in rows))
    try:
        _refuse(server, client, request)
        impersonate(client, request, server.set_by_image)
    except (OSError, ValueError) as error:
        wire_protocol.send(connection, [REFUSED, str(error)])
        return 1
    wire_protocol.send(connection, [READY, str(os.getpid())])
    _, files = wire_protocol.receive(connection)
    connection.settimeout(None)
    close_all_but(connection.fileno(), *files)
    more = take_files(files)
    status = run(lambda: load(request.function)(*request.arguments, *more))
    with suppress(OSError):
        wire_protocol.send(connection, [END, str(status)])
    return status


def _refuse(server: Server, client: int, request: Request) -> None:
    """Raise ValueError if the environment of the client differs from the server's."""
    if request.fingerprint != server.fingerprint:
        raise ValueError("different environment")
    if environment_fingerprint.process_state(client) != environment_fingerprint.process_state(0):
        raise ValueError("client credentials do not match")
    before = server.variables
    if other := [name for name in server.freshness.variables if request.variables.get(name) != before.get(name)]:
        raise ValueError(f"environment variable {min(other)} differs")
