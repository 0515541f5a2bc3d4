"""Runs stage functions in the calling thread: for tests, debuggers and profilers. An LLVM abort ends the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...pipeline.stages import load
from .allow_crash import crash_allowed

if TYPE_CHECKING:
    from .speculative_steps import Lookahead


class InProcessExecutor:
    """An executor without processes; ``timeout`` and ``lookahead`` are ignored."""

    def run(
        self, function: str, *arguments: Any, timeout: float | None = None, lookahead: Lookahead | None = None
    ) -> Any:
        """The result of the function named ``"module:function"``."""
        with crash_allowed():
            return load(function)(*arguments)

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
