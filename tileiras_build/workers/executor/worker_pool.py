"""A pool of worker processes for the threads of one build.

Each worker is a child of a fork server (see ``preload.py``) with its own duplex pipe, and serves one blocking call at a time.
So a crash closes one pipe and fails one call, a timeout kills one worker, and the others continue.
``concurrent.futures`` was rejected because one crash breaks its pool.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import types
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import system_limit_errors
from ...core.errors import InternalError
from ...core.user_tmp import ScratchFolder
from ..server.run_on_server import NoServer
from . import fork_server_preload
from .call_result import CallResult, describe_exit, unwrap_result
from .multiprocessing_internals import process_config, without_resource_tracker
from .worker import memory_remedy, serve
from .written_modules import MOST

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from .server_forked_workers import CompileServer, ServerWorker
    from .speculative_steps import Lookahead

TASKS_PER_WORKER = 400  # LLVM leaks a little with every module
LAST_LINES = 5
_SAFE_PATH = "PYTHONSAFEPATH"
MIN_MEMORY = 4 << 30  # bytes: ptxas needs as much for the largest known kernels
MEMORY_SHARE = 0.8
_OUT_OF_MEMORY = ("out of memory", "std::bad_alloc")  # LLVM's messages before it aborts
_spawning = threading.Lock()
_scratch: ScratchFolder | None = None  # of this process's fork server and workers
_server: CompileServer | None = None  # forks workers in place of the fork server


def use_server(image: str) -> None:
    """From now on fork workers from a compile server that has imported ``image``, if possible.

    If there is none, start one, which imports it in the background.
    """
    global _server
    from .server_forked_workers import CompileServer

    with _spawning:
        _server = _server or CompileServer(image)


def warm_up() -> None:
    """Start the fork server, which imports what workers need in the background; the first worker waits for it."""
    with _spawning, _hidden_main(), _safe_path(), without_resource_tracker():
        _scratch_folder()
        multiprocessing.get_context("forkserver").set_forkserver_preload([fork_server_preload.PRELOAD])
        forkserver.ensure_running()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep Python programs that are started here from importing modules from the working folder."""
    if _SAFE_PATH in os.environ:
        yield
        return
    # Not by ``os.environ``, because build scripts are traced, and this is not their variable.
    os.putenv(_SAFE_PATH, "1")
    try:
        yield
    finally:
        os.unsetenv(_SAFE_PATH)


def _scratch_folder() -> Path:
    global _scratch
    if _scratch is None or _scratch.closed:
        _scratch = ScratchFolder()
        # The folder of the fork server's socket: multiprocessing's own folder would remain if the process is killed.
        process_config().setdefault("tempdir", str(_scratch.path))
    return _scratch.path


class WorkerPool:
    """Runs functions in up to ``size`` processes, started on demand.

    ``timeout`` (seconds, None = none) limits each call; ``memory`` (bytes, None: ``memory_share``) the private memory of each
    worker, and of each program that it starts; after ``tasks_per_worker`` calls a worker is replaced.
    """

    def __init__(
        self,
        size: int,
        *,
        timeout: float | None = None,
        memory: int | None = None,
        tasks_per_worker: int = TASKS_PER_WORKER,
    ):
        self.timeout, self.tasks_per_worker = timeout, tasks_per_worker
        self._memory = memory or memory_share(size)
        self._free = threading.Semaphore(size)
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._interrupted = False
        self._owner = os.getpid()
        atexit.register(self.close)

    def run(
        self, function: str, *arguments: Any, timeout: float | None = None, lookahead: Lookahead | None = None
    ) -> Any:
        """The result of ``function`` ("module:function") in a worker; blocks the calling thread.

        Raises the function's own exception; InternalError[worker-died] with the signal and the last lines that the
        worker wrote; InternalError[worker-memory]; InternalError[worker-timeout]; InternalError[interrupted] after
        ``interrupt``.
        """
        with self._free:
            self._refuse_if_interrupted()
            worker = self._take(arguments)
            answer: CallResult | None = None
            try:
                answer = worker.call(function, arguments, timeout or self.timeout)
            except InternalError:
                self._refuse_if_interrupted()
                raise
            finally:
                # No answer (a crash, a timeout, Ctrl-C in this thread): the pipe's state is unknown.
                self._give_back(worker, alive=answer is not None and not getattr(answer[1], "ends_worker", False))
        return unwrap_result(answer)

    def interrupt(self) -> None:
        """End all calls, from another thread: they fail, and so do all later ones."""
        self._interrupted = True
        for worker in list(self._all):
            worker.end()

    def close(self) -> None:
        """End all workers; the pool can not be used afterwards."""
        if os.getpid() != self._owner:
            return
        atexit.unregister(self.close)
        for worker in list(self._all):
            # All of them at once, because each takes a while to end.
            worker.end()
        for worker in list(self._all):
            worker.kill()
        self._all.clear()
        self._idle.clear()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _refuse_if_interrupted(self) -> None:
        if self._interrupted:
            raise InternalError("interrupted", "the build was interrupted")

    def _take(self, arguments: tuple) -> Worker:
        """An idle worker, if possible the one that has written what the call reads: it need not parse it."""
        for worker in self._idle[::-1]:
            if worker.has_written(arguments):
                with suppress(ValueError):  # another thread has taken it
                    self._idle.remove(worker)
                    return worker
        with suppress(IndexError):
            return self._idle.pop()
        worker = Worker(self._memory)
        self._all.add(worker)
        return worker

    def _give_back(self, worker: Worker, *, alive: bool) -> None:
        if alive and worker.tasks < self.tasks_per_worker:
            self._idle.append(worker)
            return
        self._all.discard(worker)
        worker.kill()


class WorkerDied(InternalError):
    """A worker ended without an answer; ``code`` is multiprocessing's exit code, ``detail`` further information."""

    def __init__(self, code: int | None, detail: str):
        super().__init__("worker-died", f"the worker process {describe_exit(code)}{detail}")
        self.code, self.detail = code, detail

    def __reduce__(self):
        return (WorkerDied, (self.code, self.detail))


class Worker:
    """One process, its pipe, and its folder for its log and temporary files; used by one thread at a time."""

    def __init__(self, memory: int):
        self.tasks, self._memory = 0, memory
        self._written: deque[dict] = deque(maxlen=MOST)
        with system_limit_errors.start_errors():
            self._folder = Path(tempfile.mkdtemp(dir=_scratch_folder()))
            self.log, self._read = self._folder / "log", 0
            self.connection, theirs = multiprocessing.Pipe()
            with theirs:
                self.process = self._fork_from_warm_server(theirs) or self._fork_from_fork_server(theirs)

    def _fork_from_warm_server(self, theirs: Connection) -> ServerWorker | None:
        """A fork of the compile server with this build's environment; None if there is none."""
        if _server is None:
            return None
        with suppress(NoServer):
            return _server.fork(str(self.log), self._memory, theirs.fileno())
        return None

    def _fork_from_fork_server(self, theirs: Connection) -> BaseProcess:
        """A fork of the fork server."""
        warm_up()
        with _spawning, _hidden_main(), without_resource_tracker():
            # The build script may have changed the environment since the fork server started.
            cwd_and_environment = (os.getcwd(), dict(os.environ))
            arguments = (theirs, str(self.log), self._memory, cwd_and_environment)
            process = multiprocessing.get_context("forkserver").Process(target=serve, args=arguments, daemon=True)
            process.start()
        return process

    def call(self, function: str, arguments: tuple, timeout: float | None) -> CallResult:
        """The worker's answer; raises InternalError if there is none."""
        self.tasks += 1
        try:
            self.connection.send((function, arguments))
            if not _ready(self.connection, timeout):
                raise InternalError("worker-timeout", f"timed out after {timeout:g} s")
            answer = self.connection.recv()
        except (EOFError, ConnectionError):
            raise self._death() from None
        self._relay()
        if isinstance(answer[1], dict):
            self._written.append(answer[1])
        return answer

    def has_written(self, arguments: tuple) -> bool:
        """Whether the first of ``arguments`` is a file that one of its last calls has made."""
        data = arguments[0] if arguments else None
        return isinstance(data, bytes) and any(data in files.values() for files in self._written)

    def kill(self) -> None:
        """End the process and forget it."""
        self.end()
        self.connection.close()
        self.process.join(1)
        shutil.rmtree(self._folder, ignore_errors=True)

    def end(self) -> None:
        """End the process and its children; a call that waits for it sees its pipe close."""
        if self.process.pid is None:
            return
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(OSError):
            # It may not have created its process group yet.
            os.kill(self.process.pid, signal.SIGKILL)

    def _death(self) -> InternalError:
        self.process.join(5)
        text = self._new_text()
        if any(words in text for words in _OUT_OF_MEMORY):
            return memory_remedy(self._memory)
        lines = text.splitlines()[-LAST_LINES:]
        detail = f"; last output: {' | '.join(line.strip() for line in lines)}" if lines else ""
        return WorkerDied(self.process.exitcode, detail)

    def _relay(self) -> None:
        """Print the output of the call, such as the times of TILEIRAS_DEBUG."""
        if text := self._new_text():
            sys.stderr.write(text)

    def _new_text(self) -> str:
        try:
            if os.stat(self.log).st_size <= self._read:
                return ""
            with open(self.log, "rb") as stream:
                stream.seek(self._read)
                data = stream.read()
        except OSError:
            return ""
        self._read += len(data)
        return data.decode(errors="replace")


def memory_share(workers: int) -> int:
    """The memory limit of each of ``workers`` in bytes, so that together they leave some of this machine's memory."""
    return max(MIN_MEMORY, int(MEMORY_SHARE * system_limit_errors.memory() / workers))


def _ready(connection: Connection, timeout: float | None) -> bool:
    return timeout is None or connection.poll(timeout)


@contextmanager
def _hidden_main() -> Iterator[None]:
    """Otherwise each child would run the main script, here ``scons``, again to find its classes."""
    main, empty_main = sys.modules["__main__"], types.ModuleType("__main__")
    empty_main.__spec__ = None
    sys.modules["__main__"] = empty_main
    try:
        yield
    finally:
        sys.modules["__main__"] = main
