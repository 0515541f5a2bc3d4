"""The environment fingerprint: a server may serve a process if a process that starts now would have the server's state.

The start of a program depends on the interpreter, the import path, the environment, the user, and the limits of the container.
The environment fingerprint is a text of all of these. A server has the fingerprint of the process that started it, and serves
clients with the same; its socket is named by a checksum. The server queries the client's credentials from the system itself.

A client waits for the imports of this module, so it imports only what Python has in memory when it starts.
"""

from __future__ import annotations

import errno
import os
import sys
import zlib

from ...core.tracing.ignored_env_vars import IGNORED_ENV_VARS

SWITCH = "TILEIRAS_SERVER"  # the knob, whose table takes longer to import than everything else here
PROTOCOL = "1"
IGNORED_VARIABLES = IGNORED_ENV_VARS | {
    "COLORTERM", "DISPLAY", "GPG_TTY", "INVOCATION_ID", "JOURNAL_STREAM", "LS_COLORS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS",
    "PROMPT_COMMAND", "PS1", "STY", "SYSTEMD_EXEC_PID", "TERM", "TMUX", "TMUX_PANE", "VTE_VERSION", "WAYLAND_DISPLAY",
    "WINDOW", "XAUTHORITY", SWITCH,
}  # fmt: skip
"""Variables that differ between terminals, logins or make processes, and that no import reads: they are sent with a request."""
_IGNORED_PREFIXES = ("KITTY_", "SSH_", "TERM_PROGRAM", "VSCODE_", "WEZTERM_", "XDG_SESSION_")
# Properties that a fork of another process does not get from the client: credentials and permissions.
_STATUS = frozenset((b"Uid", b"Gid", b"Groups", b"CapInh", b"CapPrm", b"CapEff", b"CapBnd", b"CapAmb", b"NoNewPrivs"))
_STATUS |= {b"Seccomp", b"Seccomp_filters", b"Umask", b"Cpus_allowed", b"Mems_allowed"}
_FILES = ("cgroup", "limits", "oom_score_adj", "personality")
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
_OTHERS = 0o077
_EDITABLE = "__editable__"  # setuptools' marker in the import path, which is not a folder


def is_ignored(name: str) -> bool:
    """Whether a variable may differ between a server and its client."""
    return name in IGNORED_VARIABLES or name.startswith(_IGNORED_PREFIXES)


def environment_fingerprint() -> str:
    """The fingerprint of this process; raises OSError if the system does not provide it, or it is valid for one folder only."""
    if not all(os.path.isabs(entry) or entry.startswith(_EDITABLE) for entry in sys.path):
        raise OSError("modules are looked for in the current folder")
    variables = sorted(f"{name}={value}" for name, value in os.environ.items() if not is_ignored(name))
    return "\n".join([PROTOCOL, *_interpreter(), *process_state(0), *variables])


def _interpreter() -> list[str]:
    program = os.stat("/proc/self/exe")
    identity = (program.st_dev, program.st_ino, program.st_size, program.st_mtime_ns, program.st_ctime_ns)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # utf8 is in the flags: a server gets the mode that the client's Python detected.
    options = (tuple(sys.flags), sorted(item for item in sys._xoptions.items() if item[0] != "utf8"), sys.warnoptions)
    return [sys.version, sys.executable, sys.prefix, package, repr(identity), repr(options), *sys.path]


def process_state(process: int) -> list[str]:
    """The system's state of a process (0: this one); raises OSError if it is unavailable."""
    place = f"/proc/{process or 'self'}"
    found = [line.decode() for line in _lines(f"{place}/status") if line.partition(b":")[0] in _STATUS]
    found += [line.decode(errors="replace") for name in _FILES for line in _lines(f"{place}/{name}")]
    found += [os.readlink(f"{place}/ns/{name}") for name in _NAMESPACES]
    root, nice = os.stat(f"{place}/root/"), os.getpriority(os.PRIO_PROCESS, process)
    return [*found, f"{root.st_dev} {root.st_ino} {nice} {os.sched_getscheduler(process)}"]


def _lines(path: str) -> list[bytes]:
    with open(path, "rb") as stream:
        return stream.read().splitlines()


def socket_name(text: str) -> str:
    """The base name of the files of the server with this fingerprint."""
    return f"{zlib.crc32(text.encode(errors='surrogateescape')):08x}"


def path_in(folder: int, name: str) -> str:
    """The path of a file in an open folder: short, because the system limits a socket's path."""
    return f"/proc/self/fd/{folder}/{name}"


def open_folder() -> int:
    """The open folder of this user's servers, created if missing; raises OSError if others could have created it."""
    above = os.environ.get("XDG_RUNTIME_DIR", "")
    if not os.path.isabs(above) or not _is_own(above):
        above = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"tileiras-{os.geteuid()}")
        _make(above)
    folder = os.path.join(above, "tileiras-server")
    _make(folder)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _make(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not _is_own(folder):
            raise OSError(errno.EPERM, "insecure permissions (not private to this user)", folder) from None


def _is_own(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return found.st_mode & 0o170000 == 0o040000 and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
