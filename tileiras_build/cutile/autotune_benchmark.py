"""``ct.tune``: cuTile searches, the device measures.

cuTile's search is Python code that calls one function of its C code to time a launch; that function is replaced. Calls from
the search may skip repetitions (``Device.measure``); each other call is a launch. With a time limit, a GPU launch runs in
another process, as in cuTile, because only the end of its process stops a kernel. If that process cannot open the memory of
the arguments, the launch runs in this process: an overrun is reported, and the kernel continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import launch_hook

if TYPE_CHECKING:
    from .compiled_kernel_cache import CompiledKernel
    from .session import Session

Function = Callable[..., Any]


def make_benchmark(own: Function) -> Function:
    """The replacement of ``_benchmark``: microseconds of one launch on the GPU."""
    return _timed(own, lambda session, kernel, compiled, grid: True)


def make_benchmark_of_search(own: Function) -> Function:
    """The replacement of ``_benchmark`` for calls from the search, which repeats each configuration."""
    return _timed(own, _is_first)


def _timed(own: Function, counts_as_first: Callable[[Session, Any, CompiledKernel, Any], bool]) -> Function:
    def _benchmark(stream: object, grid: Any, kernel: Any, arguments: Any, flush_l2: bool = True, /) -> float:
        session = launch_hook.session
        if session is None:
            return own(stream, grid, kernel, arguments, *(() if flush_l2 else (False,)))
        compiled = session.compile(kernel, arguments)  # compile outside the measurement
        work = lambda: session.enqueue(stream, grid, kernel, arguments, False)
        return session.device.measure(work, stream, flush_l2, None, counts_as_first(session, kernel, compiled, grid))

    return _benchmark


def make_benchmark_with_timeout(own: Function) -> Function:
    """The replacement of ``benchmark_with_timeout``: microseconds of the launch, and seconds of the whole call."""

    def benchmark_with_timeout(
        stream: object, grid: Any, kernel: Any, pyargs: Any, timeout_sec: float, *more: bool
    ) -> tuple[float, float | None]:
        session = launch_hook.session
        if session is None:
            return own(stream, grid, kernel, pyargs, timeout_sec, *more)
        compiled = session.compile(kernel, pyargs)  # the limit is for the launch only
        first, flush = _is_first(session, kernel, compiled, grid), more[0] if more else True
        work = lambda: session.enqueue(stream, grid, kernel, pyargs, False)
        start = time.perf_counter()
        try:
            taken = session.measure_out_of_process(stream, grid, kernel, pyargs, flush, timeout_sec)
            if taken is None:
                taken = session.device.measure(work, stream, flush, timeout_sec, first)
        except TimeoutError as error:
            raise session.cutile.timeout_class(str(error)) from None
        return taken, time.perf_counter() - start

    return benchmark_with_timeout


def make_synchronize(own: Function) -> Function:
    """The replacement of ``_synchronize_context``."""

    def _synchronize_context() -> None:
        session = launch_hook.session
        if session is None:
            own()
        else:
            session.device.synchronize()

    return _synchronize_context


def _is_first(session: Session, kernel: Any, compiled: CompiledKernel, grid: Any) -> bool:
    """Whether the search times this configuration for the first time: each configuration is a kernel of its own."""
    measured, kind = session.kernel_state(kernel).measured, (compiled.entry, tuple(grid))
    if kind in measured:
        return False
    measured.add(kind)
    return True
