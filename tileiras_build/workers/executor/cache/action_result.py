"""The ``ac/`` record: an ActionResult message of the Remote Execution API v2 (``reapi_messages.py``).

Servers such as bazel-remote parse these records and reject others; some rewrite them with the client's name added. Therefore
the record is this message, unknown fields are ignored, and the seal (``stdout_raw``) covers its contents, not its bytes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_WORKER = "tileiras-build"
_HASH = re.compile("[0-9a-f]{64}", re.ASCII)
_NO_NAMES = ("", ".", "..")
_NO_NAME = re.compile(r"[/\\\x00-\x1f\x7f]")  # path separators, and line separators of the seal
_NO_RECORD = "not an ActionResult"
BLOB_LIMIT = 1 << 28  # bytes; artifacts are much smaller, and a reader may allocate the recorded size


class DamagedRecord(Exception):
    """The bytes are not a valid record for this key."""


@dataclass(frozen=True)
class Digest:
    """The identity of a blob: the SHA-256 of its bytes (hex), and its size."""

    hash: str
    size: int

    @classmethod
    def of(cls, data: bytes) -> Digest:
        """The digest of ``data``."""
        return cls(hashlib.sha256(data).hexdigest(), len(data))


def encode(key: str, files: dict[str, Digest]) -> bytes:
    """The record of the step ``key`` with the outputs ``files`` (by name)."""
    # Imported on use: a null build reads no records.
    from .reapi_messages import ActionResult

    record = ActionResult(stdout_raw=_seal(key, files), execution_metadata={"worker": _WORKER})
    for name, digest in sorted(files.items()):
        record.output_files.add(path=name, digest={"hash": digest.hash, "size_bytes": digest.size})
    return record.SerializeToString()


def decode(key: str, data: bytes) -> dict[str, Digest]:
    """The files that the record of the step ``key`` lists; raises DamagedRecord."""
    from google.protobuf.message import DecodeError

    from .reapi_messages import ActionResult

    try:
        record = ActionResult.FromString(data)
    except DecodeError:
        raise DamagedRecord(_NO_RECORD) from None
    files = {row.path: _digest(row.path, row.digest.hash, row.digest.size_bytes) for row in record.output_files}
    if len(files) < len(record.output_files):
        raise DamagedRecord("a file is listed twice")
    if record.stdout_raw != _seal(key, files):
        raise DamagedRecord("record belongs to another key")
    return files


def _digest(name: str, hash: str, size: int) -> Digest:
    if not _HASH.fullmatch(hash) or not 0 <= size <= BLOB_LIMIT:
        raise DamagedRecord(_NO_RECORD)
    if name in _NO_NAMES or _NO_NAME.search(name):
        # Readers may create files with these names.
        raise DamagedRecord(_NO_RECORD)
    return Digest(hash, size)


def _seal(key: str, files: dict[str, Digest]) -> bytes:
    """A digest that binds a record to its key: a valid record under another key is rejected."""
    lines = [key, *(f"{name} {digest.hash} {digest.size}" for name, digest in sorted(files.items()))]
    sealed = Digest.of("\n".join(lines).encode())
    return f"tileiras-build {sealed.hash}\n".encode()
