"""The replacement of ``ct.launch``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .traceback_filter import shorten

if TYPE_CHECKING:
    from .session import Session

__tracebackhide__ = True  # for pytest: users want to see their own call
STATE_ATTRIBUTE = "_tileiras_build"
"""The attribute of a kernel that holds its KernelState."""
session: Session | None = None
"""The enabled session; ``monkeypatch_cutile`` sets it."""


def make_launch(own: Callable[..., None]) -> Callable[..., None]:
    """The replacement of ``own``, cuTile's launch."""

    def launch(
        stream: object,
        grid: tuple[int, ...],
        kernel: Any,
        kernel_args: tuple[object, ...],
        /,
        *,
        programmatic_dependent_launch: bool = False,
    ) -> None:
        """Queue ``kernel`` over ``grid`` on ``stream``, compiled by tileiras_build."""
        now = session
        if now is None:
            more = {"programmatic_dependent_launch": True} if programmatic_dependent_launch else {}
            own(stream, grid, kernel, kernel_args, **more)
            return
        # The fast path: launches are microseconds apart, so cuTile's own launcher comes first.
        state = getattr(kernel, STATE_ATTRIBUTE, None)
        if (
            state is not None
            and state.native is not None
            and state.session is now
            and not programmatic_dependent_launch
        ):
            native = state.native
            try:
                if native.by_extent is not None:
                    choose = native.by_programs
                    native = (choose and choose(grid, kernel_args)) or native.by_extent[grid[0] % native.period]
                native.launch(stream, grid, native.threads, native.twin, kernel_args)
                return
            except Exception:
                pass  # the checked launch below reports it
        try:
            now.enqueue(stream, grid, kernel, kernel_args, programmatic_dependent_launch)
        except BaseException as error:
            shorten(error)
            raise

    launch.__qualname__, launch.__doc__ = "launch", own.__doc__ or launch.__doc__
    return launch


def make_capability(own: Callable[..., tuple[int, int]]) -> Callable[..., tuple[int, int]]:
    """The replacement of ``own``, cuTile's get_compute_capability."""

    def get_compute_capability(device_id: int = 0) -> tuple[int, int]:
        """Major and minor number of the compilation target."""
        return own(device_id) if session is None or device_id else divmod(session.device.number, 10)

    return get_compute_capability
