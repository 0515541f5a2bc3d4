"""SCons runs that tests wait for: forks of one process, which has imported SCons, msgspec and nothing of this project.

Python, SCons and msgspec, which every build reads its records by, start in half of the time that a small build takes. Each run has its own folder, environment and end,
as ``python -m SCons`` has; what tests do to a run that goes on is done to a process of its own.
A run that finds this checkout first is a fork of another process, which has imported the tool, too: that takes half of a run
that has nothing to do; one on a cluster is a fork of a third, which has imported Dask as well. All others have their own modules of the project.
So is the interpreter that multiprocessing starts for a run, its fork server: a fork that has waited since the run began. It has
imported what Python itself has and, where the run has the tool, modules of this project for it alone (``_PRELOAD``); nothing of SCons.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import os
import pickle
import re
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import machinery
from multiprocessing import util
from pathlib import Path

_HEAD = 8  # bytes: the length of a request
_AT_START = ("PYTHON", "LC_", "LANG")  # variables that Python reads when it starts
_ABOVE = 100  # files that come to a process wait above this number until each gets its own one
_MULTIPROCESSING = "from multiprocessing.{} import main"  # how the program begins that multiprocessing starts
STARTED = ("forkserver",)  # once in a run that makes steps
_ROOT = Path(__file__).resolve().parents[1]
_FINDERS = list(sys.meta_path)
_PACKAGE = "tileiras_build"
_HIDDEN = (f"{_PACKAGE}.build", f"{_PACKAGE}.scons_tool")
# What a run of the tool imports that makes steps of tests/fake_stages.py; the trace of a build script begins with the first.
_TOOL = tuple(
    f"{_PACKAGE}.{name}"
    for name in (
        "build.incremental.sconscript_trace scons_tool build.build_session build.dry_run build.incremental.record_build "
        "build.kernel_library build.orphaned_artifacts build.progress build.select_executor build.sconsign_writer "
        "build.unknown_targets workers.executor.lazy_executor workers.executor.server_forked_workers workers.executor.worker_pool"
    ).split()
)

# What the fork server of such a run imports (tests/fake_preload.py), in modules that only it has.
_PRELOAD = tuple(
    f"{_PACKAGE}.{name}" for name in ("driver", "workers.executor.traced_fork_call", "workers.executor.worker")
)

# Dask takes longer to import than a cluster's build takes.
_CLUSTER, _ON_A_CLUSTER = ("distributed",), re.compile(r"executor=(tcp|tls):")


# ---- what tests call -----------------------------------------------------------------------------------------------
def run(
    words: list[str], folder: Path, environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` of ``python -m SCons`` with its output as text; raises ``subprocess.TimeoutExpired``, too."""
    if _at_start(environment) != _at_start(dict(os.environ)):
        command = [sys.executable, "-m", "SCons", *words]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    modules = _TOOL if _finds_this_checkout(environment) else ()
    modules += _CLUSTER if modules and any(map(_ON_A_CLUSTER.match, words)) else ()
    return _source(modules).run(words, folder, environment, seconds)


def processor_seconds() -> float:
    """User and system time of all runs so far, and of the processes that they waited for."""
    return sum(source.spent for source in _sources)


def _finds_this_checkout(environment: dict[str, str]) -> bool:
    """Whether the package that is found first in PYTHONPATH is that of this checkout."""
    folders = map(Path, filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)))
    return next((folder for folder in folders if (folder / _PACKAGE).is_dir()), None) == _ROOT


def _at_start(environment: dict[str, str]) -> dict[str, str]:
    """A run's own PYTHONPATH is its list of folders, no more."""
    return {name: value for name, value in environment.items() if name.startswith(_AT_START) and name != "PYTHONPATH"}


_sources: list[Source] = []


@cache
def _source(modules: tuple[str, ...]) -> Source:
    """The process whose forks have imported ``modules``."""
    _sources.append(Source(modules))
    return _sources[-1]


class Source:
    """The process that forks, and what its runs have cost; ``modules`` are what it imports besides SCons."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._socket, theirs = socket.socketpair()
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno()), *modules]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=variables, cwd="/")
        self._asking = threading.Lock()
        self.spent = 0.0
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def run(
        self, words: list[str], folder: Path, environment: dict[str, str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        pipes = [os.pipe() for _ in range(3)]
        self._ask(pickle.dumps((words, str(folder), environment)), [written for _, written in pipes])
        output, errors, answer = _read_all([read for read, _ in pipes], seconds, words)
        status, spent = answer.split()[1:]
        self.spent += float(spent)
        return subprocess.CompletedProcess(words, int(status), _text(output), _text(errors))

    def _ask(self, request: bytes, files: list[int]) -> None:
        with self._asking:
            socket.send_fds(self._socket, [len(request).to_bytes(_HEAD, "little")], files)
            self._socket.sendall(request)
        for file in files:
            os.close(file)


def _read_all(files: list[int], seconds: float, words: list[str]) -> list[bytes]:
    """What the files hold when all are closed, at most after ``seconds``; the last says first which process that is."""
    found, deadline = {file: b"" for file in files}, time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                if process := found[files[-1]].split():
                    os.kill(int(process[0]), signal.SIGKILL)
                raise subprocess.TimeoutExpired(words, seconds, *(found[file] for file in files[:2]))
            for key, _ in ready:
                part = os.read(key.fd, 1 << 16)
                found[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return list(found.values())


def _text(data: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(data), errors="surrogateescape").read()  # names that are no text


# ---- the process that forks ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Request:
    """A run: the words behind ``python -m SCons``, its folder, its variables, and its files for output and errors."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    files: list[int]


def wait_for_requests(requests: socket.socket) -> Request:
    """Returns in forks alone, each with what it is to run."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        head, files, _, _ = socket.recv_fds(requests, _HEAD, 3)
        if not head:
            os._exit(0)
        *files, answer = files
        data = bytearray()
        while len(data) < int.from_bytes(head, "little"):
            data += requests.recv(1 << 20)
        if os.fork() == 0:
            requests.close()
            _fork_and_wait(files, answer)
            os.close(answer)
            return Request(*pickle.loads(data), files)
        for file in (*files, answer):
            os.close(file)


def _fork_and_wait(files: list[int], answer: int) -> None:
    """Returns in the fork that is to run; the other says which one that is, how it has ended, and what it cost."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process == 0:
        return
    for file in files:
        os.close(file)
    os.write(answer, b"%d " % process)
    _, status, usage = os.wait4(process, 0)
    os.write(answer, b"%d %f" % (os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime))
    os._exit(0)


def become(request: Request, folders: list[str]) -> None:
    """Let this process be one that has just started; ``folders`` are those where every Python looks for modules."""
    for number, file in enumerate(request.files, 1):
        os.dup2(file, number)
        os.close(file)
    _surround(request.folder, request.environment, folders)
    sys.path.insert(0, os.getcwd())
    sys.argv[1:] = request.words
    sys.modules["SCons.Script"].start_time = time.time()


def _surround(folder: str, environment: dict[str, str], folders: list[str]) -> None:
    """Set the folder, the variables, and where a Python that starts with them looks for modules."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    more = os.environ.get("PYTHONPATH")
    sys.path[:] = dict.fromkeys([*map(os.path.abspath, more.split(os.pathsep) if more else ()), *folders])
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()


class ToolFinder:
    """Finds the tool for a build script as it was imported before the fork; the trace of the script begins then."""

    def __init__(self) -> None:
        package = sys.modules[_PACKAGE]
        self._trace = sys.modules[_TOOL[0]].TRACE
        self._modules = {name: sys.modules[name] for name in list(sys.modules) if name.startswith(_HIDDEN)}
        for name in self._modules:
            del sys.modules[name]
        for name in _HIDDEN:
            vars(package).pop(name.rpartition(".")[2], None)

    def find_spec(self, name: str, path=None, target=None) -> machinery.ModuleSpec | None:
        if name not in self._modules:
            return None
        sys.meta_path.remove(self)
        return machinery.ModuleSpec(name, self)

    def create_module(self, spec: machinery.ModuleSpec) -> None:
        """Python makes one, which is not used."""

    def exec_module(self, module: types.ModuleType) -> None:
        sys.modules.update(self._modules)
        self._trace.__init__()
        self._trace.start()

    # The trace takes code with a file for that of a build script.
    exec_module.__code__ = exec_module.__code__.replace(co_filename="<import>")


def _read_sources() -> None:
    """Read the package's files that signatures of steps cover: no test changes those of this checkout."""
    stages, fakes = (importlib.import_module(name) for name in (f"{_PACKAGE}.pipeline.stages", "tests.fake_stages"))
    for stage in (*stages.STAGES, stages.LIBDEVICE, *fakes.TABLE, fakes.CUT, *fakes.PROGRAM_TABLE):
        stages.source_files(stage)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]


# ---- the interpreters that a run starts ------------------------------------------------------------------------------
@dataclass(frozen=True)
class Preloaded:
    """Modules of the project that nobody else in this process finds, and the finders that they have installed."""

    modules: dict[str, types.ModuleType]
    finders: list


def import_for_fork_servers() -> Preloaded:
    """What ``_PRELOAD`` needs."""
    for name in _PRELOAD:
        importlib.import_module(name)
    found = Preloaded({name: module for name, module in sys.modules.items() if _is_ours(name)}, list(sys.meta_path))
    for name in found.modules:
        del sys.modules[name]
    sys.meta_path[:] = _FINDERS
    return found


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == _PACKAGE


class Spare:
    """A fork that waits for a program, and ends where none comes before the process above ends."""

    def __init__(self, request: Request, folders: list[str], preloaded: Preloaded, older: Iterable[Spare]):
        self.socket, theirs = socket.socketpair()
        self.process = os.fork()
        if self.process == 0:
            for file in (*request.files, self.socket.detach(), *(spare.socket.detach() for spare in older)):
                os.close(file)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _run_program(theirs, folders, preloaded)
            sys.exit()
        theirs.close()

    def start(self, program: str, files: Iterable[int]) -> int:
        """The process, which from now on runs ``program`` with ``files`` open, each under its number."""
        descriptors = [0, 1, 2, *map(int, files)]
        request = pickle.dumps((program, os.getcwd(), dict(os.environ), descriptors))
        with self.socket:
            socket.send_fds(self.socket, [len(request).to_bytes(_HEAD, "little")], descriptors)
            self.socket.sendall(request)
        return self.process


def _run_program(requests: socket.socket, folders: list[str], preloaded: Preloaded) -> None:
    """Wait for a program and run it as ``python -c`` does; it finds what is ``preloaded`` as its own."""
    head, files, _, _ = socket.recv_fds(requests, _HEAD, _ABOVE)
    if not head:
        os._exit(0)
    with requests, requests.makefile("rb") as stream:
        program, folder, environment, descriptors = pickle.loads(stream.read(int.from_bytes(head, "little")))
    _renumber(files, descriptors)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in sys.modules if name.partition(".")[0] == "SCons" or _is_ours(name)]:
        del sys.modules[name]
    sys.modules.update(preloaded.modules)
    sys.meta_path[:] = preloaded.finders
    _surround(folder, environment, folders)
    sys.path.insert(0, "")
    sys.argv[:] = ["-c"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    exec(program, vars(sys.modules["__main__"]))


def _renumber(files: list[int], descriptors: list[int]) -> None:
    """Let each file have its number; some may be those of others now."""
    waiting = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(waiting, descriptors, strict=True):
        os.dup2(file, number)
        os.close(file)


def use_spares(request: Request, folders: list[str], preloaded: Preloaded) -> None:
    """Have spares instead of new interpreters where multiprocessing starts its programs in this process."""
    spares: dict[str, Spare] = {}
    for name in STARTED:
        spares[_MULTIPROCESSING.format(name)] = Spare(request, folders, preloaded, spares.values())
    anew, owner = util.spawnv_passfds, os.getpid()

    def spawn(path: str, arguments: list[str], files: Iterable[int]) -> int:
        program = arguments[-1].partition(";")[0]
        as_here = _at_start(dict(os.environ)) == _at_start(request.environment) and os.getpid() == owner
        if as_here and (spare := spares.pop(program, None)):
            return spare.start(arguments[-1], files)
        return anew(path, arguments, files)

    util.spawnv_passfds = spawn


def main() -> None:
    """Import SCons, fork, and run SCons in the forks."""
    folders = sys.path[1:]
    for name in STARTED:
        importlib.import_module(f"multiprocessing.{name}")
    for name in ("SCons.Script", "msgspec"):
        importlib.import_module(name)
    sys.path.insert(0, str(_ROOT))
    preloaded = import_for_fork_servers() if len(sys.argv) > 2 else Preloaded({}, _FINDERS)
    for name in sys.argv[2:]:
        importlib.import_module(name)
    if len(sys.argv) > 2:
        _read_sources()
        sys.meta_path.insert(0, ToolFinder())
    gc.freeze()
    request = wait_for_requests(socket.socket(fileno=int(sys.argv[1])))
    use_spares(request, folders, preloaded)
    become(request, folders)
    runpy.run_module("SCons", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
