"""A connection to a server for one request at a time, under one deadline for all of it and a limit of bytes.

A socket's own timeout is per call: a server that sends a byte a second never exceeds it. Here each wait, be it for the
address of the host, the connection, the handshake, the sending or any byte of the answer, is for what is left of the
request's time, and ends when the build does. ``http.client`` reads and writes through it as through a socket.
"""

from __future__ import annotations

import io
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

_STEP = 1 << 16  # bytes that are read at once


class Interrupted(Exception):
    """The build is ending."""


@dataclass
class Bounds:
    """What one request may take: until when (of ``time.monotonic``), and how many bytes of an answer."""

    until: float
    size: int

    def left(self) -> float:
        """Seconds that are left; raises TimeoutError where there are none."""
        seconds = self.until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


@dataclass
class Breaker:
    """Ends the waits of all wires that were given it, from any thread, at once and for good."""

    broken: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _sockets: set[socket.socket] = field(default_factory=set)

    def interrupt(self) -> None:
        """Every wait raises Interrupted from now on."""
        with self._changed:
            self.broken = True
            self._changed.notify_all()
            for open_one in self._sockets:
                with suppress(OSError):
                    # Of the descriptor, so that who waits for it wakes; a TLS socket's own would reset its state.
                    socket.socket.shutdown(open_one, socket.SHUT_RDWR)

    def check(self) -> None:
        """Raises Interrupted."""
        if self.broken:
            raise Interrupted

    def watch(self, opened: socket.socket) -> None:
        """End waits for ``opened`` too."""
        with self._changed:
            self._sockets.add(opened)
        self.check()

    def forget(self, closed: socket.socket) -> None:
        """``closed`` is not waited for any more."""
        with self._changed:
            self._sockets.discard(closed)

    def wait_for(self, ready: Callable[[], bool], seconds: float) -> None:
        """Until ``ready()`` after somebody called ``notify``; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.broken or ready(), seconds):
                raise TimeoutError
        self.check()

    def notify(self) -> None:
        """Let those who wait look again."""
        with self._changed:
            self._changed.notify_all()


class Wire:
    """A connection to ``host``; ``context`` makes it TLS. Used by one thread at a time."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None, bounds: Bounds, breaker: Breaker):
        self.bounds, self._breaker = bounds, breaker
        self._closed, self._readers = False, 0
        self._socket = self._connect(_find(host, port, bounds, breaker))
        if context is not None:
            self._start_tls(context, host)

    def sendall(self, data: bytes) -> None:
        """As a socket's. Raises OSError, TimeoutError, Interrupted."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._attempt(lambda: self._socket.send(rest), select.POLLOUT) :]  # noqa: B023

    def makefile(self, mode: str) -> io.BufferedReader:
        """What the server sends, as bytes to read; it can be read until it is closed, whatever becomes of the wire."""
        self._readers += 1
        return io.BufferedReader(_Answer(self), _STEP)

    def receive_into(self, buffer) -> int:
        """Read some bytes; 0 at the end. Raises OSError, TimeoutError, Interrupted, and OSError beyond the limit."""
        count = self._attempt(lambda: self._socket.recv_into(buffer), select.POLLIN)
        self.bounds.size -= count
        if self.bounds.size < 0:
            raise OSError("its answer is too long")
        return count

    def close(self) -> None:
        """End the connection, once nobody reads from it."""
        self._closed = True
        self._close_if_unused()

    def leave(self) -> None:
        """A reader is done."""
        self._readers -= 1
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._closed and self._readers <= 0:
            self._breaker.forget(self._socket)
            self._socket.close()

    def _connect(self, addresses: list[tuple]) -> socket.socket:
        """The first address that answers."""
        for position, (family, kind, protocol, _, address) in enumerate(addresses):
            self._socket = socket.socket(family, kind, protocol)
            try:
                self._open(address)
            except BaseException as error:
                self.close()
                if isinstance(error, OSError) and not isinstance(error, TimeoutError) and position + 1 < len(addresses):
                    continue
                raise
            return self._socket
        raise OSError("its name has no address")

    def _open(self, address: tuple) -> None:
        self._socket.setblocking(False)
        self._breaker.watch(self._socket)
        with suppress(BlockingIOError):
            self._socket.connect(address)
        self._wait(select.POLLOUT)
        if number := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(number, os.strerror(number))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _start_tls(self, context: ssl.SSLContext, host: str) -> None:
        plain = self._socket
        try:
            self._socket = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
            self._breaker.forget(plain)
            self._breaker.watch(self._socket)
            self._attempt(self._socket.do_handshake, select.POLLIN)
        except BaseException:
            self.close()
            raise

    def _attempt(self, operation: Callable, event: int):
        """``operation``'s result as soon as it can be had; ``event`` is what a plain socket waits for."""
        while True:
            self._breaker.check()
            self.bounds.left()
            try:
                result = operation()
                # An interrupted one has ended as if the server had closed the connection.
                self._breaker.check()
                return result
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)
            except BlockingIOError:
                self._wait(event)

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._socket, event)
        ready = poll.poll(self.bounds.left() * 1000)
        self._breaker.check()
        if not ready:
            raise TimeoutError


class _Answer(io.RawIOBase):
    """What a wire receives, for a BufferedReader."""

    def __init__(self, wire: Wire):
        self._wire = wire

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer) -> int:
        """Some bytes; 0 at the end."""
        return self._wire.receive_into(buffer)

    def close(self) -> None:
        """No more is read."""
        if not self.closed:
            self._wire.leave()
        super().close()


def _find(host: str, port: int, bounds: Bounds, breaker: Breaker) -> list[tuple]:
    """The addresses of a host. Raises OSError, TimeoutError, Interrupted.

    The system's resolver cannot be interrupted and has a patience of its own: a thread that may be left behind asks it.
    """
    found: list = []

    def ask() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.append(error)
        except ValueError as error:
            found.append(OSError(f"its name cannot be looked up: {error}"))
        breaker.notify()

    threading.Thread(target=ask, name="tileiras-resolver", daemon=True).start()
    breaker.wait_for(lambda: bool(found), bounds.left())
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]
