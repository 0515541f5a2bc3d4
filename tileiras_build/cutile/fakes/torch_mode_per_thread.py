"""The mode that redirects requests for "cuda" to the CPU, in every thread that can have it.

PyTorch keeps modes per thread, and only the thread itself can enter one. These threads have it: threads that start after the
device was enabled, the thread that enabled it (that of the first ``import torch``, which may be cuTile's in a launching
thread), and the main thread, which enters it before its next instruction. Other older threads do not have it.
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
    """Enter the mode in this thread, in the main thread and in threads that start from now on (``in_mode``)."""
    global _is_on
    _is_on = True
    _enter()
    _in_main(_enter)


def leave() -> None:
    """Leave the mode in this thread and in the main thread."""
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
    """Make the main thread call ``step`` before its next Python instruction."""
    if threading.current_thread() is not threading.main_thread():
        ctypes.pythonapi.Py_AddPendingCall(_STEPS[step], None)


def _step(do: Callable[[], None]) -> Any:
    def call(_: object) -> int:
        do()
        return 0

    return _Call(call)


_STEPS = {do: _step(do) for do in (_enter, _leave)}  # never freed: Python calls them later
