"""Executors run stage functions in this process, in worker processes or on a cluster.

All have ``run(function, *arguments)`` and ``close()``, and are context managers. ``function`` is ``"module:function"``: it is
imported where it runs, so only names and data are sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .speculative_steps import Lookahead


class Executor(Protocol):
    """The interface of executors; ``run`` may be called from several threads at once."""

    def run(
        self, function: str, *arguments: Any, timeout: float | None = None, lookahead: Lookahead | None = None
    ) -> Any:
        """The function's result. Its TileirasError is raised here; a lost worker is an InternalError.

        ``lookahead`` returns the following steps, which a remote executor may run at once.
        """

    def close(self) -> None:
        """End all workers."""


def make_executor(workers: int, *, timeout: float | None = None, memory: int | None = None) -> Executor:
    """A pool of ``workers`` processes of at most ``memory`` bytes each, or, for 0, an executor in this process."""
    if workers == 0:
        from .in_process_executor import InProcessExecutor

        return InProcessExecutor()
    from .worker_pool import WorkerPool

    return WorkerPool(workers, timeout=timeout, memory=memory)
