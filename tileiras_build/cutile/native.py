"""Launches by cuTile's own C code, which looks at arguments faster than any Python does, of kernels that it can launch.

cuTile's launcher asks a kernel object's ``_compile`` for a cubin when it has none for the arguments, keeps it, and launches
it with as many threads as it is told (``launch_extended``). So a *twin* of the user's kernel, whose ``_compile`` gives
our cubins, is launched in its place; the user's own kernel keeps what cuTile compiled for it. Tensor maps, of which that
launcher knows nothing, are put beside the parameters on the way to the driver (``launch_shim.py``). It has one number of
threads for all cubins of a kernel, and before 1.6 lets none take more shared memory than every kernel may: a kernel for
which that does not do is launched by ``fast_launch`` from then on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..targets import COMMON_SHARED_MEMORY

if TYPE_CHECKING:
    from .compiled import Compiled
    from .session import Session


PROGRAMMATIC = {"programmatic_dependent_launch": True}


@dataclass(frozen=True)
class HostProgram:
    """A number that cuTile's launcher computes for each launch: here it is the same for all."""

    opcodes: list[str]
    op_attrs: list[int]


class Miss(Exception):
    """cuTile's launcher has no cubin for these arguments yet."""


class Native:
    """The twin of one kernel. ``threads`` are those of a block."""

    def __init__(self, session: Session, kernel: Any, compiled: Compiled, compile: Callable[[Any], Compiled]):
        self.threads = (compiled.launch.threads_per_cta,)
        self._session, self._compile = session, compile
        cutile = session.cutile
        self._may_load = threading.local()
        self.twin = cutile.twin(kernel, self._answer)
        assert cutile.launch_extended is not None
        self.launch = cutile.launch_extended

    def load_and_launch(
        self, stream: object, grid: object, arguments: tuple[object, ...], more: Mapping[str, bool]
    ) -> None:
        """A launch for which the kernel may be loaded. Raises NotNative where cuTile's launcher cannot launch it."""
        self._may_load.here = True
        try:
            self.launch(stream, grid, self.threads, self.twin, arguments, **more)
        finally:
            del self._may_load.here
            if self._session.shim is not None:
                self._session.shim.pending(None)

    def _answer(self, signature: Any) -> tuple[object, ...]:
        """What cuTile's launcher is given for a signature."""
        if not hasattr(self._may_load, "here"):
            raise Miss
        compiled = self._compile(signature)
        if not is_native(self._session, compiled) or compiled.launch.threads_per_cta != self.threads[0]:
            raise NotNative
        if compiled.launch.tensor_maps and self._session.shim is not None:
            self._session.shim.pending(self._session.device.mapping(compiled))
        dynamic = compiled.launch.shared_memory.dynamic
        program = HostProgram(["Const"], [dynamic]) if dynamic else None
        return compiled.cubin, compiled.entry, program, self._session.cutile.row.no_extras


class NotNative(Exception):
    """cuTile's launcher cannot launch what was compiled."""


def is_native(session: Session, compiled: Compiled) -> bool:
    """Whether cuTile's launcher can launch a kernel."""
    launch, row = compiled.launch, session.cutile.row
    if not session.device.has_native_launcher or not row.launches_blocks:
        return False
    if launch.tensor_maps and not (session.shim is not None and session.shim.is_in_use and session.shim.has_room):
        return False
    return row.raises_shared_memory or launch.shared_memory.dynamic <= COMMON_SHARED_MEMORY
