"""Requests to one HTTP server by urllib3: its connections, proxies, TLS and retries; the limits of a response are our own.

A proxy is taken from ``http_proxy``, ``https_proxy`` and ``no_proxy``, as in other programs, but never for this machine.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
import urllib.request
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, NewConnectionError, ProxySchemeUnknown
from urllib3.exceptions import TimeoutError as TooLate

from ..tls_certificates import tls_error_text
from .store import StoreError

_MAX_HEADERS = 1 << 18  # bytes of headers, and of the overhead of a transfer encoding
_CONNECTIONS = 256  # that stay open; at least the number of threads of a build
_BUSY = (429, 502, 503, 504)  # status codes of a proxy or an overloaded server: retry later


class HttpClient:
    """Requests to the server of ``address``; ``user`` is "name:password", or None. Used by several threads at once."""

    def __init__(self, address: str, user: str | None):
        parts = urlsplit(address)
        proxy = _proxy(parts.scheme, parts.hostname or "")
        self._manager = _manager(proxy, parts.scheme)
        # Not by the manager, which looks up the pool for each request.
        self._pool = self._manager.connection_from_url(address)
        # A proxy gets the whole URL, except for an encrypted tunnel.
        self._base = address if proxy and parts.scheme == "http" else parts.path
        self._headers = urllib3.make_headers(basic_auth=user) if user is not None else {}

    def request(self, method: str, path: str, body: bytes | None, limit: int, seconds: float) -> tuple[int, bytes]:
        """Status and body of the response, or its first ``limit`` + 1 bytes. Raises StoreError, TimeoutError."""
        # Chunks of one byte are six bytes on the wire, and no server sends them.
        _bounds.set(_ReadLimits(time.monotonic() + seconds, _MAX_HEADERS + 2 * limit))
        options: dict[str, Any] = {"body": body, "headers": self._headers, "timeout": seconds} | _OPTIONS
        try:
            response = self._pool.urlopen(method, f"{self._base}/{path}", **options)
            return response.status, _read(response, limit)
        except (HTTPError, http.client.HTTPException, OSError, ValueError, _ReadAborted) as error:
            raise _reason(error) from None


def _read(response: urllib3.BaseHTTPResponse, limit: int) -> bytes:
    """The body; the connection can be reused if it was read to its end."""
    data = response.read(limit + 1, decode_content=False)
    if len(data) > limit:
        response.close()
    else:
        response.read(1)  # detects the end of the body
    return data


class _Retry(urllib3.Retry):
    """Retries: a server may close an idle connection at any time, and may be busy; both methods are idempotent. Never sleep."""

    def increment(self, method=None, url=None, response=None, error=None, _pool=None, _stacktrace=None):
        """The remaining retries."""
        if error is not None and _is_too_late(error):
            raise error
        return super().increment(method, url, response, error, _pool, _stacktrace)


_RETRIES = _Retry(
    total=3, connect=0, read=1, redirect=0, other=0, status=2, status_forcelist=_BUSY, backoff_factor=0.1,
    raise_on_status=False, respect_retry_after_header=False,
)  # fmt: skip


_OPTIONS = {"retries": _RETRIES, "redirect": False, "preload_content": False, "assert_same_host": False}


# ---- limits of a response ------------------------------------------------------------------------
class _ReadAborted(Exception):
    """The end of reading a response; derived from BaseException so that no library retries the request."""

    def __init__(self, reason: Exception):
        super().__init__(reason)
        self.reason = reason


class _ReadLimits:
    """The deadline (of ``time.monotonic``) and the size limit of a response."""

    def __init__(self, until: float, size: int):
        self.until, self.size = until, size

    def spend(self, count: int) -> None:
        """Raises if a limit is exceeded: the caller may be gone, but this thread would read forever."""
        self.size -= count
        if time.monotonic() > self.until:
            raise _ReadAborted(TimeoutError())
        if self.size < 0:
            raise _ReadAborted(StoreError("response too large"))


_bounds: ContextVar[_ReadLimits] = ContextVar("bounds")  # of the current request of this thread


class _Counted(io.RawIOBase):
    """A server's response, as far as it is read."""

    def __init__(self, raw: io.RawIOBase):
        self._raw = raw

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer) -> int | None:
        """Some bytes; 0 at the end."""
        count = self._raw.readinto(buffer)
        _bounds.get().spend(count or 0)
        return count

    def close(self) -> None:
        """Stop reading."""
        self._raw.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments, **options):
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_Counted(self.fp.detach()))


class _Plain(HTTPConnection):
    response_class = _Answer


class _Secure(HTTPSConnection):
    response_class = _Answer


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Secure


# ---- connections ---------------------------------------------------------------------------------
def _manager(proxy: str | None, scheme: str) -> urllib3.PoolManager:
    options: dict[str, Any] = {"maxsize": _CONNECTIONS}
    if scheme == "https":
        options["ssl_context"] = tls()
    manager = _over(proxy, options) if proxy else urllib3.PoolManager(**options)
    manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
    return manager


def _over(proxy: str, options: dict[str, Any]) -> urllib3.ProxyManager:
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    named = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    user = None if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
    try:
        return urllib3.ProxyManager(named, proxy_headers=headers, **options)
    except ProxySchemeUnknown:
        raise StoreError(f"unsupported proxy {named} (HTTP only)") from None


def _proxy(scheme: str, host: str) -> str | None:
    if _is_here(host) or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(scheme)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def tls() -> ssl.SSLContext:
    """The system's certificates, or those of SSL_CERT_FILE."""
    return ssl.create_default_context()


# ---- errors --------------------------------------------------------------------------------------
def _reason(error: BaseException) -> Exception:
    """The error in words for the user."""
    causes = list(_chain(error))
    if any(_is_too_late(cause) for cause in causes):
        return TimeoutError()
    if isinstance(causes[-1], StoreError):
        return causes[-1]
    if any(isinstance(cause, http.client.HTTPException) for cause in causes):
        return StoreError(f"truncated response ({type(error).__name__})")
    found = next((cause for cause in reversed(causes) if isinstance(cause, OSError)), None)
    return StoreError(tls_error_text(found) if found is not None else f"truncated response ({type(error).__name__})")


def _is_too_late(error: BaseException) -> bool:
    # urllib3 wraps every connection error in a retry error.
    return isinstance(error, (TimeoutError, TooLate)) and not isinstance(error, NewConnectionError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, including the ``reason`` of errors that have one."""
    while error is not None:
        yield error
        reason = getattr(error, "reason", None)
        error = reason if isinstance(reason, BaseException) else error.__cause__ or error.__context__
