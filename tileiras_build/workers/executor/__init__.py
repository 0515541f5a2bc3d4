"""Executors: where a stage function runs. All have ``run(function, *arguments)``, ``close()`` and are context managers.

``function`` is ``"module:function"``: it is looked up where it runs, so that only names and data travel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .speculative_steps import Lookahead


class Executor(Protocol):
    """What the SCons tool needs of an executor; ``run`` may be called from several threads at once."""

    def run(
        self, function: str, *arguments: Any, timeout: float | None = None, lookahead: Lookahead | None = None
    ) -> Any:
        """The function's result. Its TileirasError is raised here; a lost worker is an InternalError.

        ``following`` tells an executor far away what it may make of the result at once.
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
