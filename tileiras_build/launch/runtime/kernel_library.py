"""Kernel libraries at run time: find the image for the GPU, set it up, launch.

from tileiras_build.launch.runtime import Library

library = Library("build/package/examples")
library["vector_add_f32"].launch((4,), x, y, out, stream=stream)      # arrays of torch, CuPy, JAX, …
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, SupportsInt

from ...core.errors import InvalidInput, Location, Unsupported, nearest
from ...core.symbols.itanium_demangler import demangle, symbol_of
from ...manifest.manifest_constants import MAX_TILE_PROGRAMS
from .bind_stub import PackedParameters
from .cuda_driver import CudaDriver, Driver, LaunchConfig, stream_handle
from .encode_tensor_maps import resolve
from .pack_arguments import ArgumentPacker, exception_text
from .python_signature import launcher, signature

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Launch
    from .library_manifest import Image

_MAX_GRID = (2**31 - 1, 65535, 65535)  # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
_MAX_CACHED_MAPS = 256  # sets of tensor maps that a kernel remembers
_MAX_AXES = 8  # of a grid that is shown; one has three
_GRID_ON_EVERY_GPU = 65535  # along every axis
_NO_CLUSTER = (1, 1, 1)  # a cluster of one CTA


class UnknownKernel(KeyError):
    """A name that is not one kernel's, shown with the kernel that was likely meant: who asks whether there is one pays nothing for it."""

    def __init__(self, message: str, name: object, kernels: Iterable[str]):
        super().__init__(message)
        self._name, self._kernels = name, kernels

    def __str__(self) -> str:
        near = nearest(self._name, map(demangle, self._kernels)) if isinstance(self._name, str) else None
        return f"{self.args[0]}; did you mean {near}?" if near else str(self.args[0])

    def __reduce__(self) -> tuple[type[KeyError], tuple[str]]:
        return KeyError, (str(self),)


class Library(Mapping):
    """A package of kernels; maps each kernel's name to its ``Kernel``. Nothing is loaded before it is launched.

    ``path`` is the package's folder or its manifest. ``driver`` replaces the CUDA driver (tests do). Raises
    InvalidInput where the folder holds no library, or another one than its manifest says.
    """

    def __init__(self, path: str | os.PathLike, driver: Driver | None = None):
        from .library_manifest import FILE_NAME, read

        found = Path(path)
        self.path = found / FILE_NAME if found.is_dir() else found
        self.manifest = read(self.path)
        self._image = self.path.parent / self.manifest.image
        self._driver = driver
        self._lock = threading.Lock()
        self._loaded: dict[int, object] = {}
        self._kernels: dict[tuple[int, int, str], SupportsInt] = {}
        self._by_name: dict[str, Kernel] = {}
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
        if not isinstance(name, str):
            what = (
                f"library {self.manifest.name} has no kernel that a {type(name).__name__} names; give its name as text"
            )
            raise UnknownKernel(what, name, ())
        found = self._by_name.get(name)
        return found or self._by_name.setdefault(name, Kernel(self, self._entry(name)))

    def _entry(self, name: str) -> str:
        """The kernel's entry in the manifest, by it, by what C++ calls the kernel, or without the folder, where one alone is called that."""
        if name in self.manifest.kernels:
            return name
        entries = [entry for entry in self.manifest.kernels if name in _names_of(entry)]
        if len(entries) > 1:
            listed = ", ".join(sorted(entries))
            raise UnknownKernel(f"library {self.manifest.name} has several kernels {name}: {listed}", name, ())
        if not entries:
            raise UnknownKernel(f"library {self.manifest.name} has no kernel {name}", name, self.manifest.kernels)
        return entries[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.manifest.kernels)

    def __len__(self) -> int:
        return len(self.manifest.kernels)

    def load_all(self) -> None:
        """Load every kernel that has an image for the current GPU, so that its launches there load nothing, the first one too:
        it may stand in the capture of a graph."""
        for name in self:
            self[name].load()

    def image_bytes(self, image: Image) -> bytes:
        """The bytes of one image, read from the image file; raises InvalidInput[library-image] where they are gone."""
        try:
            with open(self._image, "rb") as stream:
                stream.seek(image.offset)
                found = stream.read(image.size)
        except OSError as error:
            self._refuse(f"the library's image cannot be read: {error.strerror}")
        if len(found) != image.size:
            self._refuse("the library's image ends before its manifest says so")
        return found

    def kernel_on(self, device: int, image: Image, entry: str) -> SupportsInt:
        """The driver's handle of a kernel: loaded once, and its shared memory allowed once per device."""
        driver, key = self.driver, (device, image.offset, entry)
        if (found := self._kernels.get(key)) is not None:
            return found
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

    def _refuse(self, message: str) -> NoReturn:
        remedy = "install the package again"
        raise InvalidInput("library-image", message, location=Location(str(self._image)), remedy=remedy)


def _names_of(entry: str) -> tuple[str, ...]:
    symbol = symbol_of(entry)
    return demangle(entry), symbol, demangle(symbol)


class Kernel:
    """One kernel of a library. ``launch`` has the kernel's own signature: ``inspect.signature``, ``help`` and editors show
    what it takes. ``name`` is its name in the library, ``symbol`` the driver's, ``title`` what people call it."""

    launch: Callable[..., None]

    def __init__(self, library: Library, name: str):
        self.library, self.name, self.title = library, name, demangle(name)
        self.symbol = symbol_of(name)
        self._chosen: dict[int, tuple[Image, ArgumentPacker]] = {}
        self._maps: dict[tuple[int, int, bytes], tuple[bytes, ...]] = {}
        self.launch = launcher(self.title, self.images[0].launch, self._launch)

    def __repr__(self) -> str:
        return f"<kernel {self.title}{signature(self.images[0].launch)}>"

    @property
    def images(self) -> tuple[Image, ...]:
        """Every image of the kernel."""
        return self.library.manifest.kernels[self.name]

    def image(self) -> Image:
        """The image for the current GPU; raises Unsupported[no-image] saying which GPUs there are."""
        return self._image_for(self.library.driver.device()[1])

    def load(self) -> None:
        """Load the kernel for the current GPU, where there is an image for it, as far as a launch would."""
        driver = self.library.driver
        device, number = driver.device()
        try:
            image, _ = self._chosen.get(number) or self._choose(number)
        except Unsupported:
            return
        driver.prepare(self.library.kernel_on(device, image, self.symbol))
        if image.launch.grid.persistent:
            driver.sm_count(device)

    def _image_for(self, number: int) -> Image:
        from .select_image import require_image

        return require_image(self.title, self.images, number)

    def _launch(self, grid: int | Sequence[int], arguments: Sequence[object], stream: object) -> None:
        driver, handle = self.library.driver, stream_handle(stream)
        device, number = driver.device()
        image, plan = self._chosen.get(number) or self._choose(number)
        launch = image.launch
        programs = check_grid(self.title, grid, launch)
        params = plan.bind(arguments, lambda array: driver.view(array, handle), device)
        if launch.tensor_maps or launch.grid.persistent:
            params = self._completed(driver, (device, image), params, programs)
        blocks = launch.blocks(programs, driver.sm_count(device)) if launch.grid.persistent else programs
        loaded = self.library.kernel_on(device, image, self.symbol)
        config = LaunchConfig(blocks, (launch.threads_per_cta, 1, 1), image.shared_memory, handle)
        driver.launch(loaded, config, params)

    def _choose(self, number: int) -> tuple[Image, ArgumentPacker]:
        """The image for GPUs of one compute capability, and its checks."""
        image = self._image_for(number)
        self._chosen[number] = image, ArgumentPacker(self.title, image.launch)
        return self._chosen[number]

    def _completed(
        self, driver: Driver, place: tuple[int, Image], params: PackedParameters, programs: tuple[int, int, int]
    ) -> PackedParameters:
        """The grid's extents, where the kernel asks for them, and tensor maps follow the parameters that a caller passes."""
        maps = self._maps_of(driver, place, params)
        persistent = place[1].launch.grid.persistent
        return (params.with_extents(programs) if persistent else params).with_maps(maps)

    def _maps_of(self, driver: Driver, place: tuple[int, Image], params: PackedParameters) -> tuple[bytes, ...]:
        """The tensor maps that an image on a device is given for the parameters; the same arrays have the same ones there."""
        device, image = place
        key = device, image.offset, params.data
        maps = self._maps.get(key)
        if maps is None:
            rows = enumerate(image.launch.tensor_maps)
            maps = tuple([driver.encode(resolve(self.title, index, row, params)) for index, row in rows])
            if len(self._maps) >= _MAX_CACHED_MAPS:
                self._maps.clear()
            self._maps[key] = maps
        return maps


def check_grid(entry: str, grid: int | Sequence[int], launch: Launch) -> tuple[int, int, int]:
    """The three numbers of tile blocks, each of which a cluster of CTAs executes; raises InvalidInput[launch-grid]."""
    cluster = launch.cluster
    if type(grid) is int and 0 < grid <= _GRID_ON_EVERY_GPU and cluster == _NO_CLUSTER:
        return grid, 1, 1
    try:
        given = tuple(islice(grid, _MAX_AXES)) if isinstance(grid, Iterable) else (grid,)
        # Lengths may be integers of NumPy and others; a number that is none is refused as 0 is.
        blocks = tuple([index(count) if hasattr(count, "__index__") else 0 for count in (*given, 1, 1)[:3]])
    except Exception as error:  # other people's code
        raise InvalidInput(
            "launch-grid", f"kernel {entry} cannot be launched on this grid: {exception_text(error)}"
        ) from None
    most = tuple(limit // size for limit, size in zip(_MAX_GRID, cluster, strict=True))
    if not 1 <= len(given) <= 3 or any(not 1 <= count <= limit for count, limit in zip(blocks, most, strict=True)):
        message = f"kernel {entry} cannot be launched on a grid of {given}"
        raise InvalidInput("launch-grid", message, remedy=f"give one to three positive numbers up to {most}")
    x, y, z = blocks
    if launch.grid.persistent and x * y * z > MAX_TILE_PROGRAMS:
        message = f"kernel {entry} was built persistent and cannot be launched on a grid of {given}"
        raise InvalidInput("launch-grid", message, remedy=f"give a grid of at most {MAX_TILE_PROGRAMS} tile programs")
    return x, y, z
