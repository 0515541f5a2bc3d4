"""A store on any file system of fsspec: S3, Google's and Azure's object stores, and others; ``<address>/<kind>/<name>``.

Credentials and endpoints come from the usual variables of the service (``AWS_PROFILE``, ``AWS_ENDPOINT_URL``, …), or from
fsspec's configuration. On a file system without atomic writes a record may be half written: it counts as damaged, and its
step runs again.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeVar

from ....core.errors import InvalidInput
from .remote_store_base import TIMEOUT, RemoteStore
from .store import StoreError

T = TypeVar("T")
# Protocol -> its module for fsspec ("" is fsspec's own), and the extra of this package that installs both.
PROTOCOLS = {
    "s3": ("s3fs", "s3"),
    "s3a": ("s3fs", "s3"),
    "gs": ("gcsfs", "gcs"),
    "gcs": ("gcsfs", "gcs"),
    "az": ("adlfs", "azure"),
    "abfs": ("adlfs", "azure"),
    "abfss": ("adlfs", "azure"),
    "file": ("", "s3"),
    "memory": ("", "s3"),
}
_OPTIONS = {"file": {"auto_mkdir": True}}


def check_library(address: str) -> None:
    """Raises InvalidInput[cache-missing] if a library for ``address`` is not installed; imports nothing."""
    module, extra = PROTOCOLS[address.partition("://")[0].lower()]
    absent = [name for name in ("fsspec", module) if name and find_spec(name) is None]
    if absent:
        remedy = f"pip install 'tileiras-build[{extra}]'"
        raise InvalidInput("cache-missing", f"cache={address} needs {' and '.join(absent)}", remedy=remedy)


class ObjectStore(RemoteStore["_Files"]):
    """Records below ``address``."""

    def __init__(self, address: str, timeout: float = TIMEOUT):
        super().__init__(timeout)
        self.location = address.rstrip("/")

    def read(self, kind: str, name: str, limit: int) -> bytes | None:
        """The record, None if there is none; raises StoreError."""
        path, files = f"{kind}/{name}", self._connected()
        return self._request(lambda _: _translate_errors(lambda: files.read(path, limit)), limit)

    def write(self, kind: str, name: str, data: bytes) -> None:
        """Store a record; raises StoreError."""
        path, files = f"{kind}/{name}", self._connected()
        self._request(lambda _: _translate_errors(lambda: files.write(path, data)), len(data))

    def _connect(self) -> _Files:
        return _translate_errors(lambda: _Files(self.location))


class _Files:
    """A file system of fsspec; paths are relative to the address."""

    def __init__(self, address: str):
        from fsspec.core import url_to_fs

        # Without a listing cache, so that records of other machines are found.
        options = _OPTIONS.get(address.partition("://")[0].lower(), {})
        self._system, self._root = url_to_fs(address, use_listings_cache=False, **options)

    def read(self, path: str, limit: int) -> bytes | None:
        """At most ``limit`` + 1 bytes; None if the file does not exist."""
        path = f"{self._root}/{path}"
        try:
            return self._system.cat_file(path, start=0, end=limit + 1)
        except (FileNotFoundError, IsADirectoryError):
            return None
        except OSError:
            # Some services return an error for an empty range.
            if self._system.size(path) == 0:
                return b""
            raise

    def write(self, path: str, data: bytes) -> None:
        """Write a file. A missing bucket is not created: its name may be misspelled."""
        self._system.pipe_file(f"{self._root}/{path}", data)


def _translate_errors(request: Callable[[], T]) -> T:
    """The result of ``request()``; the errors of each service's library become StoreError."""
    try:
        return request()
    except TimeoutError:
        raise
    except OSError as error:
        raise StoreError(_error_text(error)) from None
    except Exception as error:
        raise StoreError(f"{type(error).__name__}: {_first_line(error)}") from None


def _error_text(error: OSError) -> str:
    if error.strerror:
        return " ".join(error.strerror.split())
    text = _first_line(error) or type(error).__name__
    # A missing file is not an error, so the bucket is missing.
    return f"there is no such bucket or container ({text})" if isinstance(error, FileNotFoundError) else text


def _first_line(error: Exception) -> str:
    """The first line of a library's message: status and text of the response follow."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
