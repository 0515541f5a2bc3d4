"""Runs LLVM on IR from outside in another process, because LLVM aborts on some inputs.

If a worker process dies, only its call fails. The process of a user's program must survive, so this process keeps a worker
for such input.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from ...core.cpu_count import cpu_count
from ...pipeline.stages import load
from .allow_crash import may_crash

if TYPE_CHECKING:
    from .worker_pool import WorkerPool

_pools: dict[int, WorkerPool] = {}  # by process: a fork does not have its parent's workers
_starting = threading.Lock()


def run_isolated(function: str, *arguments: object) -> object:
    """The result of ``function`` ("module:function"), from another process unless this one may crash.

    Raises the function's own exception, and the errors of ``WorkerPool.run`` for a worker that died.
    """
    if may_crash():
        return load(function)(*arguments)
    return _pool().run(function, *arguments)


def _pool() -> WorkerPool:
    from .multiprocessing_internals import process_config
    from .worker_pool import WorkerPool

    with _starting:
        if os.getpid() not in _pools:
            # multiprocessing forbids daemons to have children, as it would not end them. Ours end with their parent.
            process_config()["daemon"] = False
            _pools[os.getpid()] = WorkerPool(cpu_count())
        return _pools[os.getpid()]
