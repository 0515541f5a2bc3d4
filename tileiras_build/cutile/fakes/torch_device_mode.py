"""The mode that sends requests for "cuda" to the CPU, in every thread that it can be given to.

PyTorch keeps modes by thread, and a thread can be given one by itself alone. So those have it that are started after the device was
there, the one in which it came (that of the first ``import torch``, which may be cuTile's in a thread that launches), and the main one,
which enters it before its next step. Others that were there before have none.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from .torch_cuda_tensors_on_cpu import AsksForCuda

_Call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_is_on = False


class _Here(threading.local):
    mode: AsksForCuda | None = None


_here = _Here()


def enter() -> None:
    """Begin, in this thread, in the main one and in those that are started from now on (``in_mode``)."""
    global _is_on
    _is_on = True
    _enter()
    _in_main(_enter)


def leave() -> None:
    """End it, in this thread and in the main one."""
    global _is_on
    _is_on = False
    _leave()
    _in_main(_leave)


def in_mode(own: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    """``threading.Thread.run`` under the mode."""

    def run(self: threading.Thread) -> None:
        if not _is_on:
            return own(self)
        with AsksForCuda():
            return own(self)

    return run


def _enter() -> None:
    if _is_on and _here.mode is None:
        _here.mode = AsksForCuda()
        _here.mode.__enter__()


def _leave() -> None:
    if not _is_on and _here.mode is not None:
        _here.mode.__exit__(None, None, None)
        _here.mode = None


def _in_main(step: Callable[[], None]) -> None:
    """Have the main thread do ``step`` before its next step in Python."""
    if threading.current_thread() is not threading.main_thread():
        ctypes.pythonapi.Py_AddPendingCall(_STEPS[step], None)


def _step(do: Callable[[], None]) -> Any:
    def call(_: object) -> int:
        do()
        return 0

    return _Call(call)


_STEPS = {do: _step(do) for do in (_enter, _leave)}  # for good: Python calls them when it can
