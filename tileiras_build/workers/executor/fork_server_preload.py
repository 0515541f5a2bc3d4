"""The fork server's work while it imports what workers need (``PRELOAD``): it ends with its build, and traces reads."""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...core.user_tmp import remove_dead_scratch
from ..lazy_class_creation import COMPILER, enable

_TIMEOUT_SECONDS = 60.0  # on a busy machine a process that was killed takes many seconds to end
PRELOAD = (
    "tileiras_build.workers.executor.preload"  # the module that it imports; builds with other stages may use another
)


@contextmanager
def preloading() -> Iterator[None]:
    """The context of the imports."""
    build = os.getppid()
    if _is_alone():
        # The parent process has changed by now.
        remove_dead_scratch()
        os._exit(1)
    # The fork server ends last, also if its build is killed.
    atexit.register(sweep_after, build)
    _end_with_build(build)
    # Imported objects stay: garbage collections between the imports find nothing, and take a tenth of the time.
    gc.disable()
    # Each worker defines only the operations of its kernels.
    enable(*COMPILER)

    from ...core.tracing import audit_hooks, pyc_staleness
    from ...core.tracing.dependency_state import WORKER_VARIABLES

    pyc_staleness.install_pyc_check()
    audit_hooks.install().load()
    for name, value in WORKER_VARIABLES.items():
        os.environ.setdefault(name, value)
    yield
    audit_hooks.tracer().loaded()
    # Frozen objects are never visited by a worker's collector, so their pages stay shared.
    gc.freeze()
    gc.enable()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def sweep_after(build: int) -> None:
    """Remove temporary files when process ``build`` and this one's workers have ended.

    The kernel closes the files of a killed process one by one, possibly with a pause: the pipe that workers and fork server wait
    for can close before the lock of the build's folder is released, so the folder cannot be removed at once.
    """
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while (os.getppid() == build or _has_children()) and time.monotonic() < deadline:
        time.sleep(0.002)
    remove_dead_scratch()


def _has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _is_alone() -> bool:
    """Whether the build has ended: multiprocessing gives its fork server one pipe, whose other end the build holds."""
    ends = select.poll()
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the descriptor of the listing itself
            if int(name) > 2 and stat.S_ISFIFO(os.fstat(int(name)).st_mode):
                ends.register(int(name), 0)
    return any(event & select.POLLHUP for _, event in ends.poll(0))


def _end_with_build(build: int) -> None:
    """Watch the build during the imports, which take seconds on a busy machine: multiprocessing watches it only afterwards."""

    def look(*_) -> None:
        if os.getppid() != build:
            remove_dead_scratch()
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
