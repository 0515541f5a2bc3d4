"""Time launches on this machine's GPU, between two events on the default stream, each after a flush of the L2 cache.

Arrays of problems are filled here: floats with small values, integers with 0. Those of ``inputs`` have their own contents.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np

from ..core.errors import InvalidInput
from ..core.user_tmp import user_tmp_root
from ..cutile.devices.stream_driver import StreamDriver
from ..driver import Artifacts
from ..launch.runtime.kernel_library import check_grid
from ..launch.runtime.loaded_kernel import LoadedKernel
from ..manifest.launch_manifest import Launch, read_launch_manifest
from ..simulate.estimate.problem_size import launched_kernel
from ..target.targets import find_target
from ..verify.estimate_settings import settings_of
from .problem_launches import ProblemLaunch
from .tune_kernels import GPU, tune_kernels

_RUNS = 9  # timed launches, of which the median counts; one before them warms up
_STREAM = 0
_FLOATS, _FILL = (
    "fV",
    0x3C,
)  # kinds of floats (V: those of ml_dtypes); the byte makes 1.06 of f16 and 0.011 of f32 and bf16


def tuned_file(
    path: str, target: str, name: str, options: Mapping[str, Any], root: str, output: str
) -> dict[str, bytes]:
    """The step of ``scons tune tune_by=gpu`` for one kernel: the file ``output``, a list of at most one result."""
    return {output: json.dumps(tune_on_gpu(path, target, [name], options, root), indent=1).encode()}


def tune_on_gpu(
    path: str, target: str, names: Sequence[str] | None, options: Mapping[str, Any], root: str | None = None
) -> list[dict[str, Any]]:
    """As ``tune_kernels``, timed on this machine's GPU. Raises what it and ``GpuTimer`` raise."""
    timer = GpuTimer(target)
    return tune_kernels(path, target, names, options, root, by=GPU, time=timer.microseconds)


@contextmanager
def _gpu_to_itself() -> Iterator[None]:
    """Other processes of this user that time kernels wait: kernels that run side by side slow each other down."""
    with open(user_tmp_root() / "gpu.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class GpuTimer:
    """The current GPU. Raises InvalidInput[tune-gpu] where it is no ``target``, and [driver-missing] without a driver."""

    def __init__(self, target: str):
        self.driver = StreamDriver()
        self.device, number = self.driver.device()
        if find_target(f"sm_{number}").generation != find_target(target).generation:
            remedy = f"use --sm {number}, or rank by the model without --gpu"
            raise InvalidInput("tune-gpu", f"this machine's GPU is sm_{number}, not {target}", remedy=remedy)
        size = self.driver.attribute("CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE", self.device)
        self._flushed = int(self.driver.call("cuMemAlloc", max(size, 1024))), max(size, 1024)

    def microseconds(self, made: Artifacts, name: str, launch: ProblemLaunch) -> float:
        """The median of a few launches, of the kernel or the variant that launchers take. Raises InvalidInput[driver]."""
        assert made.cubin is not None
        kernels = read_launch_manifest(made.manifest).kernels
        settings = settings_of(kernels[name], launch.values)
        if settings is None:
            raise InvalidInput("tune-none", f"{name}: tuning takes arrays and scalars only")
        entry = launched_kernel(kernels, name, settings, launch.grid)
        with self._loaded(made.cubin, entry, kernels[entry]) as loaded, self._arguments(launch) as values:
            grid = check_grid(entry, launch.grid, kernels[entry])
            with _gpu_to_itself():
                times = [self._time(loaded, grid, values) for _ in range(_RUNS + 1)]
        return float(median(times[1:]))

    def _time(self, loaded: LoadedKernel, grid: tuple[int, int, int], values: list[Any]) -> float:
        call = self.driver.call
        start, end = call("cuEventCreate", 0), call("cuEventCreate", 0)
        try:
            call("cuMemsetD8Async", self._flushed[0], 0x5A, self._flushed[1], _STREAM)
            call("cuEventRecord", start, _STREAM)
            loaded.enqueue(grid, values, _STREAM)
            call("cuEventRecord", end, _STREAM)
            call("cuEventSynchronize", end)
            return 1e3 * float(call("cuEventElapsedTime", start, end))
        finally:
            for event in (start, end):
                call("cuEventDestroy", event)

    @contextmanager
    def _loaded(self, cubin: bytes, entry: str, launch: Launch) -> Iterator[LoadedKernel]:
        library = self.driver.load(cubin)
        try:
            kernel = self.driver.kernel(library, entry)
            self.driver.allow_shared_memory(kernel, self.device, launch.shared_memory.dynamic)
            yield LoadedKernel(entry, launch, kernel, self.driver, self.device)
        finally:
            self.driver.unload(library)

    @contextmanager
    def _arguments(self, launch: ProblemLaunch) -> Iterator[list[Any]]:
        """The values of the parameters, with arrays in memory of the GPU."""
        addresses: list[int] = []
        try:
            values: list[Any] = []
            for value in launch.values.values():
                if not isinstance(value, np.ndarray) or not value.ndim:
                    values.append(np.asarray(value).item())
                    continue
                addresses.append(self._place(value, launch.has_contents))
                values += [addresses[-1], *value.shape, *(stride // value.itemsize for stride in value.strides)]
            yield values
        finally:
            for address in addresses:
                self.driver.call("cuMemFree", address)

    def _place(self, array: np.ndarray, has_contents: bool) -> int:
        """The address of an array like this one; its strides are not negative."""
        span = array.itemsize + sum((n - 1) * stride for n, stride in zip(array.shape, array.strides))
        address = int(self.driver.call("cuMemAlloc", max(span, 16)))
        if has_contents:
            self.driver.call("cuMemcpyHtoD", address, array.ctypes.data, span)
        else:
            fill = _FILL if array.dtype.kind in _FLOATS else 0
            self.driver.call("cuMemsetD8Async", address, fill, span, _STREAM)
        return address
