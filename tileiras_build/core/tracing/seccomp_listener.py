"""The file-related system calls of a process and its children, as Linux reports them to another process.

A filter (seccomp, ``SECCOMP_RET_USER_NOTIF``) stops each such call until the listener has inspected its arguments and
resumes it. So the reads of C code, of rarely used functions of ``os`` and of child processes are observed, too.

Source of call numbers and structures: linux/seccomp.h, linux/filter.h, and the kernel's tables of system calls (x86-64,
and the generic one, for 64-bit ARM).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache

from .dependency_state import absolute


class FileOperation(Enum):
    """The effect of a call on the file that it names."""

    OPEN = "opens"
    STAT = "stats"
    LINK = "reads the link"
    LIST = "lists"
    MAKE = "makes"
    RENAME = "renames"
    REMOVE = "removes"
    CHANGE = "changes"
    RUN = "runs a program"
    CONNECT = "connects to a server"
    OTHER = "makes an untraceable call"


@dataclass(frozen=True, slots=True)
class SyscallRow:
    """A system call: its call numbers on x86-64 and on 64-bit ARM (-1: none), and the arguments that name a file.

    ``folder`` is the argument with the descriptor that ``path`` is relative to, -1 where it is the working folder; a call
    without a ``path`` names an open descriptor by ``folder``.
    """

    name: str
    x86: int
    arm: int
    kind: FileOperation
    path: int = -1
    folder: int = -1
    flags: int = -1
    second_path: int = -1
    second_folder: int = -1


CALLS = (
    SyscallRow("open", 2, -1, FileOperation.OPEN, path=0, flags=1),
    SyscallRow("creat", 85, -1, FileOperation.OPEN, path=0),
    SyscallRow("openat", 257, 56, FileOperation.OPEN, path=1, folder=0, flags=2),
    SyscallRow("openat2", 437, 437, FileOperation.OPEN, path=1, folder=0, flags=2),
    SyscallRow("stat", 4, -1, FileOperation.STAT, path=0),
    SyscallRow("lstat", 6, -1, FileOperation.STAT, path=0),
    SyscallRow("newfstatat", 262, 79, FileOperation.STAT, path=1, folder=0, flags=3),
    SyscallRow("statx", 332, 291, FileOperation.STAT, path=1, folder=0, flags=2),
    SyscallRow("access", 21, -1, FileOperation.STAT, path=0),
    SyscallRow("faccessat", 269, 48, FileOperation.STAT, path=1, folder=0),
    SyscallRow("faccessat2", 439, 439, FileOperation.STAT, path=1, folder=0, flags=3),
    SyscallRow("readlink", 89, -1, FileOperation.LINK, path=0),
    SyscallRow("readlinkat", 267, 78, FileOperation.LINK, path=1, folder=0),
    SyscallRow("getdents", 78, -1, FileOperation.LIST, folder=0),
    SyscallRow("getdents64", 217, 61, FileOperation.LIST, folder=0),
    SyscallRow("mkdir", 83, -1, FileOperation.MAKE, path=0),
    SyscallRow("mkdirat", 258, 34, FileOperation.MAKE, path=1, folder=0),
    SyscallRow("mknod", 133, -1, FileOperation.MAKE, path=0),
    SyscallRow("mknodat", 259, 33, FileOperation.MAKE, path=1, folder=0),
    SyscallRow("symlink", 88, -1, FileOperation.MAKE, path=1),
    SyscallRow("symlinkat", 266, 36, FileOperation.MAKE, path=2, folder=1),
    SyscallRow("link", 86, -1, FileOperation.MAKE, path=1, second_path=0),
    SyscallRow("linkat", 265, 37, FileOperation.MAKE, path=3, folder=2, second_path=1, second_folder=0),
    SyscallRow("rename", 82, -1, FileOperation.RENAME, path=1, second_path=0),
    SyscallRow("renameat", 264, 38, FileOperation.RENAME, path=3, folder=2, second_path=1, second_folder=0),
    SyscallRow("renameat2", 316, 276, FileOperation.RENAME, path=3, folder=2, second_path=1, second_folder=0),
    SyscallRow("unlink", 87, -1, FileOperation.REMOVE, path=0),
    SyscallRow("rmdir", 84, -1, FileOperation.REMOVE, path=0),
    SyscallRow("unlinkat", 263, 35, FileOperation.REMOVE, path=1, folder=0),
    SyscallRow("truncate", 76, 45, FileOperation.CHANGE, path=0),
    SyscallRow("chmod", 90, -1, FileOperation.CHANGE, path=0),
    SyscallRow("fchmodat", 268, 53, FileOperation.CHANGE, path=1, folder=0),
    SyscallRow("chown", 92, -1, FileOperation.CHANGE, path=0),
    SyscallRow("lchown", 94, -1, FileOperation.CHANGE, path=0),
    SyscallRow("fchownat", 260, 54, FileOperation.CHANGE, path=1, folder=0),
    SyscallRow("utimensat", 280, 88, FileOperation.CHANGE, path=1, folder=0),
    SyscallRow("execve", 59, 221, FileOperation.RUN, path=0),
    SyscallRow("execveat", 322, 281, FileOperation.RUN, path=1, folder=0),
    SyscallRow("connect", 42, 203, FileOperation.CONNECT, path=1),
    SyscallRow("getxattr", 191, 8, FileOperation.OTHER, path=0),
    SyscallRow("lgetxattr", 192, 9, FileOperation.OTHER, path=0),
    SyscallRow("listxattr", 194, 11, FileOperation.OTHER, path=0),
    SyscallRow("llistxattr", 195, 12, FileOperation.OTHER, path=0),
    SyscallRow("statfs", 137, 43, FileOperation.OTHER, path=0),
    SyscallRow("name_to_handle_at", 303, 264, FileOperation.OTHER, path=1, folder=0),
    SyscallRow("open_by_handle_at", 304, 265, FileOperation.OTHER),
    SyscallRow("open_tree", 428, 428, FileOperation.OTHER, path=1, folder=0),
    SyscallRow("io_uring_setup", 425, 425, FileOperation.OTHER),
    SyscallRow("shmat", 30, 196, FileOperation.OTHER),
    SyscallRow("mq_open", 240, 180, FileOperation.OTHER),
    SyscallRow("ptrace", 101, 117, FileOperation.OTHER),
    SyscallRow("process_vm_readv", 310, 270, FileOperation.OTHER),
    SyscallRow("pidfd_getfd", 438, 438, FileOperation.OTHER),
)
_NO_FOLLOW, _EMPTY_PATH = 0x100, 0x1000  # AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH
_AT_CWD = -100
_NO_FOLLOW_CALLS = frozenset(("lstat", "lchown", "lgetxattr", "llistxattr"))

# (machine, AUDIT_ARCH_*, number of seccomp(2), which column of CALLS)
_MACHINES = {"x86_64": (0xC000003E, 317, "x86"), "aarch64": (0xC00000B7, 277, "arm")}
_NEW_PRIVILEGES, _SET_FILTER, _NEW_LISTENER = 38, 1, 8
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_SYSCALL_OFFSET, _ARCH_OFFSET = 0, 4  # offsets in struct seccomp_data

_NOTICE = struct.Struct("=QII iIQ 6Q")  # seccomp_notif: id, pid, flags, then seccomp_data
_ANSWER = struct.Struct("=Qqi I")  # seccomp_notif_resp: id, val, error, flags
_CONTINUE = 1
_LONGEST_PATH = 4096


def _ioctl(size: int, number: int) -> int:
    return 3 << 30 | size << 16 | ord("!") << 8 | number


_RECEIVE, _SEND = _ioctl(_NOTICE.size, 0), _ioctl(_ANSWER.size, 1)
# SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (Linux 6.6): run the stopped thread on the
# listener's core.
_SET_FLAGS, _SAME_PROCESSOR = 1 << 30 | 8 << 16 | ord("!") << 8 | 4, 1


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("rows", ctypes.c_void_p))


def listen() -> int | None:
    """Stop the file-related calls of this process and its future children; return the descriptor that reports them.

    None if the system does not support or allow such filters; then nothing is stopped.
    """
    if (found := filter_of_machine()) is None or _libc.prctl(_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return None
    number, program, _ = found
    descriptor = _libc.syscall(number, _SET_FILTER, _NEW_LISTENER, ctypes.byref(program))
    return descriptor if descriptor >= 0 else None


@cache
def filter_of_machine() -> tuple[int, _Filter, ctypes.Array] | None:
    """The number of seccomp(2), the filter, and the memory of its rows; None for a machine that has no rows here.

    A process that has asked has it for its forks.
    """
    if (machine := _MACHINES.get(platform.machine())) is None:
        return None
    rows = _rows(machine)
    code = ctypes.create_string_buffer(rows, len(rows))
    return machine[1], _Filter(len(rows) // 8, ctypes.addressof(code)), code


def _rows(machine: tuple[int, int, str]) -> bytes:
    """The filter as a BPF program: a notification for each number of the table."""
    architecture, _, column = machine
    call_numbers = sorted(number for call in CALLS if (number := getattr(call, column)) >= 0)
    row = struct.Struct("=HBBI").pack
    tests = [row(_JUMP_IF_EQUAL, len(call_numbers) - place, 0, number) for place, number in enumerate(call_numbers)]
    return b"".join(
        (
            row(_LOAD, 0, 0, _ARCH_OFFSET),
            row(_JUMP_IF_EQUAL, 1, 0, architecture),
            row(_RETURN, 0, 0, _ALLOW),
            row(_LOAD, 0, 0, _SYSCALL_OFFSET),
            *tests,
            row(_RETURN, 0, 0, _ALLOW),
            row(_RETURN, 0, 0, _NOTIFY),
        )
    )


@dataclass(frozen=True, slots=True)
class FileCall:
    """One call of a thread: its operation, its absolute path (None: it could not be read), and its flags."""

    thread: int
    kind: FileOperation
    name: str
    path: str | None
    flags: int = 0
    follows: bool = True
    second: str | None = None

    @property
    def is_open_file(self) -> bool:
        """Whether the call queries the state of an open file, as the C library does whenever it opens one."""
        return self.kind is FileOperation.STAT and bool(self.flags & _EMPTY_PATH)


def send_listener(channel: socket.socket) -> None:
    """Call ``listen``, and send its result to the listening process (``Listener.from_channel``)."""
    descriptor = listen()
    socket.send_fds(channel, [b"-" if descriptor is None else b"+"], [] if descriptor is None else [descriptor])
    if descriptor is not None:
        os.close(descriptor)


class Listener:
    """Receives the calls of a process that has called ``listen``, each of which waits until it is resumed."""

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        _, _, column = _MACHINES[platform.machine()]
        self._calls = {getattr(call, column): call for call in CALLS}
        with suppress(OSError):
            fcntl.ioctl(descriptor, _SET_FLAGS, _SAME_PROCESSOR)

    @classmethod
    def from_channel(cls, channel: socket.socket) -> Listener | None:
        """The listener sent by ``send_listener`` of another process; None if its system has none."""
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        return cls(descriptors[0]) if descriptors else None

    def receive(self, is_looked_at: Callable[[], bool] = lambda: True) -> Iterator[FileCall]:
        """Yield the waiting call, which resumes when the consumer has inspected it.

        Yield nothing if its process has ended, or if ``is_looked_at`` is false: its calls then resume uninspected.
        """
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.descriptor, _RECEIVE, notice)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return
            raise
        number, process, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        try:
            if is_looked_at():
                yield self._decode(self._calls[call], process, arguments)
        finally:
            with suppress(FileNotFoundError):
                fcntl.ioctl(self.descriptor, _SEND, bytearray(_ANSWER.pack(number, 0, 0, _CONTINUE)))

    def close(self) -> None:
        """Close the descriptor; later calls fail."""
        os.close(self.descriptor)

    def _decode(self, call: SyscallRow, process: int, arguments: list[int]) -> FileCall:
        flags = self._flags(call, process, arguments)
        follows = call.name not in _NO_FOLLOW_CALLS and not (call.kind is FileOperation.STAT and flags & _NO_FOLLOW)
        if call.kind is FileOperation.CONNECT:
            return FileCall(process, call.kind, call.name, self._socket(process, arguments[call.path]))
        path = self._path(process, arguments, call.path, call.folder, by_descriptor=call.kind is FileOperation.LIST)
        second = self._path(process, arguments, call.second_path, call.second_folder)
        return FileCall(process, call.kind, call.name, path, flags, follows, second)

    def _flags(self, call: SyscallRow, process: int, arguments: list[int]) -> int:
        if call.name == "creat":
            return os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        if call.name == "openat2":
            data = self._read(process, arguments[call.flags], 8)
            return struct.unpack("=Q", data)[0] if data and len(data) == 8 else os.O_RDWR
        return arguments[call.flags] & 0xFFFFFFFF if call.flags >= 0 else 0

    def _path(
        self, process: int, arguments: list[int], path: int, folder: int, *, by_descriptor: bool = False
    ) -> str | None:
        if by_descriptor:
            return _target(process, f"fd/{_signed(arguments[folder])}")
        if path < 0:
            return None
        data = self._read(process, arguments[path], _LONGEST_PATH)
        if data is None:
            return None
        if not data or not data[0]:
            return os.devnull
        name = os.fsdecode(data.partition(b"\0")[0])
        if os.path.isabs(name):
            return absolute(name)
        at = _AT_CWD if folder < 0 else _signed(arguments[folder])
        base = _target(process, "cwd" if at == _AT_CWD else f"fd/{at}")
        return None if base is None else absolute(name, base)

    def _socket(self, process: int, address: int) -> str | None:
        """The path of a local socket; None for any other."""
        data = self._read(process, address, 110)
        if data is None or len(data) < 3 or struct.unpack_from("=H", data)[0] != 1 or not data[2]:
            return None
        return os.fsdecode(data[2:].partition(b"\0")[0])

    def _read(self, process: int, address: int, size: int) -> bytes | None:
        """Bytes of a process's memory, up to ``size``."""
        if not address:
            return b""
        with suppress(OSError, OverflowError), open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), size, address)
        return None


def _signed(argument: int) -> int:
    return ctypes.c_int(argument & 0xFFFFFFFF).value


def _target(process: int, link: str) -> str | None:
    try:
        found = os.readlink(f"/proc/{process}/{link}")
    except OSError:
        return None
    return found if found.startswith(os.sep) else None
