"""Launches by cuTile's own C code, which is faster than Python, for kernels that it can launch.

If cuTile's launcher has no cubin for the arguments, it calls ``_compile`` of the kernel object, caches the cubin, and launches
it with the given number of threads. The launched object is a *twin* of the user's kernel, whose ``_compile`` returns our
cubins; the user's own kernel keeps what cuTile compiled for it. The launcher does not support tensor maps, and old releases
no dynamic shared memory: ``tensor_map_launch_hook.py`` adds them. The launcher uses one number of threads for all cubins of a
kernel, and the caller's grid: kernels with several, and persistent kernels, use a launch stub (``devices/launch_stub.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..target.sm_limits import COMMON_SHARED_MEMORY

if TYPE_CHECKING:
    from .compiled_kernel_cache import CompiledKernel
    from .session import Session


PROGRAMMATIC = {"programmatic_dependent_launch": True}


@dataclass(frozen=True)
class HostProgram:
    """A value that cuTile's launcher computes for each launch; here it is constant."""

    opcodes: list[str]
    op_attrs: list[int]


class NoCubinYet(Exception):
    """cuTile's launcher has no cubin for these arguments yet."""


class NativeLauncher:
    """The twin of one kernel. ``threads`` are those of a block."""

    def __init__(
        self, session: Session, kernel: Any, compiled: CompiledKernel, compile: Callable[[Any], CompiledKernel]
    ):
        self.threads = (compiled.launch.threads_per_cta,)
        self._session, self._compile = session, compile
        cutile = session.cutile
        self._may_load = threading.local()
        self.twin = cutile.twin(kernel, self._answer)
        self.launch = cutile.launch_blocks

    def load_and_launch(
        self, stream: object, grid: object, arguments: tuple[object, ...], more: Mapping[str, bool]
    ) -> None:
        """A launch that may load the kernel. Raises NotNative if cuTile's launcher cannot launch it."""
        self._may_load.here = True
        try:
            self.launch(stream, grid, self.threads, self.twin, arguments, **more)
        finally:
            del self._may_load.here
            if self._session.driver_hook is not None:
                self._session.driver_hook.pending(None)

    def _answer(self, signature: Any) -> tuple[object, ...]:
        """The answer to ``_compile`` for a signature."""
        if not hasattr(self._may_load, "here"):
            raise NoCubinYet
        compiled = self._compile(signature)
        if not can_launch_natively(self._session, compiled) or compiled.launch.threads_per_cta != self.threads[0]:
            raise NotNative
        if needs_driver_hook(self._session, compiled):
            assert self._session.driver_hook is not None
            self._session.driver_hook.pending(self._session.device.mapping(compiled))
        row, dynamic = self._session.cutile.release, compiled.launch.shared_memory.dynamic
        if not row.asks_for_shared_memory:
            return compiled.cubin, compiled.entry
        program = HostProgram(["Const"], [dynamic]) if dynamic else None
        return compiled.cubin, compiled.entry, program, row.no_extras


class NotNative(Exception):
    """cuTile's launcher cannot launch the compiled kernel."""


def can_launch_natively(session: Session, compiled: CompiledKernel) -> bool:
    """Whether cuTile's launcher can launch a kernel."""
    if not session.device.has_native_launcher or compiled.launch.grid.persistent:
        return False
    driver_hook = session.driver_hook
    return not needs_driver_hook(session, compiled) or (
        driver_hook is not None and driver_hook.is_in_use and driver_hook.has_capacity
    )


def needs_driver_hook(session: Session, compiled: CompiledKernel) -> bool:
    """Whether a launch of the kernel needs something that cuTile's launcher lacks."""
    dynamic, row = compiled.launch.shared_memory.dynamic, session.cutile.release
    if compiled.launch.tensor_maps or (dynamic and not row.asks_for_shared_memory):
        return True
    return dynamic > COMMON_SHARED_MEMORY and not row.raises_shared_memory
