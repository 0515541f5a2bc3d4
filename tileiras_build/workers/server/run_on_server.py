"""The client: send the command to a server, or start one for the next command.

``tileiras-build`` waits for these imports before anything else, so they are few.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # ``signal`` makes enumerations, which takes longer than all else here
import os
import sys
import time
from _socket import AF_UNIX, SOCK_STREAM, socket

from . import environment_fingerprint, wire_protocol

_TIMEOUT_SECONDS = 1.0  # seconds for a server to answer; then it counts as dead
_RETRY_SECONDS = 60.0  # seconds until another start after a failed one
_FORWARDED_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)
_CRASHES = (_signal.SIGABRT, _signal.SIGBUS, _signal.SIGFPE, _signal.SIGILL, _signal.SIGSEGV)
_FLAGS = {
    "bytes_warning": "b", "dont_write_bytecode": "B", "debug": "d", "ignore_environment": "E", "isolated": "I",
    "no_user_site": "s", "optimize": "O", "safe_path": "P", "verbose": "v",
}  # fmt: skip
_OWN = ("/dev/", "/proc/")
_INTRODUCED = "introduced"  # exists after the announcement
_INTRODUCTION = (  # over a line of progress
    b"\r\x1b[Kstarted a background compile server: later commands are faster; it ends when idle for 15 minutes"
    b"\r\n`tileiras-build server` lists it, TILEIRAS_SERVER=0 disables it\r\n"
)
_NO = frozenset(("0", "no", "false"))


IMAGE = "tileiras_build.cli.server_preload"  # the module that a server of this package imports before its first request
NONE, ALIVE, STARTED = "none", "alive", "begun"  # results of ``ServerAddress.start``


class NoServer(Exception):
    """No server has accepted the request: the caller must run the command."""


def is_wanted() -> bool:
    """Whether to use a server: unless the user disables it; in CI, where builds do not follow each other, only if enabled."""
    if sys.platform != "linux":
        return False
    return os.environ.get(environment_fingerprint.SWITCH, "0" if os.environ.get("CI") else "1").lower() not in _NO


def run(function: str, image: str) -> int:
    """The status of this command, ``function`` ("module:function"), from a server; raises NoServer.

    If there is none, starts one for the next command, which imports ``image``.
    """
    if not is_wanted():
        raise NoServer
    try:
        if any(map(_is_of_this_process, (os.getcwd(), *sys.argv[1:]))):
            raise NoServer
        place = ServerAddress()
    except OSError:
        raise NoServer from None
    try:
        for number in range(3):
            os.fstat(number)
        request = place.request_fork(function)
    except (OSError, EOFError, ValueError) as error:
        place.start(image, instead=isinstance(error, TimeoutError))
        raise NoServer from None
    return _follow(request)


def _is_of_this_process(word: str) -> bool:
    """Whether an argument names a device or an open file of this process, which differ in another process."""
    if any(folder in word for folder in _OWN):
        return True
    return os.path.islink(word) and os.path.realpath(word).startswith(_OWN)


class ServerAddress:
    """The address of a server for this process. Raises OSError if there can be none."""

    def __init__(self):
        self.text = environment_fingerprint.environment_fingerprint()
        self.name = environment_fingerprint.socket_name(self.text)
        self.folder = environment_fingerprint.open_folder()

    def path(self, suffix: str) -> str:
        """A file of the server."""
        return environment_fingerprint.path_in(self.folder, self.name + suffix)

    def request_fork(self, function: str, *arguments: str) -> Request:
        """A fork of the server that is ready to call ``function``.

        Raises TimeoutError if a server does not answer, OSError or EOFError if there is none, or only a stale one, ValueError if it
        refuses.
        """
        connection = connect(self.folder, self.name)
        try:
            variables = [f"{name}={value}" for name, value in os.environ.items()]
            lists = (["run", self.text, function], list(arguments), sys.argv, variables)
            wire_protocol.send(connection, *lists)
            (answer,), _ = wire_protocol.receive(connection)
            if answer[0] == "changed":
                raise OSError(answer[-1])
            if answer[0] != "ready":
                raise ValueError(answer[-1])
            connection.settimeout(None)
            return Request(connection, int(answer[1]))
        except BaseException:
            connection.close()
            raise

    def start(self, image: str, *, instead: bool = False) -> str:
        """Start a server in the background unless one exists or is starting: NONE, ALIVE or STARTED.

        ``instead``: replace a server that does not answer. It exits when it finds its socket replaced.
        """
        if self._has_failed():
            return NONE
        if instead:
            self._remove(".socket", ".lock")
        if (lock := self._lock()) is None:
            return ALIVE
        expected = (self.name, str(lock), str(time.time_ns()), str(time.monotonic()), image)
        code = f"import sys; sys.path[:] = {sys.path!r}; from tileiras_build.workers.server.server_main import main; main()"
        words = [sys.executable, *_flags(), "-c", code, *expected]
        null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        os.set_inheritable(lock, True)
        try:
            os.posix_spawn(sys.executable, words, os.environ, file_actions=null)
        except OSError:
            return NONE
        finally:
            os.close(lock)
        self._introduce()
        return STARTED

    def _introduce(self) -> None:
        """Announce the first server of this user on a terminal."""
        if not os.isatty(2):
            return
        try:
            os.close(os.open(environment_fingerprint.path_in(self.folder, _INTRODUCED), os.O_CREAT | os.O_EXCL, 0o600))
        except OSError:
            return
        os.write(2, _INTRODUCTION)

    def _remove(self, *suffixes: str) -> None:
        for suffix in suffixes:
            try:
                os.unlink(self.path(suffix))
            except OSError:
                pass

    def _has_failed(self) -> bool:
        """Whether a server has recently failed to start."""
        try:
            return time.time() - os.stat(self.path(".failed")).st_mtime < _RETRY_SECONDS
        except OSError:
            return False

    def _lock(self) -> int | None:
        """The lock that a server holds while it serves; None if another one has it."""
        import fcntl

        lock = os.open(self.path(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        return lock


def connect(folder: int, name: str) -> socket:
    """A connection to the server ``name`` in an open folder; raises OSError unless a server of this user listens."""
    connection = socket(AF_UNIX, SOCK_STREAM)
    connection.settimeout(_TIMEOUT_SECONDS)
    try:
        connection.connect(environment_fingerprint.path_in(folder, f"{name}.socket"))
        if wire_protocol.peer_credentials(connection)[1] != os.geteuid():
            raise OSError("socket owned by another user")
    except BaseException:
        connection.close()
        raise
    return connection


class Request:
    """A request that a fork of the server, ``process``, holds until ``begin``."""

    def __init__(self, connection: socket, process: int):
        self.connection, self.process = connection, process

    def begin(self, *files: int) -> None:
        """Run the command there, with these open files as standard input, output, error and so on.

        The files are sent only to a process that has answered: readers of this process's output wait until all holders close it.
        """
        wire_protocol.send(self.connection, ["go"], files=files)

    def status(self) -> int:
        """The exit status of the fork when it has ended, or the negative number of the signal; raises EOFError, OSError if the
        connection is lost.
        """
        (answer,), _ = wire_protocol.receive(self.connection)
        return int(answer[1])

    def end(self, signal: int) -> None:
        """Send a signal to the fork, and to its children."""
        try:
            os.killpg(self.process, signal)
        except ProcessLookupError:
            pass


def _follow(request: Request) -> int:
    """Wait for the end of a request, and forward signals to the fork."""
    before = {number: _signal.getsignal(number) for number in (*_FORWARDED_SIGNALS, _signal.SIGTSTP)}
    for number in _FORWARDED_SIGNALS:
        _signal.signal(number, lambda number, _: request.end(number))
    _signal.signal(_signal.SIGTSTP, lambda *_: _pause(request))
    try:
        request.begin(0, 1, 2)
        status = request.status()
    except (OSError, EOFError, ValueError):
        # The server and its fork were killed. A command writes its output files at its end, as a whole.
        raise NoServer from None
    finally:
        for number, handler in before.items():
            _signal.signal(number, handler)
    if -status in _CRASHES:
        # The command in this process reports the crash with a location.
        raise NoServer
    if status < 0:
        if -status != _signal.SIGKILL:
            _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _pause(request: Request) -> None:
    request.end(_signal.SIGSTOP)
    os.kill(os.getpid(), _signal.SIGSTOP)
    request.end(_signal.SIGCONT)


def _flags() -> list[str]:
    """The command-line options of this interpreter."""
    letters = [f"-{letter * getattr(sys.flags, name)}" for name, letter in _FLAGS.items() if getattr(sys.flags, name)]
    named = {**sys._xoptions, "utf8": sys.flags.utf8_mode}
    ways = [f"-X{name}" if value is True else f"-X{name}={value}" for name, value in named.items()]
    return [*letters, *ways, *(f"-W{warning}" for warning in sys.warnoptions)]
