"""Kernel libraries at run time: find the image for the GPU, set it up, launch.

from tileiras_build.runtime import Library

library = Library("build/package/examples")
library["vector_add_f32"].launch((4,), x, y, out, stream=stream)      # arrays of torch, CuPy, JAX, …
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import SupportsInt

from ..cpp_names import readable
from ..errors import InvalidInput, Location
from .arguments import TENSOR_MAP, ArrayView, Number, flatten, pack
from .driver import CudaDriver, Driver, LaunchConfig, stream_handle
from .library_manifest import FILE_NAME, Image, read
from .matching import require
from .tensor_maps import resolve

_MAX_GRID = (2**31 - 1, 65535, 65535)  # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"


class Library(Mapping):
    """A package of kernels; maps each kernel's name to its ``Kernel``. Nothing is loaded before it is launched.

    ``path`` is the package's folder or its manifest. ``driver`` replaces the CUDA driver (tests do). Raises
    InvalidInput where the folder holds no library, or another one than its manifest says.
    """

    def __init__(self, path: str | os.PathLike, driver: Driver | None = None):
        found = Path(path)
        self.path = found / FILE_NAME if found.is_dir() else found
        self.manifest = read(self.path)
        self._image = self.path.parent / self.manifest.image
        self._driver = driver
        self._lock = threading.Lock()
        self._loaded: dict[int, object] = {}
        self._kernels: dict[tuple[int, int, str], SupportsInt] = {}
        self._check_image()

    @property
    def driver(self) -> Driver:
        """The CUDA driver, found when it is first needed."""
        if self._driver is None:
            self._driver = CudaDriver()
        return self._driver

    @property
    def targets(self) -> tuple[str, ...]:
        """The GPUs that there is machine code for: ("sm_80", "sm_90")."""
        return self.manifest.targets

    def __getitem__(self, name: str) -> Kernel:
        if name in self.manifest.kernels:
            return Kernel(self, name)
        # As C++ names it, where one kernel alone is called that.
        symbols = [symbol for symbol in self.manifest.kernels if readable(symbol) == name]
        if len(symbols) != 1:
            raise KeyError(
                f"library {self.manifest.name} has {'no kernel' if not symbols else 'several kernels'} {name}"
            )
        return Kernel(self, symbols[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self.manifest.kernels)

    def __len__(self) -> int:
        return len(self.manifest.kernels)

    def image_bytes(self, image: Image) -> bytes:
        """The bytes of one image, read from the image file."""
        with open(self._image, "rb") as stream:
            stream.seek(image.offset)
            return stream.read(image.size)

    def kernel_on(self, device: int, image: Image, entry: str) -> SupportsInt:
        """The driver's handle of a kernel: loaded once, and its shared memory allowed once per device."""
        driver, key = self.driver, (device, image.offset, entry)
        with self._lock:
            if image.offset not in self._loaded:
                self._loaded[image.offset] = driver.load(self.image_bytes(image))
            if key not in self._kernels:
                kernel = driver.kernel(self._loaded[image.offset], entry)
                driver.allow_shared_memory(kernel, device, image.shared_memory)
                self._kernels[key] = kernel
            return self._kernels[key]

    def close(self) -> None:
        """Unload everything; a later launch loads again. No kernel of the library may be running."""
        with self._lock:
            for loaded in self._loaded.values():
                self.driver.unload(loaded)
            self._loaded.clear()
            self._kernels.clear()

    def _check_image(self) -> None:
        try:
            size = self._image.stat().st_size
        except OSError as error:
            self._refuse(f"the library's image cannot be read: {error.strerror}")
        if size != self.manifest.size:
            self._refuse(f"the library's image has {size} bytes, its manifest says {self.manifest.size}")

    def _refuse(self, message: str):
        remedy = "install the package again"
        raise InvalidInput("library-image", message, location=Location(str(self._image)), remedy=remedy)


class Kernel:
    """One kernel of a library. Instances share what the library has loaded; a launch may come from any thread."""

    def __init__(self, library: Library, name: str):
        self.library, self.name = library, name

    @property
    def images(self) -> tuple[Image, ...]:
        """What there is of the kernel: one image per GPU that it was built for."""
        return self.library.manifest.kernels[self.name]

    def image(self) -> Image:
        """The image for the current GPU; raises Unsupported[no-image] saying which GPUs there are."""
        return require(self.name, self.images, self.library.driver.device()[1])

    def launch(self, grid: int | Sequence[int], *arguments: object, stream: object = None) -> None:
        """Enqueue the kernel on ``stream`` (a stream of any CUDA library, its handle, or None: the default stream).

        ``grid`` counts tile blocks along up to three axes, whether one CTA or a cluster executes each. ``arguments`` are arrays with DLPack or the CUDA array interface,
        and numbers: see ``arguments.py``. Raises InvalidInput, and Unsupported[no-image].
        """
        driver, handle = self.library.driver, stream_handle(stream)
        device, number = driver.device()
        image = require(self.name, self.images, number)
        blocks = check_grid(self.name, grid, image.launch["cluster"])
        numbers = flatten(arguments, lambda array: _on_device(driver.view(array, handle), device))
        params = self._parameters(driver, image, numbers)
        loaded = self.library.kernel_on(device, image, self.name)
        launch = image.launch
        config = LaunchConfig(
            blocks,
            (launch["threads_per_cta"], 1, 1),
            image.shared_memory,
            handle,
        )
        driver.launch(loaded, config, params)

    def _parameters(self, driver: Driver, image: Image, numbers: Sequence[Number]) -> list[bytes]:
        rows = image.launch["params"]
        packed = iter(pack(self.name, [row for row in rows if row["kind"] != TENSOR_MAP], numbers))
        params = [b"" if row["kind"] == TENSOR_MAP else next(packed) for row in rows]
        for index, row in enumerate(image.launch["tensor_maps"]):
            params[row["param"]] = driver.encode(resolve(self.name, index, row, params))
        return params


def _on_device(view: ArrayView, device: int) -> ArrayView:
    if view.device == device:
        return view
    where = "in host memory" if view.device is None else f"on GPU {view.device}"
    message = f"an array is {where}, the kernel runs on GPU {device}"
    raise InvalidInput("launch-device", message, remedy="copy it to that GPU, or make its GPU the current one")


def check_grid(entry: str, grid: int | Sequence[int], cluster: Sequence[int]) -> tuple[int, int, int]:
    """The three numbers of tile blocks, each of which a ``cluster`` of CTAs executes; raises InvalidInput[launch-grid]."""
    given = (grid,) if isinstance(grid, int) else tuple(grid)
    blocks = (*given, 1, 1)[:3]
    most = tuple(limit // size for limit, size in zip(_MAX_GRID, cluster, strict=True))
    if not 1 <= len(given) <= 3 or any(not 1 <= count <= limit for count, limit in zip(blocks, most, strict=True)):
        message = f"kernel {entry} cannot be launched on a grid of {given}"
        raise InvalidInput("launch-grid", message, remedy=f"give one to three positive numbers up to {most}")
    x, y, z = blocks
    return x, y, z
