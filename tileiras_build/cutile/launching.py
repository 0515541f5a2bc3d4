"""``ct.launch``: one launch, from what the user passes to the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import Session

session: Session | None = None
"""What is enabled; ``patching`` sets it."""


def make_launch(own: Callable[..., None]) -> Callable[..., None]:
    """The function that takes the place of ``own``, cuTile's launch."""

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
        if session is None:
            more = {"programmatic_dependent_launch": True} if programmatic_dependent_launch else {}
            own(stream, grid, kernel, kernel_args, **more)
            return
        session.launch(stream, grid, kernel, kernel_args, programmatic_dependent_launch)

    return launch
