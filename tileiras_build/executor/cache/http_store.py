"""A store on an HTTP/1.1 server: GET and PUT of ``<address>/ac/<name>`` and ``<address>/cas/<name>``.

That is all that bazel-remote, nginx with WebDAV, Apache and object stores behind a gateway have in common, so it is
all that is used. Each thread keeps one connection open. ``http://user:password@host`` sends them (RFC 7617).
"""

from __future__ import annotations

import base64
import http.client
import threading
from urllib.parse import unquote, urlsplit, urlunsplit

from .store import StoreError

TIMEOUT = 10.0  # seconds without a byte from the server
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
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._headers = _credentials(parts.username, parts.password)
        self._local = threading.local()

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

    def _ask(self, method: str, path: str, body: bytes | None = None, limit: int = _ANSWER) -> tuple[int, bytes]:
        attempts = 2 if getattr(self._local, "connection", None) else 1
        while True:
            attempts -= 1
            try:
                return self._exchange(method, path, body, limit)
            except (OSError, http.client.HTTPException) as error:
                if not attempts or not isinstance(error, _STALE):
                    raise StoreError(_reason(error)) from None

    def _exchange(self, method: str, path: str, body: bytes | None, limit: int) -> tuple[int, bytes]:
        connection = self._connection()
        whole = False
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            data = response.read(limit + 1)
            if response.length and len(data) <= limit:
                raise http.client.IncompleteRead(data)
            # Only a connection whose answer was read to its end can carry another one.
            whole = response.isclosed() or not response.read(1)
            return response.status, data
        finally:
            if not whole:
                connection.close()
                self._local.connection = None

    def _connection(self) -> http.client.HTTPConnection:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._local.connection = kind(self._host, self._port, timeout=self._timeout)
        return connection


def _credentials(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _answered(status: int) -> str:
    return f"it answered {status} {http.client.responses.get(status, '')}".rstrip()


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, http.client.HTTPException):
        return f"its answer is not whole ({type(error).__name__})"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
