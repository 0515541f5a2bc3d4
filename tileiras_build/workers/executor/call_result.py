"""The result of a call in another process: its value, or the exception that it raised."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Any, Literal

from ...core.errors import ErrorGroup, InternalError, forget_origin, is_own, origin_of

CallResult = tuple[Literal[True], Any] | tuple[Literal[False], Exception]  # the value, or the exception


def unwrap_result(answer: CallResult) -> Any:
    """The call's result; raises what it raised."""
    if answer[0]:
        return answer[1]
    raise answer[1]


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether a MemoryError is among the causes of an exception, or is the exception."""
    seen: dict[int, BaseException] = {}
    while error is not None and id(error) not in seen:
        seen[id(error)] = error
        error = origin_of(error)
    return any(issubclass(type(error), MemoryError) for error in seen.values())


def without_traces(error: Exception) -> Exception:
    """The diagnostic without its traceback and cause, which pickle would include for some libraries."""
    for diagnostic in (error, *(error.errors if is_own(error) and isinstance(error, ErrorGroup) else ())):
        forget_origin(diagnostic)
    return error


def describe_exit(code: int | None) -> str:
    """The end of a process with multiprocessing's exit code ``code``: "was killed by SIGSEGV"."""
    if code is None:
        return "closed its pipe"
    if code >= 0:
        return f"exited with status {code}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


class ProcessEnded(InternalError):
    """The child ended without a result; ``code`` is its exit status, or the negative number of the signal."""

    def __init__(self, code: int, detail: str = ""):
        super().__init__("worker-died", f"the compiler process {describe_exit(code)}{detail}")
        self.code, self.detail = code, detail

    def __reduce__(self):
        return (ProcessEnded, (self.code, self.detail))

    @property
    def from_outside(self) -> bool:
        """Whether another process killed it, such as the out-of-memory killer."""
        return self.code in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGXCPU)
