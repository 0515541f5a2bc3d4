"""Launches by cuTile's own C code, which looks at arguments faster than any Python does, of kernels that it can launch.

cuTile's launcher asks a kernel object's ``_compile`` for a cubin when it has none for the arguments, keeps it, and launches
it with as many threads as its argument says. So a *twin* of the user's kernel, whose ``_compile`` gives our cubins, is launched
in its place; the user's own kernel keeps what cuTile compiled for it. Tensor maps, of which that launcher knows nothing, and
the shared memory of which older ones know nothing, are added on the way to the driver (``cu_launch_kernel_hook.py``). It has one
number of threads for all cubins of a kernel, and launches the grid that it is given: a kernel with several, and persistent ones,
are launched by ``fast_launch``.
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
    """A number that cuTile's launcher computes for each launch: here it is the same for all."""

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
        """A launch for which the kernel may be loaded. Raises NotNative where cuTile's launcher cannot launch it."""
        self._may_load.here = True
        try:
            self.launch(stream, grid, self.threads, self.twin, arguments, **more)
        finally:
            del self._may_load.here
            if self._session.driver_hook is not None:
                self._session.driver_hook.pending(None)

    def _answer(self, signature: Any) -> tuple[object, ...]:
        """What cuTile's launcher is given for a signature."""
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
    """cuTile's launcher cannot launch what was compiled."""


def can_launch_natively(session: Session, compiled: CompiledKernel) -> bool:
    """Whether cuTile's launcher can launch a kernel."""
    if not session.device.has_native_launcher or compiled.launch.grid.persistent:
        return False
    driver_hook = session.driver_hook
    return not needs_driver_hook(session, compiled) or (
        driver_hook is not None and driver_hook.is_in_use and driver_hook.has_room
    )


def needs_driver_hook(session: Session, compiled: CompiledKernel) -> bool:
    """Whether cuTile's launcher lacks something that a launch of the kernel needs."""
    dynamic, row = compiled.launch.shared_memory.dynamic, session.cutile.release
    if compiled.launch.tensor_maps or (dynamic and not row.asks_for_shared_memory):
        return True
    return dynamic > COMMON_SHARED_MEMORY and not row.raises_shared_memory
