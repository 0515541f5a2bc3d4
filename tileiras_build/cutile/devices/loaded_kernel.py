"""``LoadedKernel``: a kernel in the driver, which enqueues it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...launch.runtime.encode_tensor_maps import resolve
from ...target.targets import find_target
from .launch_config_buffer import LaunchConfigBuffer, LaunchConfigLayout

if TYPE_CHECKING:
    from ..compiled_kernel_cache import CompiledKernel
    from .stream_driver import StreamDriver

_MAX_CACHED_MAPS = 256  # sets of tensor maps that a kernel caches
_LAUNCH, _LAUNCH_SINCE = "cuLaunchKernelEx", 12000
_LAUNCH_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def launch_function(driver: StreamDriver) -> Callable[..., int]:
    """The driver function itself: (configuration, kernel, addresses of the parameters, None) -> status."""
    return _LAUNCH_TYPE(driver.address_of(_LAUNCH, _LAUNCH_SINCE))


class LoadedKernel:
    """A kernel, its launch buffers that are not in use, and its cached tensor maps by their parameters."""

    def __init__(
        self, compiled: CompiledKernel, kernel: int, target: str, driver: StreamDriver, call: Callable[..., int]
    ):
        self.compiled, self.kernel, self.call = compiled, kernel, call
        self._driver = driver
        self.layout = LaunchConfigLayout(compiled.entry, compiled.launch)
        self.pool: list[LaunchConfigBuffer] = []
        self.may_be_programmatic = find_target(target).has("griddepcontrol")
        self.sm_count = driver.sm_count(driver.device()[0]) if compiled.launch.grid.persistent else 0
        self.mapped = _mapped(compiled)
        self.maps: dict[tuple, tuple[bytes, ...]] = {}

    def enqueue(self, grid: tuple[int, int, int], values: Sequence[object], handle: int, programmatic: bool) -> None:
        """Launch with these parameters over a grid of tile blocks; raises InvalidInput[driver]."""
        block = self.block()
        launch = self.compiled.launch
        blocks, extents = launch.blocks(grid, self.sm_count), grid if launch.grid.persistent else ()
        self.layout.pack_into(
            block.buffer, block.offset, *blocks, launch.threads_per_cta, 1, 1, launch.shared_memory.dynamic, handle,
            block.attribute, programmatic and self.may_be_programmatic, *values, *extents,
            *self.maps_of(values),
        )  # fmt: skip
        status = self.call(block.address, self.kernel, block.pointers, None)
        self.pool.append(block)
        if status:
            self.failed(status)

    def allow_shared_memory(self, kernel: int) -> None:
        """Allow ``kernel``, a handle of this kernel, its dynamic shared memory on every GPU. Raises InvalidInput[driver]."""
        for device in range(self._driver.device_count()):
            self._driver.allow_shared_memory(kernel, device, self.compiled.launch.shared_memory.dynamic)

    def block(self) -> LaunchConfigBuffer:
        """A launch buffer that is not in use."""
        try:
            return self.pool.pop()
        except IndexError:
            return self.layout.new()

    def failed(self, status: int) -> None:
        """Raise the driver's error."""
        self._driver.check(f"{_LAUNCH} of {self.compiled.entry}", status)

    def maps_of(self, values: Sequence[object]) -> tuple[bytes, ...]:
        """The tensor maps for these parameters, cached."""
        if not self.mapped:
            return ()
        key = tuple(values[index] for index in self.mapped)
        return self.maps.get(key) or self.encode(key, values)

    def encode(self, key: tuple, values: Sequence[object]) -> tuple[bytes, ...]:
        """Encode the tensor maps, and cache them. Raises InvalidInput[tensor-map]."""
        entry, packed = self.compiled.entry, self.layout.pack(values)
        rows = enumerate(self.compiled.launch.tensor_maps)
        made = tuple(self._driver.encode(resolve(entry, index, row, packed)) for index, row in rows)
        if len(self.maps) >= _MAX_CACHED_MAPS:
            self.maps.clear()
        self.maps[key] = made
        return made


def _mapped(compiled: CompiledKernel) -> tuple[int, ...]:
    """The parameters that tensor maps depend on."""
    found = set()
    for row in compiled.launch.tensor_maps:
        found |= {value.param for value in (row.base, *row.shape, *row.strides) if not isinstance(value, int)}
    return tuple(sorted(found))
