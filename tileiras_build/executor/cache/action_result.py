"""The ``ac/`` record: an ActionResult message of the Remote Execution API v2 (remote_execution.proto).

Servers such as bazel-remote parse these records and refuse what is not one; some write them anew with the name of
the client added. So the record is this message, other fields are skipped, and the seal is over what it says, not
over its bytes. Only these fields are written (protocol buffers' wire format; all are length-delimited but the size):

    ActionResult  output_files = 2 (repeated OutputFile), stdout_raw = 5 (the seal), execution_metadata = 9
    OutputFile    path = 1, digest = 2
    Digest        hash = 1, size_bytes = 2 (varint)
    ExecutedActionMetadata  worker = 1
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WORKER = b"tileiras-build"
_HASH = re.compile("[0-9a-f]{64}", re.ASCII)
_NO_NAMES = ("", ".", "..")
_NO_NAME = re.compile(r"[/\\\x00-\x1f\x7f]")  # a folder's part, or what splits the lines of the seal
BLOB_LIMIT = 1 << 28  # bytes; no artifact comes near, and what a record claims is memory that a reader may need


class DamagedRecord(Exception):
    """The bytes are not the record that was written for this key."""


@dataclass(frozen=True)
class Digest:
    """The identity of a blob: the SHA-256 of its bytes (hex), and how many there are."""

    hash: str
    size: int

    @classmethod
    def of(cls, data: bytes) -> Digest:
        """The digest of ``data``."""
        return cls(hashlib.sha256(data).hexdigest(), len(data))


def encode(key: str, files: dict[str, Digest]) -> bytes:
    """The record that says that the step ``key`` made ``files`` (by name)."""
    body = b"".join(_field(2, _output_file(name, digest)) for name, digest in sorted(files.items()))
    return body + _field(5, _seal(key, files)) + _field(9, _field(1, _WORKER))


def decode(key: str, data: bytes) -> dict[str, Digest]:
    """The files that the record of the step ``key`` lists; raises DamagedRecord."""
    try:
        fields = list(_fields(data))
        rows = [_read_output_file(value) for number, value in fields if number == 2]
    except (ValueError, IndexError, KeyError):
        raise DamagedRecord("not an ActionResult") from None
    files = dict(rows)
    if len(files) < len(rows):
        raise DamagedRecord("a file is listed twice")
    if [value for number, value in fields if number == 5] != [_seal(key, files)]:
        raise DamagedRecord("not the record of this key")
    return files


def _seal(key: str, files: dict[str, Digest]) -> bytes:
    """Binds a record to its key: a whole record in another's place would otherwise be believed."""
    lines = [key, *(f"{name} {digest.hash} {digest.size}" for name, digest in sorted(files.items()))]
    sealed = Digest.of("\n".join(lines).encode())
    return f"tileiras-build {sealed.hash}\n".encode()


def _output_file(name: str, digest: Digest) -> bytes:
    size = _varint(2 << 3 | _VARINT) + _varint(digest.size)
    return _field(1, name.encode()) + _field(2, _field(1, digest.hash.encode()) + size)


def _read_output_file(value: bytes | int) -> tuple[str, Digest]:
    """The name and digest of one file; raises ValueError, IndexError or KeyError where it is not one."""
    fields = dict(_fields(_bytes(value)))
    digest = dict(_fields(_bytes(fields[2])))
    # Protocol buffers leave out a zero.
    name, hash, size = _bytes(fields[1]).decode(), _bytes(digest[1]).decode(), _number(digest.get(2, 0))
    if not _HASH.fullmatch(hash) or size > BLOB_LIMIT:
        raise ValueError("not a digest")
    if name in _NO_NAMES or _NO_NAME.search(name):
        # Whoever reads records may make files of these names.
        raise ValueError("not the name of a file")
    return name, Digest(hash, size)


def _bytes(value: bytes | int) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number in the place of bytes")
    return value


def _number(value: bytes | int) -> int:
    if not isinstance(value, int):
        raise ValueError("bytes in the place of a number")
    return value


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    digits = []
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Each field's number and value; raises ValueError or IndexError where ``data`` is not a message."""
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        wire = tag & 7
        if wire == _VARINT:
            value, position = _read_varint(data, position)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            length, position = _read_varint(data, position)
        else:
            length = {_FIXED64: 8, _FIXED32: 4}[wire]
        if position + length > len(data):
            raise ValueError("cut off")
        yield tag >> 3, data[position : position + length]
        position += length


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        digit = data[position]
        position += 1
        value |= (digit & 0x7F) << shift
        if digit < 0x80:
            return value, position
    raise ValueError("a number of more than 64 bits")
