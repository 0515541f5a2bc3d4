"""Messages between a client and a server: lists of strings with a length prefix, and open files.

Strings contain no null byte: they are arguments, paths and variables. Received data is never executed or unpickled.
"""

from __future__ import annotations

import os
import sys

# The C part of ``socket``, as the imports of ``socket`` (enum, selectors) take as long as everything else in a client.
from _socket import MSG_CMSG_CLOEXEC, MSG_PEEK, SCM_RIGHTS, SO_PEERCRED, SOL_SOCKET, socket

MAX_MESSAGE_BYTES = 8 << 20  # bytes per message: more than the system's limit of an environment
_LENGTH = 4
_MAX_FILES = 8
_FIRST = 64  # bytes within which the first string of a message ends
_DESCRIPTOR_BYTES = 4  # bytes of a descriptor in a message


def send(connection: socket, *lists: list[str], files: tuple[int, ...] = ()) -> None:
    """Send lists of strings, and open files."""
    words = [word for texts in lists for word in (str(len(texts)), *texts)]
    data = "\0".join(words).encode(errors="surrogateescape")
    data = len(data).to_bytes(_LENGTH, "big") + data
    rights = b"".join(file.to_bytes(_DESCRIPTOR_BYTES, sys.byteorder) for file in files)
    sent = connection.sendmsg([data], [(SOL_SOCKET, SCM_RIGHTS, rights)] if files else [])
    if sent < len(data):
        connection.sendall(data[sent:])


def receive(connection: socket) -> tuple[list[list[str]], list[int]]:
    """The lists and the open files of the next message; raises EOFError at the end, ValueError if it is invalid."""
    data, ancillary, _, _ = connection.recvmsg(1 << 16, _MAX_FILES * _DESCRIPTOR_BYTES + 64, MSG_CMSG_CLOEXEC)
    files = [number for level, kind, rights in ancillary for number in _descriptors(level, kind, rights)]
    try:
        while len(data) < _LENGTH or len(data) < _LENGTH + _length(data):
            more = connection.recv(1 << 20)
            if not more:
                raise EOFError
            data += more
        return list(_lists(data[_LENGTH : _LENGTH + _length(data)])), files
    except BaseException:
        for file in files:
            os.close(file)
        raise


def first_word(connection: socket) -> str:
    """The first string of a received message, which stays in the buffer; "" if there is none. The connection becomes
    non-blocking.
    """
    connection.setblocking(False)
    try:
        data = connection.recv(_FIRST, MSG_PEEK)
    except OSError:
        return ""
    return data[_LENGTH:].decode(errors="replace").partition("\0")[2].partition("\0")[0]


def peer_credentials(connection: socket) -> tuple[int, int]:
    """Process and user of the other end, from the kernel."""
    found = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 3 * _DESCRIPTOR_BYTES)
    fields = [
        int.from_bytes(found[at : at + _DESCRIPTOR_BYTES], sys.byteorder)
        for at in range(0, len(found), _DESCRIPTOR_BYTES)
    ]
    return fields[0], fields[1]


def _descriptors(level: int, kind: int, rights: bytes) -> list[int]:
    if (level, kind) != (SOL_SOCKET, SCM_RIGHTS):
        return []
    starts = range(0, len(rights) // _DESCRIPTOR_BYTES * _DESCRIPTOR_BYTES, _DESCRIPTOR_BYTES)
    return [int.from_bytes(rights[at : at + _DESCRIPTOR_BYTES], sys.byteorder) for at in starts]


def _length(data: bytes) -> int:
    found = int.from_bytes(data[:_LENGTH], "big")
    if found > MAX_MESSAGE_BYTES:
        raise ValueError("not a message")
    return found


def _lists(data: bytes):
    words = data.decode(errors="surrogateescape").split("\0")
    at = 0
    while at < len(words):
        count = int(words[at])
        yield words[at + 1 : at + 1 + count]
        at += 1 + count
