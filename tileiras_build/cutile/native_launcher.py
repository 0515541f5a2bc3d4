"""Launches by cuTile's own C code, which is faster than Python, for kernels that it can launch.

If cuTile's launcher has no cubin for the arguments, it calls ``_compile`` of the kernel object, caches the cubin, and launches
it with the given number of threads. The launched object is a *twin* of the user's kernel, whose ``_compile`` returns our
cubins; the user's own kernel keeps what cuTile compiled for it. The launcher does not support tensor maps, and old releases
no dynamic shared memory: ``tensor_map_launch_hook.py`` adds them. The launcher uses one number of threads for all cubins of a
kernel, and the caller's grid: kernels with several, and persistent kernels, use a launch stub (``devices/launch_stub.py``).
Variants for some grids and lengths have a twin for each row of them, which answers for all arguments: with the kernel itself where
these have no such variant. The function that chooses among variants for some numbers of tile blocks is generated:

    def by_programs(grid, arguments):
        gx, gy, gz = grid + more_axes[len(grid)]
        programs = gx * gy * gz
        if programs > 198:
            return None
        if (programs <= 33 and length_of(arguments[0], 1) >= 1024):
            return twin0
        if (133 <= programs <= 198 and length_of(arguments[0], 1) >= 4096):
            return twin1
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm, prod
from typing import TYPE_CHECKING, Any

from ..launch.runtime.generate_launch_stub import MORE_AXES, fits_code
from ..target.sm_limits import COMMON_SHARED_MEMORY

if TYPE_CHECKING:
    from ..manifest.launch_manifest import Launch, Parameter
    from ..manifest.variant_assumptions import Choice
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
    """The twin of one kernel, or of a variant of the kernel of ``general``: its ``choice``. ``threads`` are those of a block. ``compile``
    has the kernel for arguments, and what a launch of a choice takes of it.
    ``by_programs`` returns the launcher for a number of tile blocks and for arguments, if there is one. ``by_extent`` has the launcher of each
    other grid, by its extent along axis 0 modulo ``period``; None: itself for all launches.
    """

    def __init__(
        self,
        session: Session,
        kernel: Any,
        choice: Choice,
        compile: Callable[[Any, Choice], tuple[CompiledKernel, CompiledKernel]],
        general: NativeLauncher | None = None,
    ):
        self.threads = (choice.launch.threads_per_cta,)
        self.by_programs: Callable[[Any, Any], NativeLauncher | None] | None = None
        self.by_extent: tuple[NativeLauncher, ...] | None = None
        self.period = 1
        self.choice = choice
        self._variants: dict[Hashable, NativeLauncher] = {}
        self._session, self._kernel, self._compile = session, kernel, compile
        self._is_first = True
        self._general = general or self
        cutile = session.cutile
        self._may_load = threading.local()
        self.twin = cutile.twin(kernel, self._answer)
        self.launch = cutile.launch_blocks

    def for_launch(self, grid: Any, arguments: Sequence[object]) -> NativeLauncher:
        """The launcher for a grid of tile blocks and arguments; ``launch_hook.py`` has the same."""
        if self.by_extent is None:
            return self
        return (self.by_programs and self.by_programs(grid, arguments)) or self.by_extent[grid[0] % self.period]

    def add_variants(self, compiled: CompiledKernel) -> None:
        """Launch the variants of the kernel that is compiled for some arguments, too."""
        rows = (one for choice in compiled.choices[:-1] for one in choice.by_grids)
        new = {_conditions_of(one): one for one in rows if self._is_readable(one)}
        if not new.keys() - self._variants.keys():
            return
        for key, choice in new.items():
            made = NativeLauncher(self._session, self._kernel, choice, self._compile, self)
            self._variants.setdefault(key, made)
        clustered = [one for one in self._variants.values() if not one.choice.grids]
        limited = [one for one in self._variants.values() if one.choice.grids]
        # A launch of another thread that finds no launcher in the former table goes by Python.
        self.period = lcm(*(one.choice.launch.grid.cluster for one in clustered))
        self.by_extent = tuple(_divided_by(clustered, extent) or self for extent in range(self.period))
        self.by_programs = self._generate(limited) if limited else None

    def _is_readable(self, choice: Choice) -> bool:
        """Whether the parameters that determine the launches of a variant are arguments, and not parts of one."""
        return all(self._position(choice.launch, param) is not None for param in _deciding(choice).values())

    def _position(self, launch: Launch, param: Parameter) -> int | None:
        names = list(self._session.cutile.parameter_names(self._kernel))
        name = launch.arguments[param.argument].name if param.argument is not None else None
        return names.index(name) if name in names else None

    def _generate(self, limited: list[NativeLauncher]) -> Callable[[Any, Any], NativeLauncher | None]:
        """The function that chooses among launchers of variants, those of more CTAs and for fewer launches first."""
        scope: dict[str, Any] = {"more_axes": ((1, 1, 1), *MORE_AXES), "length_of": _length_of}
        most = max(row.most for one in limited for row in one.choice.grids)
        lines = ["gx, gy, gz = grid + more_axes[len(grid)]", "programs = gx * gy * gz"]
        lines += [f"if programs > {most:d}:", " return None"]
        for index, one in enumerate(sorted(limited, key=lambda one: _generality(one.choice))):
            scope[f"twin{index}"] = one
            lines += [f"if {fits_code(one.choice, self._reading(one.choice))}:", f" return twin{index}"]
        exec("\n".join(["def by_programs(grid, arguments):", *(f" {line}" for line in lines)]), scope)
        return scope["by_programs"]

    def _reading(self, choice: Choice) -> dict[int, str]:
        """For each parameter that determines the launches of a variant, the expression of its value."""
        return {
            index: f"length_of(arguments[{place}], {param.axis})" if param.axis is not None else f"arguments[{place}]"
            for index, param in _deciding(choice).items()
            for place in [self._position(choice.launch, param)]
        }

    def load_and_launch(
        self, stream: object, grid: object, arguments: tuple[object, ...], more: Mapping[str, bool]
    ) -> None:
        """A launch that may load the kernel. Raises NotNative if cuTile's launcher cannot launch it."""
        self._may_load.here = True
        try:
            self.launch(stream, grid, self.threads, self.twin, arguments, **more)
        except OtherThreads:
            self.launch(stream, grid, self.threads, self.twin, arguments, **more)
        finally:
            del self._may_load.here
            if self._session.driver_hook is not None:
                self._session.driver_hook.pending(None)

    def _answer(self, signature: Any) -> tuple[object, ...]:
        """The answer to ``_compile`` for a signature."""
        if not hasattr(self._may_load, "here"):
            raise NoCubinYet
        found, compiled = self._compile(signature, self.choice)
        self._general.add_variants(found)
        if not can_launch_natively(self._session, compiled):
            raise NotNative
        self._check_threads(compiled.launch.threads_per_cta)
        if needs_driver_hook(self._session, compiled):
            assert self._session.driver_hook is not None
            self._session.driver_hook.pending(self._session.device.mapping(compiled))
        row, dynamic = self._session.cutile.release, compiled.launch.shared_memory.dynamic
        if not row.asks_for_shared_memory:
            return compiled.cubin, compiled.entry
        program = HostProgram(["Const"], [dynamic]) if dynamic else None
        return compiled.cubin, compiled.entry, program, row.no_extras

    def _check_threads(self, threads: int) -> None:
        """The first cubin decides how many threads a block has."""
        differs, was_first = threads != self.threads[0], self._is_first
        self.threads, self._is_first = (threads,) if was_first else self.threads, False
        if differs:
            raise OtherThreads if was_first else NotNative


def _conditions_of(choice: Choice) -> Hashable:
    """What determines the launches that a variant is for."""
    lengths = tuple((one.name, one.minimum, one.maximum) for _, one in choice.wanted)
    return choice.launch.cluster, choice.launch.grid.cluster, choice.grids, lengths


def _deciding(choice: Choice) -> dict[int, Parameter]:
    """The parameters that determine the launches of a variant."""
    rows = choice.launch.grid.faster_for
    return dict(choice.wanted) | {row.param: choice.launch.params[row.param] for row in rows if row.param is not None}


def _divided_by(clustered: Iterable[NativeLauncher], extent: int) -> NativeLauncher | None:
    """The launcher of an extent along axis 0, or of one that exceeds it by a multiple of the period."""
    return next((one for one in clustered if extent % one.choice.launch.grid.cluster == 0), None)


def _generality(choice: Choice) -> tuple[int, int]:
    """Less for variants of more CTAs, and then of greater lengths."""
    lengths = [*(row.minimum for row in choice.grids), *(param.minimum or 0 for _, param in choice.wanted)]
    return -prod(choice.launch.cluster), -sum(lengths)


def _length_of(array: Any, axis: int) -> int:
    """An extent of an array. Raises AttributeError where only DLPack describes the array: launch stubs read that."""
    shape = getattr(array, "shape", None)
    return (array.__cuda_array_interface__["shape"] if shape is None else shape)[axis]


class OtherThreads(Exception):
    """The first cubin has another number of threads than its kernel."""


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
