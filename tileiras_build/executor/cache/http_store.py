"""A store on an HTTP/1.1 server: GET and PUT of ``<address>/ac/<name>`` and ``<address>/cas/<name>``.

That is all that bazel-remote, nginx with WebDAV, Apache and object stores behind a gateway have in common, so it is
all that is used. Each thread keeps one connection open. ``http://user:password@host`` sends them (RFC 7617).
A redirection is not followed: whoever gave the address trusts that server, and perhaps no other.
"""

from __future__ import annotations

import base64
import http.client
import ssl
import threading
import time
from functools import cache
from urllib.parse import unquote, urlsplit, urlunsplit

from .store import StoreError, StoreInterrupted, StoreTooSlow
from .wire import Bounds, Breaker, Interrupted, Wire

TIMEOUT = 10.0  # seconds for a request, from the look-up of the host's name to the last byte of the answer
LEAST_SPEED = 1 << 20  # bytes a second; what a large record may take besides
_HEAD = 1 << 18  # bytes of headers, and of what a transfer encoding adds
_ANSWER = 1 << 16  # bytes of an answer to PUT that are read; longer ones cost the connection
_ABSENT = (404, 410)
_STORED = (200, 201, 202, 204)
# A server may end an idle connection at any time; both methods can be repeated.
_STALE = (http.client.BadStatusLine, ConnectionError)


class HttpStore:
    """Records on the server at ``address``."""

    def __init__(self, address: str, timeout: float = TIMEOUT):
        parts = urlsplit(address)
        netloc = parts.netloc.rpartition("@")[2]
        self.place = urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), "", ""))
        self._secure, self._timeout = parts.scheme == "https", timeout
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/")
        self._headers = _credentials(parts.username, parts.password)
        self._local, self._breaker = threading.local(), Breaker()

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, None where there is none; raises StoreError."""
        status, data = self._ask("GET", f"{self._path}/{kind}/{name}", limit=limit)
        if status in _ABSENT:
            return None
        if status != 200:
            raise StoreError(_answered(status))
        return data

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Keep a record; raises StoreError."""
        status, _ = self._ask("PUT", f"{self._path}/{kind}/{name}", data)
        if status not in _STORED:
            raise StoreError(_answered(status))

    def interrupt(self) -> None:
        """End all requests, from another thread than theirs."""
        self._breaker.interrupt()

    def _ask(self, method: str, path: str, body: bytes | None = None, limit: int = _ANSWER) -> tuple[int, bytes]:
        """Status and body of the answer, or its first ``limit`` + 1 bytes. Raises StoreError."""
        seconds = self._timeout + max(limit, len(body or b"")) / LEAST_SPEED
        # Chunks of one byte are six bytes on the wire, and no server sends them.
        bounds = Bounds(time.monotonic() + seconds, _HEAD + 2 * limit)
        attempts = 2 if getattr(self._local, "connection", None) else 1
        while True:
            attempts -= 1
            try:
                return self._exchange(method, path, body, limit, bounds)
            except Interrupted:
                raise StoreInterrupted("the build is ending") from None
            except TimeoutError:
                raise StoreTooSlow(f"it did not answer in time ({seconds:.0f} s)") from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                if not attempts or not isinstance(error, _STALE):
                    raise StoreError(_reason(error)) from None

    def _exchange(self, method: str, path: str, body: bytes | None, limit: int, bounds: Bounds) -> tuple[int, bytes]:
        connection = self._connection(bounds)
        response, whole = None, False
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            data = response.read(limit + 1)
            if response.length and len(data) <= limit:
                raise http.client.IncompleteRead(data)
            # Only a connection whose answer was read to its end can carry another one.
            whole = len(data) <= limit and (response.isclosed() or not response.read(1))
            return response.status, data
        finally:
            if not whole:
                self._local.connection = None
                connection.close()
                if response is not None:
                    response.close()

    def _connection(self, bounds: Bounds) -> http.client.HTTPConnection:
        """This thread's connection, within the bounds of a new request."""
        connection = getattr(self._local, "connection", None)
        # A server may have asked for the end of the connection.
        if connection is None or connection.sock is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = kind(self._host, self._port)
            connection.auto_open = False
            context = _tls() if self._secure else None
            connection.sock = Wire(self._host, connection.port, context, bounds, self._breaker)
            self._local.connection = connection
        connection.sock.bounds = bounds
        return connection


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _credentials(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _answered(status: int) -> str:
    return f"it answered {status} {http.client.responses.get(status, '')}".rstrip()


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.HTTPException) or not isinstance(error, OSError):
        return f"its answer is not whole ({type(error).__name__})"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
