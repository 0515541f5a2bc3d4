"""The server: waits, looks whether it is still what a new process would be, and lets a fork of itself answer each request.

One thread. Its forks, made for a request or ahead of it (``spare.py``), do everything that may take time or fail, the
reading of the request included; it only hears that they have ended, and ends those whose client has gone. So nobody waits
for anybody else's command.
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

IDLE_SECONDS = 15 * 60.0  # seconds without a request, after which a server ends
_CHECK_SECONDS = 30.0  # seconds between looks whether its socket is still there
_PATIENCE = 5.0  # seconds that a client may take for its request
_QUIET_SECONDS = 0.1  # seconds without a request, after which there is time to prepare for the next
RUN, READY, END, REFUSED, CHANGED = "run", "ready", "end", "refused", "changed"


@dataclass
class ActiveRequest:
    """A request under way: the fork and the connection to its client."""

    process: int
    connection: socket.socket


@dataclass
class Server:
    """The server at the socket ``name`` in the open ``folder``; ``lock`` is held for as long as it lives.

    ``text`` are its surroundings, ``variables`` those that it started with; ``rehearse`` does what a command does.
    """

    folder: int
    name: str
    lock: int
    text: str
    variables: dict[str, str]
    freshness: LoadedCode
    warm_fork: Callable[[], None]
    idle: float = IDLE_SECONDS
    started: float = field(default_factory=time.time)
    requests: int = 0
    _requests_in_flight: dict[int, ActiveRequest] = field(default_factory=dict)
    _unread_clients: dict[int, tuple[socket.socket, int]] = field(
        default_factory=dict
    )  # clients that have not said a word yet
    _waiting: select.poll = field(default_factory=select.poll)
    _last_request_time: float = field(default_factory=time.monotonic)
    _busy: float = -math.inf  # until when commands ran
    _abandoned: set[int] = field(default_factory=set)
    _stopped: bool = False

    def serve(self) -> None:
        """Serve until nobody asks for long, something changes, or somebody stops it."""
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
            if self._has_time() and time.monotonic() >= self._busy + _QUIET_SECONDS:
                self._prepare()
        self.stop_listening()

    def _pause(self) -> float:
        """Seconds to wait for whatever happens next."""
        return min(_CHECK_SECONDS, self.idle, _QUIET_SECONDS if self._has_time() else _CHECK_SECONDS)

    def _has_time(self) -> bool:
        """Whether this is the time to prepare for the next request."""
        return not self._stopped and not self._requests_in_flight and self._spares.needs_more

    def _prepare(self) -> None:
        def begin(channel: socket.socket) -> int:
            return wait_for_client(channel, self.warm_fork, lambda connection, client: answer(self, connection, client))

        self._spares.add(self._fork, begin)

    def _is_done(self) -> bool:
        """Whether nobody will ask any more."""
        return self._stopped or time.monotonic() - self._last_request_time >= self.idle or not self._is_there()

    def stop_listening(self) -> None:
        """Accept no requests from here on; another server may take the place."""
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
        """The variables that were set while all was imported."""
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
        """A client; its request begins when its first word has come, which mostly is a moment later."""
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
        """Begin a request, unless this server is out of date."""
        connection.settimeout(_PATIENCE)
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
        """Let a fork answer: one that waits, where there is one and work to do."""
        self.requests += 1
        process = None
        if wire_protocol.first_word(connection) == RUN:
            self._busy = math.inf
            process = self._spares.dispatch(connection, client)
        connection.settimeout(_PATIENCE)
        if process is None:
            process = self._fork(lambda: answer(self, connection, client))
        self._requests_in_flight[connection.fileno()] = ActiveRequest(process, connection)
        self._waiting.register(connection, 0)  # only that the other end was closed

    def _fork(self, work: Callable[[], int]) -> int:
        """The process of a fork that ends with the status of ``work``."""
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
        """In a fork: what is the server's."""
        signal.set_wakeup_fd(-1)
        if not self._stopped:
            self._socket.close()
            os.close(self.lock)
        self._spares.close()
        for served in self._requests_in_flight.values():
            served.connection.close()
        for connection, _ in self._unread_clients.values():
            connection.close()

    def _reap(self) -> None:
        """Tell clients whose fork has died without a word, and forget the forks that have ended."""
        with suppress(BlockingIOError):
            while os.read(self._heard, 4096):
                pass
        for descriptor, served in list(self._requests_in_flight.items()):
            ended = os.waitid(os.P_PID, served.process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                continue
            if ended.si_code != os.CLD_EXITED:
                with suppress(OSError):
                    wire_protocol.send(served.connection, [END, str(-ended.si_status)])
            os.waitpid(served.process, 0)
            del self._requests_in_flight[descriptor]
            if descriptor in self._abandoned:
                # The client's scratch folder: it was killed, or goes now and removes it itself.
                self._abandoned.remove(descriptor)
                remove_dead_scratch()
            with suppress(KeyError):
                self._waiting.unregister(descriptor)
            served.connection.close()
        self._spares.reap()
        if not self._requests_in_flight and self._busy == math.inf:
            self._busy = time.monotonic()

    def _end(self, descriptor: int) -> None:
        """The client has gone: so does its fork, with what that has started."""
        self._waiting.unregister(descriptor)
        self._abandoned.add(descriptor)
        with suppress(OSError):
            os.killpg(self._requests_in_flight[descriptor].process, signal.SIGKILL)


def answer(server: Server, connection: socket.socket, client: int) -> int:
    """In a fork: answer one request; the status to end with."""
    connection.settimeout(_PATIENCE)
    (head, *lists), _ = wire_protocol.receive(connection)
    if head[0] == RUN:
        return _answer_run(server, connection, client, head[1:], lists)
    if head[0] == "stop":
        os.kill(os.getppid(), signal.SIGTERM)
    wire_protocol.send(connection, _state(server))
    return 0


def _state(server: Server) -> list[str]:
    """What ``look.Found`` says of it."""
    numbers = (
        os.getppid(),
        round(server.started),
        server.requests - 1,
        len(server._requests_in_flight),
        *server._spares.ready,
    )
    return list(map(str, numbers))


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
    """Raises ValueError where the client is not what this server is."""
    if request.surroundings != server.text:
        raise ValueError("different environment")
    if environment_fingerprint.process_state(client) != environment_fingerprint.process_state(0):
        raise ValueError("client credentials do not match")
    before = server.variables
    if other := [name for name in server.freshness.variables if request.variables.get(name) != before.get(name)]:
        raise ValueError(f"environment variable {min(other)} differs")
