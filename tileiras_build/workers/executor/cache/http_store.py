"""A store on an HTTP/1.1 server: GET and PUT of ``<address>/ac/<name>`` and ``<address>/cas/<name>``.

That is the common subset of bazel-remote, nginx with WebDAV, Apache and object stores behind a gateway.
``http://user:password@host`` sends credentials (RFC 7617). Redirects are not followed: the user trusts that server, and
perhaps no other.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from .remote_store_base import TIMEOUT, RemoteStore
from .store import StoreError

if TYPE_CHECKING:
    from .http_client import HttpClient

_ANSWER = 1 << 16  # bytes of a response to PUT that are read; longer ones close the connection
_ABSENT = (404, 410)
_STORED = (200, 201, 202, 204)


class HttpStore(RemoteStore["HttpClient"]):
    """Records on the server at ``address``."""

    def __init__(self, address: str, timeout: float = TIMEOUT):
        super().__init__(timeout)
        parts = urlsplit(address)
        netloc = parts.netloc.rpartition("@")[2]
        self.location = urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), "", ""))
        self._user = None if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, None if there is none; raises StoreError."""
        status, data = self._exchange("GET", f"{kind}/{name}", limit=limit)
        if status in _ABSENT:
            return None
        if status != 200:
            raise StoreError(_answered(status))
        return data

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Store a record; raises StoreError."""
        status, _ = self._exchange("PUT", f"{kind}/{name}", data)
        if status not in _STORED:
            raise StoreError(_answered(status))

    def _exchange(self, method: str, path: str, body: bytes | None = None, limit: int = _ANSWER) -> tuple[int, bytes]:
        """Status and body of the response, or its first ``limit`` + 1 bytes. Raises StoreError."""
        requests = self._connected()
        request = lambda seconds: requests.request(method, path, body, limit, seconds)
        return self._request(request, max(limit, len(body or b"")))

    def _connect(self) -> HttpClient:
        from .http_client import HttpClient

        return HttpClient(self.location, self._user)


def _answered(status: int) -> str:
    words = {one.value: one.phrase for one in HTTPStatus}
    return f"HTTP {status} {words.get(status, '')}".rstrip()
