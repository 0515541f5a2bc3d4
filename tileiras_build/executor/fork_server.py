"""What the fork server does while it imports what workers need (``PRELOAD``): it ends with its build, and notes reads."""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from ..private_folder import sweep

PRELOAD = "tileiras_build.executor.preload"  # the module that it imports; builds with other stages may name another


@contextmanager
def preloading() -> Iterator[None]:
    """For the time of the imports."""
    # The fork server is the last to end, also where its build was killed.
    atexit.register(sweep)
    _end_with_build(os.getppid())
    # What is imported stays: collecting between the imports finds nothing, and costs a tenth of them.
    gc.disable()

    from ..reads import loading, watch
    from ..reads.looking import WORKER_VARIABLES

    loading.use_certain_code()
    watch.install().load()
    for name, value in WORKER_VARIABLES.items():
        os.environ.setdefault(name, value)
    yield
    watch.watch().loaded()
    # Frozen objects are never visited by a worker's collector, so their pages stay shared.
    gc.freeze()
    gc.enable()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _end_with_build(build: int) -> None:
    """multiprocessing looks after the build only when all is imported, which takes seconds on a busy machine."""

    def look(*_) -> None:
        if os.getppid() != build:
            sweep()
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
