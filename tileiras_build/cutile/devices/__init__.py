"""``Device``: runs kernels on a GPU or in the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...core.errors import InvalidInput, suggest

if TYPE_CHECKING:
    from ...launch.runtime.generate_launch_stub import LaunchStub
    from ...launch.runtime.pack_arguments import ArrayView
    from ...manifest.variant_assumptions import Choice
    from ..compiled_kernel_cache import CompiledKernel
    from ..flatten_arguments import Value
    from .cutile_kernel import CutileKernel


class Device(Protocol):
    """Runs kernels. Every method may be called by several threads at once."""

    target: str
    """The compilation target: "sm_90"."""
    number: int
    """The target as an integer: 90."""
    stop_at: str
    """The artifact that the compiler produces for the device: "cubin" or "ptx"."""

    has_native_launcher: bool
    """Whether cuTile's own C launcher can launch on it (``native_launcher.py``)."""
    has_own_memory: bool
    """Whether it cannot access host memory."""

    def mapping(self, compiled: CompiledKernel) -> CutileKernel:
        """Encodes the tensor maps of a kernel that cuTile's launcher loads."""

    def is_capturing(self, stream: object) -> bool:
        """Whether launches on ``stream`` are captured in a graph."""

    def open(self) -> None:
        """Prepare for launches; may be called again after ``close``."""

    def close(self) -> None:
        """Release resources until the next ``open``."""

    def as_device_arguments(self, names: Sequence[str], arguments: tuple[object, ...]) -> tuple[object, ...]:
        """The arguments, called ``names``, in a form that cuTile's front end accepts: arrays must be in GPU memory. Raises
        InvalidInput[launch-argument].
        """

    def view(self, array: object, stream: object) -> ArrayView:
        """The view of an array for a launch on ``stream``. Raises InvalidInput[launch-argument]."""

    def launch(
        self, compiled: CompiledKernel, grid: Sequence[int], values: Sequence[Value], stream: object, programmatic: bool
    ) -> None:
        """Run a kernel over ``grid`` (blocks along x, y, z); ``values`` is the result of ``flatten``."""

    def make_launch_stub(
        self,
        compiled: CompiledKernel,
        signature: Any,
        arguments: tuple[object, ...],
        choice: Choice,
        others: Sequence[Choice],
    ) -> LaunchStub | None:
        """A fast path for later launches with arguments like these; None if there is none. ``compiled`` is
        ``choice`` of the kernel and its variants, and ``others`` are launched instead where they fit.
        """

    def measure(
        self, launch: Callable[[], None], stream: object, flush: bool, limit: float | None, first: bool
    ) -> float:
        """Microseconds of one launch, which is the ``first`` of its kind or a later one; ``flush`` flushes caches before it. Raises
        TimeoutError after ``limit`` seconds.
        """

    def measure_out_of_process(
        self,
        compiled: CompiledKernel,
        grid: Sequence[int],
        values: Sequence[Value],
        stream: object,
        flush: bool,
        limit: float,
    ) -> float | None:
        """Microseconds of one launch in a process that can be killed; None if that is impossible. Raises TimeoutError after
        ``limit`` seconds, RuntimeError if the launch fails.
        """

    def synchronize(self, stream: object = None) -> None:
        """Wait for the launches on ``stream``; None: for all launches."""


DEVICES = ("gpu", "cpu")


def open_device(kind: str, target: str | None, options: dict[str, Any]) -> Device:
    """The device ``kind``; raises InvalidInput[cutile-device] for an unknown name, target or option."""
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
