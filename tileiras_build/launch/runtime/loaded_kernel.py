"""``LoadedKernel``: a kernel in the driver. It packs the values of its parameters, encodes its tensor maps, and enqueues it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .encode_tensor_maps import resolve
from .launch_config_buffer import LaunchConfigBuffer, LaunchConfigLayout

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Launch
    from .cuda_python_driver import Driver

_MAX_CACHED_MAPS = 256  # sets of tensor maps that a kernel caches


class LoadedKernel:
    """A kernel, its launch buffers that are not in use, and its cached tensor maps by their parameters.

    ``entry`` is its name in errors, ``kernel`` the driver's handle.
    """

    def __init__(self, entry: str, launch: Launch, kernel: int, driver: Driver, device: int):
        self.entry, self.launch, self.kernel, self.driver = entry, launch, kernel, driver
        self.layout = LaunchConfigLayout(launch)
        self.pool: list[LaunchConfigBuffer] = []
        self.sm_count = driver.sm_count(device) if launch.grid.persistent else 0
        self.mapped = _mapped(launch)
        self.maps: dict[tuple, tuple[bytes, ...]] = {}
        self._constant = (launch.threads_per_cta, 1, 1, launch.shared_memory.dynamic)

    def enqueue(
        self, grid: tuple[int, int, int], values: Sequence[Any], handle: int, programmatic: bool = False
    ) -> None:
        """Launch with these values over a grid of tile blocks.

        Raises struct.error or OverflowError for a value that its parameter cannot hold, and InvalidInput[driver].
        """
        pool, blocks = self.pool, grid
        extents: tuple[int, ...] = ()
        if self.launch.grid.persistent:
            blocks, extents = self.launch.blocks(grid, self.sm_count), grid
        block = pool.pop() if pool else self.layout.new()
        self.layout.pack_into(
            block.buffer, block.offset, *blocks, *self._constant, handle, block.attribute, programmatic, *values,
            *extents, *(self.maps_of(values) if self.mapped else ()),
        )  # fmt: skip
        self.driver.launch(self, block)
        pool.append(block)

    def maps_of(self, values: Sequence[Any]) -> tuple[bytes, ...]:
        """The tensor maps for these values, cached."""
        if not self.mapped:
            return ()
        key = tuple([values[index] for index in self.mapped])
        return self.maps.get(key) or self.encode(key, values)

    def encode(self, key: tuple, values: Sequence[Any]) -> tuple[bytes, ...]:
        """Encode the tensor maps, and cache them. Raises InvalidInput[tensor-map]."""
        rows = enumerate(self.launch.tensor_maps)
        made = tuple([self.driver.encode(resolve(self.entry, index, row, values)) for index, row in rows])
        if len(self.maps) >= _MAX_CACHED_MAPS:
            self.maps.clear()
        self.maps[key] = made
        return made


def _mapped(launch: Launch) -> tuple[int, ...]:
    """The parameters that tensor maps depend on."""
    found = set()
    for row in launch.tensor_maps:
        found |= {value.param for value in (row.base, *row.shape, *row.strides) if not isinstance(value, int)}
    return tuple(sorted(found))
