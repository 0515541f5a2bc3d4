"""Where LLVM reads what this compiler did not write: in a process that may die of it.

LLVM aborts on some inputs. A worker may die: its call fails, and that is all. The process that a user's program runs in
may not, so what comes from outside is worked on in a worker that this process keeps.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from ...core.cpu_count import cpu_count
from ...pipeline.stages import load
from .may_crash import may_crash

if TYPE_CHECKING:
    from .worker_pool import WorkerPool

_pools: dict[int, WorkerPool] = {}  # by process: a fork has none of its parent's workers
_starting = threading.Lock()


def run_isolated(function: str, *arguments: object) -> object:
    """The result of ``function`` ("module:function"), from another process unless this one may die.

    Raises the function's own exception, and what ``WorkerPool.run`` raises for a worker that died.
    """
    if may_crash():
        return load(function)(*arguments)
    return _pool().run(function, *arguments)


def _pool() -> WorkerPool:
    from .multiprocessing_config import process_config
    from .worker_pool import WorkerPool

    with _starting:
        if os.getpid() not in _pools:
            # multiprocessing forbids daemons to have children, since it would not end them. Ours end with their parent.
            process_config()["daemon"] = False
            _pools[os.getpid()] = WorkerPool(cpu_count())
        return _pools[os.getpid()]
