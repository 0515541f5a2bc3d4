"""Runs of user code in a worker, seen from the build: a file that changes meanwhile, and errors that are the user's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from ...core.errors import InternalError, InvalidInput, Location
from ...core.system_limit_errors import address_space
from ...core.tracing.dependency_record import ReadsChanged, TracedResult
from .call_result import describe_exit


def run_traced(run: Callable[[], TracedResult], path: str, root: str) -> TracedResult:
    """The result of ``run`` on the file at ``path``; retried once if a file that it read changed meanwhile."""
    for last in (False, True):
        try:
            return run()
        except ReadsChanged as change:
            if last:
                changed = str(change).replace(f"{root}{os.sep}", "")
                message = f"{changed} during export, twice in a row"
                remedy = "rerun when no other program writes to it"
                raise InvalidInput("input-changed", message, location=Location(path), remedy=remedy) from None
        except InternalError as error:
            raise _blame_user_file(error, path) or error from None
    raise AssertionError("the second attempt returns or raises")


_USER_FAULTS = {
    "worker-died": "fix what ends its process; a build must be able to import the file",
    "worker-timeout": "fix the loop or raise TILEIRAS_TIMEOUT (seconds)",
}


def _blame_user_file(error: InternalError, path: str) -> InvalidInput | None:
    """The user error for a file that ends its process or does not finish; None for other errors."""
    if (remedy := _USER_FAULTS.get(error.id)) is None:
        return None
    ended = (
        f"its process {describe_exit(code)}" if (code := getattr(error, "code", None)) is not None else error.message
    )
    remedy += _hint_of_memory(code)
    return InvalidInput(error.id, f"{ended} while the file ran", location=Location(path), remedy=remedy)


def _hint_of_memory(code: int | None) -> str:
    """Another possible cause of this exit code: a memory limit."""
    if code == -signal.SIGKILL:
        return ", or give it more memory: a system or container that runs out of memory kills processes"
    if code is not None and (most := address_space()) is not None:
        return f", or raise its limit of memory (ulimit -v), which is {most >> 20} MiB"
    return ""
