"""What runs kernels: ``Device``, and the two that there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...core.errors import InvalidInput, suggest

if TYPE_CHECKING:
    from ...launch.runtime.pack_arguments import ArrayView
    from ..compiled_kernel_cache import CompiledKernel
    from ..flatten_arguments import Value
    from .loaded_kernel import LoadedKernel

# One launch (grid, arguments, stream, programmatic) of arguments like those that it was made for; False: they are others.
LaunchStub = Callable[[object, tuple[object, ...], object, bool], bool]


class Device(Protocol):
    """Where kernels run. Every method may be called by several threads at once."""

    target: str
    """What kernels are compiled for: "sm_90"."""
    number: int
    """The same as a number: 90."""
    stop_at: str
    """The last artifact that the device needs of the compiler: "cubin" or "ptx"."""

    has_native_launcher: bool
    """Whether cuTile's own launcher, which is C code, can launch on it (``native.py``)."""
    has_own_memory: bool
    """Whether arrays in the computer's own memory are out of its reach."""

    def mapping(self, compiled: CompiledKernel) -> LoadedKernel:
        """What encodes the tensor maps of a kernel that cuTile's launcher loads."""

    def is_capturing(self, stream: object) -> bool:
        """Whether launches on ``stream`` go into a graph."""

    def open(self) -> None:
        """Kernels come from now on; called once more after ``close``."""

    def close(self) -> None:
        """No kernels come for now."""

    def as_device_arguments(self, names: Sequence[str], arguments: tuple[object, ...]) -> tuple[object, ...]:
        """The arguments, called ``names``, as cuTile's front end is to see them: it takes arrays in GPU memory only. Raises
        InvalidInput[launch-argument]."""

    def view(self, array: object, stream: object) -> ArrayView:
        """Look into an array that will be used on ``stream``. Raises InvalidInput[launch-argument]."""

    def launch(
        self, compiled: CompiledKernel, grid: Sequence[int], values: Sequence[Value], stream: object, programmatic: bool
    ) -> None:
        """Run a kernel over ``grid`` (blocks along x, y, z); ``values`` has what ``arguments.flatten`` gives."""

    def make_launch_stub(
        self, compiled: CompiledKernel, signature: Any, arguments: tuple[object, ...]
    ) -> LaunchStub | None:
        """A short way for later launches with arguments like these; None where there is none."""

    def measure(
        self, launch: Callable[[], None], stream: object, flush: bool, limit: float | None, first: bool
    ) -> float:
        """Microseconds of one launch, the ``first`` of its kind or a later one; ``flush`` empties caches before it. Raises
        TimeoutError after ``limit`` seconds."""

    def measure_out_of_process(
        self,
        compiled: CompiledKernel,
        grid: Sequence[int],
        values: Sequence[Value],
        stream: object,
        flush: bool,
        limit: float,
    ) -> float | None:
        """Microseconds of one launch where it can be stopped; None where there is no such place. Raises TimeoutError after
        ``limit`` seconds, RuntimeError where the launch fails."""

    def synchronize(self, stream: object = None) -> None:
        """Wait for what was launched on ``stream``; None: for everything."""


DEVICES = ("gpu", "cpu")


def open_device(kind: str, target: str | None, options: dict[str, Any]) -> Device:
    """The device called ``kind``; raises InvalidInput[cutile-device] where there is none of that name, for that target, or
    with these options."""
    if kind == "gpu":
        from .gpu import GpuDevice

        if options:
            message = f"option {next(iter(options))!r} is for the CPU device only"
            raise InvalidInput("cutile-device", message, remedy="drop it, or use device='cpu'")
        return GpuDevice(target)
    if kind == "cpu":
        from .emulator_device import CpuDevice

        return CpuDevice(target, **options)
    raise InvalidInput("cutile-device", f"unknown device {kind!r}", remedy=suggest(str(kind), DEVICES))
