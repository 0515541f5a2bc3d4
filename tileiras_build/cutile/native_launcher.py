"""Launches by cuTile's own C code, which is faster than Python, for kernels that it can launch.

If cuTile's launcher has no cubin for the arguments, it calls ``_compile`` of the kernel object, caches the cubin, and launches
it with the given number of threads. The launched object is a *twin* of the user's kernel, whose ``_compile`` returns our
cubins; the user's own kernel keeps what cuTile compiled for it. The launcher does not support tensor maps, and old releases
no dynamic shared memory: ``tensor_map_launch_hook.py`` adds them. The launcher uses one number of threads for all cubins of a
kernel, and the caller's grid: kernels with several, and persistent kernels, use a launch stub (``devices/launch_stub.py``).
Variants for some grids have a twin for each kind of grid, which answers for all arguments: with the kernel itself where these have
no such variant.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import lcm
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
    """The twin of one kernel, or of a variant of the kernel of ``general``. ``threads`` are those of a block. ``by_extent`` has the
    launcher of each grid, by its extent along axis 0 modulo ``period``; None: itself for all.
    """

    def __init__(
        self,
        session: Session,
        kernel: Any,
        compiled: CompiledKernel,
        compile: Callable[[Any], CompiledKernel],
        general: NativeLauncher | None = None,
    ):
        self.threads = (compiled.launch.threads_per_cta,)
        self.by_extent: tuple[NativeLauncher, ...] | None = None
        self.period = 1
        self._clustered: dict[int, NativeLauncher] = {}
        self._session, self._kernel, self._compiled, self._compile = session, kernel, compiled, compile
        self._general = general or self
        cutile = session.cutile
        self._may_load = threading.local()
        self.twin = cutile.twin(kernel, self._answer)
        self.launch = cutile.launch_blocks

    def for_grid(self, grid: Any) -> NativeLauncher:
        """The launcher for a grid of tile blocks."""
        return self if self.by_extent is None else self.by_extent[grid[0] % self.period]

    def add_variants(self, compiled: CompiledKernel) -> None:
        """Launch the variants of the kernel that is compiled for some arguments, too."""
        new = {one.launch.grid.cluster: one for one in compiled.variants}
        if not new.keys() - self._clustered.keys():
            return
        for cluster, variant in new.items():
            made = NativeLauncher(self._session, self._kernel, variant, self._compile, self)
            self._clustered.setdefault(cluster, made)
        # A launch of another thread that finds no launcher in the former table goes by Python.
        self.period = lcm(*self._clustered)
        self.by_extent = tuple(map(self._divided_by, range(self.period)))

    def _divided_by(self, extent: int) -> NativeLauncher:
        """The launcher of an extent along axis 0, or of one that exceeds it by a multiple of the period."""
        return next((made for cluster, made in self._clustered.items() if extent % cluster == 0), self)

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
        found = self._compile(signature)
        self._general.add_variants(found)
        compiled = found.for_grids_of(self._compiled)
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
