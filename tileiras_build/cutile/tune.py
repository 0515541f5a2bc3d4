"""``ct.tune``: cuTile searches, the device measures.

cuTile's search is Python over one function of its C code that times a launch; that function is taken over. It launches in
this process: where a time limit is given, a launch that exceeds it is reported, and goes on, for nothing stops a kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import launching

if TYPE_CHECKING:
    from .session import Session

Function = Callable[..., Any]


def make_benchmark(own: Function) -> Function:
    """The function that takes the place of ``_benchmark``: microseconds of one launch on the GPU."""

    def _benchmark(stream: object, grid: Any, kernel: Any, arguments: Any, flush_l2: bool = True, /) -> float:
        session = launching.session
        if session is None:
            return own(stream, grid, kernel, arguments, *(() if flush_l2 else (False,)))
        return _measured(session, stream, grid, kernel, arguments, flush_l2, None)

    return _benchmark


def make_benchmark_with_timeout(own: Function) -> Function:
    """The function that takes the place of ``benchmark_with_timeout``: microseconds of the launch, and seconds of it all."""

    def benchmark_with_timeout(
        stream: object, grid: Any, kernel: Any, pyargs: Any, timeout_sec: float, *more: bool
    ) -> tuple[float, float | None]:
        session = launching.session
        if session is None:
            return own(stream, grid, kernel, pyargs, timeout_sec, *more)
        session.compile(kernel, pyargs)  # the limit is for the launch
        start = time.perf_counter()
        try:
            taken = _measured(session, stream, grid, kernel, pyargs, more[0] if more else True, timeout_sec)
        except TimeoutError as error:
            raise session.cutile.timeout_class(str(error)) from None
        return taken, time.perf_counter() - start

    return benchmark_with_timeout


def make_synchronize(own: Function) -> Function:
    """The function that takes the place of ``_synchronize_context``."""

    def _synchronize_context() -> None:
        session = launching.session
        if session is None:
            own()
        else:
            session.device.synchronize()

    return _synchronize_context


def _measured(
    session: Session, stream: object, grid: Any, kernel: Any, arguments: Any, flush: bool, limit: float | None
) -> float:
    compiled = session.compile(kernel, arguments)  # what is measured is the launch
    measured, kind = session.kept(kernel).measured, (compiled.entry, tuple(grid))
    first = kind not in measured
    measured.add(kind)
    work = lambda: session.enqueue(stream, grid, kernel, arguments, False)
    return session.device.measure(work, stream, flush, limit, first)
