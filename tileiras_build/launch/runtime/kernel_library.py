"""Kernel libraries at run time: select the image for the GPU, load it, launch its kernels.

from tileiras_build.launch.runtime import Library

library = Library("build/package/examples")
library["vector_add_f32"].launch((4,), x, y, out, stream=stream)      # arrays of torch, CuPy, JAX, …
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ...core.errors import InvalidInput, Location, Unsupported, nearest
from ...core.symbols.itanium_demangler import demangle, symbol_of
from ...manifest.manifest_constants import MAX_GRID_CTAS, MAX_TILE_PROGRAMS
from ...manifest.variant_assumptions import Choice, choices
from .cuda_python_driver import CudaDriver, Driver, stream_handle
from .generate_launch_stub import StubList, package_stub
from .loaded_kernel import LoadedKernel
from .pack_arguments import ArgumentPacker, exception_text
from .python_signature import launcher, signature

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Launch
    from .library_manifest import Image, LibraryManifest

_MAX_AXES = 8  # most axes of an invalid grid that a message shows
_ON_EVERY_AXIS = 65536  # fewer tile blocks are possible along each axis
GPU, CPU = "gpu", "cpu"  # where a library's kernels run
_COMPILER = "tileiras_build"  # has the emulator; the wheel of the runtime has not
_NO_CLUSTER = (1, 1, 1)  # a cluster of one CTA


class UnknownKernel(KeyError):
    """An unknown kernel name. The suggested name is computed only when the error is printed, so that lookups stay cheap."""

    def __init__(self, message: str, name: object, kernels: Iterable[str]):
        super().__init__(message)
        self._name, self._kernels = name, kernels

    def __str__(self) -> str:
        near = nearest(self._name, map(demangle, self._kernels)) if isinstance(self._name, str) else None
        return f"{self.args[0]}; did you mean {near}?" if near else str(self.args[0])

    def __reduce__(self) -> tuple[type[KeyError], tuple[str]]:
        return KeyError, (str(self),)


class Library(Mapping):
    """A package of kernels: a mapping from names to ``Kernel``. Kernels are loaded at their first launch.

    ``path`` is the package's folder or its manifest. ``device="cpu"`` runs launches in the emulator of tileiras-build, on
    arrays in host memory: those of the package's PTX. ``driver`` replaces the CUDA driver (tests do). Raises
    InvalidInput if the folder has no library, or its image does not match its manifest, and Unsupported[no-ptx] if nothing in
    it can be emulated.
    """

    def __init__(self, path: str | os.PathLike, driver: Driver | None = None, *, device: str = GPU):
        from .library_manifest import FILE_NAME, read

        if device not in (GPU, CPU):
            raise InvalidInput("option-value", f"device={device!r}", remedy=f"use {GPU!r} or {CPU!r}")

        found = Path(path)
        self.path = found / FILE_NAME if found.is_dir() else found
        self.manifest = read(self.path)
        self._image = self.path.parent / self.manifest.image
        self._driver = driver
        self._lock = threading.Lock()
        self._loaded: dict[int, object] = {}
        self._kernels: dict[tuple[int, int, str], LoadedKernel] = {}
        self._by_name: dict[str, Kernel] = {}
        self._check_image()
        self._on_cpu = device == CPU
        if self._on_cpu:
            self._driver = cpu_driver(self.manifest)

    @property
    def driver(self) -> Driver:
        """The CUDA driver, loaded on first use."""
        if self._driver is None:
            self._driver = CudaDriver()
        return self._driver

    @property
    def targets(self) -> tuple[str, ...]:
        """The GPUs with cubins in the library: ("sm_80", "sm_90")."""
        return self.manifest.targets

    def __getitem__(self, name: str) -> Kernel:
        if not isinstance(name, str):
            what = f"library {self.manifest.name}: kernel names are str, got {type(name).__name__}"
            raise UnknownKernel(what, name, ())
        found = self._by_name.get(name)
        return found or self._by_name.setdefault(name, Kernel(self, self._entry(name)))

    def _entry(self, name: str) -> str:
        """The kernel's entry in the manifest, by entry, demangled name, or either without its folder if that is unambiguous."""
        if name in self.manifest.kernels:
            return name
        entries = [entry for entry in self.manifest.kernels if name in _names_of(entry)]
        if len(entries) > 1:
            listed = ", ".join(sorted(entries))
            raise UnknownKernel(f"library {self.manifest.name}: ambiguous kernel name {name}: {listed}", name, ())
        if not entries:
            raise UnknownKernel(f"library {self.manifest.name}: no kernel {name}", name, self.manifest.kernels)
        return entries[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.manifest.kernels)

    def __len__(self) -> int:
        return len(self.manifest.kernels)

    def images_of(self, entry: str) -> tuple[Image, ...]:
        """The images of a kernel that this library's device may run; raises Unsupported[no-ptx] if there are none."""
        images = self.manifest.kernels[entry]
        return emulated_images(demangle(entry), images) if self._on_cpu else images

    def load_all(self) -> None:
        """Load every kernel that has an image for the current GPU. Later launches then load nothing, so that they can be
        captured into a CUDA graph."""
        for name in self:
            self[name].load()

    def image_bytes(self, image: Image) -> bytes:
        """The bytes of one image, read from the image file; raises InvalidInput[library-image] if they cannot be read."""
        try:
            with open(self._image, "rb") as stream:
                stream.seek(image.offset)
                found = stream.read(image.size)
        except OSError as error:
            self._refuse(f"cannot read the library image: {error.strerror}")
        if len(found) != image.size:
            self._refuse("library image truncated")
        return found

    def kernel_on(self, device: int, image: Image, entry: str, launch: Launch) -> LoadedKernel:
        """A kernel of an image, loaded once; its shared memory limit is set once per device."""
        driver, key = self.driver, (device, image.offset, entry)
        if (found := self._kernels.get(key)) is not None:
            return found
        with self._lock:
            if image.offset not in self._loaded:
                self._loaded[image.offset] = driver.load(self.image_bytes(image))
            if key not in self._kernels:
                kernel = driver.kernel(self._loaded[image.offset], entry)
                driver.allow_shared_memory(kernel, device, launch.shared_memory.dynamic)
                self._kernels[key] = LoadedKernel(demangle(entry), launch, kernel, driver, device)
            return self._kernels[key]

    def close(self) -> None:
        """Unload all kernels; a later launch loads them again. No kernel of the library may be running."""
        with self._lock:
            for loaded in self._loaded.values():
                self.driver.unload(loaded)
            self._loaded.clear()
            self._kernels.clear()
            for kernel in self._by_name.values():
                kernel.forget()

    def _check_image(self) -> None:
        try:
            size = self._image.stat().st_size
        except OSError as error:
            self._refuse(f"cannot read the library image: {error.strerror}")
        if size != self.manifest.size:
            self._refuse(f"library image size {size} does not match the manifest ({self.manifest.size})")

    def _refuse(self, message: str) -> NoReturn:
        remedy = "reinstall the package"
        raise InvalidInput("library-image", message, location=Location(str(self._image)), remedy=remedy)


def _names_of(entry: str) -> tuple[str, ...]:
    symbol = symbol_of(entry)
    return demangle(entry), symbol, demangle(symbol)


class ChosenImage(NamedTuple):
    """What one GPU runs of a kernel: its image and argument packer, and its variants in order of preference, then the kernel itself."""

    image: Image
    packer: ArgumentPacker
    rows: tuple[Choice, ...]


class Kernel:
    """One kernel of a library. ``launch`` has the kernel's own signature, as ``inspect.signature``, ``help`` and editors show
    it. ``name`` is its name in the library, ``symbol`` its entry point, ``title`` its demangled name, ``described`` the launch
    manifest of one of its images: all have the same arguments."""

    launch: Callable[..., None]

    def __init__(self, library: Library, name: str):
        self.library, self.name, self.title = library, name, demangle(name)
        self.symbol = symbol_of(name)
        self._chosen: dict[int, ChosenImage] = {}
        self._stubs = StubList()
        self.described = library.manifest.kernels[name][0].launch
        self.launch = launcher(self.title, self.described, self._stubs, self._launch)

    def __repr__(self) -> str:
        return f"<kernel {self.title}{signature(self.described)}>"

    @property
    def images(self) -> tuple[Image, ...]:
        """Every image of the kernel that the library's device may run."""
        return self.library.images_of(self.name)

    def image(self) -> Image:
        """The image for the current GPU; raises Unsupported[no-image] with the GPUs that have one."""
        return self._image_for(self.library.driver.device()[1])

    @property
    def constants(self) -> dict[str, bool | int | float]:
        """The constants and hints of the point that was built for the current GPU; empty for a kernel without a ``Tune``."""
        tuning = self.image().launch.tuning
        return {} if tuning is None else dict(tuning.point)

    def load(self) -> None:
        """Load the kernel for the current GPU as a launch would; does nothing if there is no image for it."""
        driver = self.library.driver
        device, number = driver.device()
        try:
            chosen = self._chosen.get(number) or self._choose(number)
        except Unsupported:
            return
        for row in chosen.rows:
            driver.prepare(self.library.kernel_on(device, chosen.image, row.symbol, row.launch).kernel)

    def _image_for(self, number: int) -> Image:
        from .select_image import require_image

        return require_image(self.title, self.images, number)

    def _launch(self, grid: int | Sequence[int], arguments: Sequence[object], stream: object) -> None:
        """A launch with all checks; later ones with arguments of these types go by a stub."""
        driver, handle = self.library.driver, stream_handle(stream)
        device, number = driver.device()
        chosen = self._chosen.get(number) or self._choose(number)
        programs = check_grid(self.title, grid, chosen.image.launch)
        values = chosen.packer.bind(arguments, lambda array: driver.view(array, handle), device)
        place = next(index for index, row in enumerate(chosen.rows) if row.fits(programs, values))
        row, general = chosen.rows[place], chosen.image.launch
        loaded = self.library.kernel_on(device, chosen.image, row.symbol, row.launch)
        loaded.enqueue(programs, values, handle)
        self._stubs.add(
            (device, place, *map(type, arguments)),
            lambda: package_stub(loaded, general, row, arguments, handle, stream_handle, chosen.rows[:place]),
        )

    def forget(self) -> None:
        """Forget loaded kernels: the library unloads them."""
        self._stubs.clear()

    def _choose(self, number: int) -> ChosenImage:
        """What GPUs of one compute capability run."""
        from .select_image import fits_shared_memory

        image = self._image_for(number)
        fitting = {name: one for name, one in image.variants.items() if fits_shared_memory(one, number)}
        rows = choices(self.symbol, image.launch, fitting)
        self._chosen[number] = ChosenImage(image, ArgumentPacker(self.title, image.launch), rows)
        return self._chosen[number]


def cpu_driver(manifest: LibraryManifest) -> Driver:
    """The emulator as a driver, for the newest GPU whose PTX the library has; the compiler's package has it."""
    from .library_manifest import PTX

    found = [image.gpu.number for images in manifest.kernels.values() for image in images if image.kind == PTX]
    if not found:
        raise _no_ptx(f"library {manifest.name}")
    try:
        driver = import_module(f"{_COMPILER}.cutile.devices.library_on_cpu").CpuDriver
    except ModuleNotFoundError as error:
        message = f'device="cpu" needs the emulator of tileiras-build: {error}'
        raise InvalidInput("emulator-missing", message, remedy="pip install tileiras-build") from None
    return driver(max(found))


def emulated_images(title: str, images: Iterable[Image]) -> tuple[Image, ...]:
    """The images with PTX; raises Unsupported[no-ptx]."""
    from .library_manifest import PTX

    found = tuple(image for image in images if image.kind == PTX)
    if not found:
        raise _no_ptx(f"kernel {title}")
    return found


def _no_ptx(what: str) -> Unsupported:
    remedy = "rebuild the package with ptx=80, or another GPU of sm= whose PTX is portable"
    return Unsupported("no-ptx", f"{what} has no PTX, which the emulator runs; it has cubins only", remedy=remedy)


def check_grid(entry: str, grid: int | Sequence[int], launch: Launch) -> tuple[int, int, int]:
    """The three extents of the grid in tile blocks, one cluster of CTAs each; raises InvalidInput[launch-grid]."""
    cluster = launch.cluster
    if cluster == _NO_CLUSTER and launch.grid.cluster == 1 and not launch.grid.persistent:
        x, y, z = (*grid, 1, 1, 1)[:3] if type(grid) is tuple and 1 <= len(grid) <= 3 else (grid, 1, 1)
        if (
            type(x) is type(y) is type(z) is int
            and 0 < x < _ON_EVERY_AXIS
            and 0 < y < _ON_EVERY_AXIS
            and 0 < z < _ON_EVERY_AXIS
        ):
            return x, y, z
    try:
        extents = tuple(islice(grid, _MAX_AXES)) if isinstance(grid, Iterable) else (grid,)
        # NumPy and other integers are accepted; non-integers become 0, which is refused below.
        blocks = tuple([index(count) if hasattr(count, "__index__") else 0 for count in (*extents, 1, 1)[:3]])
    except Exception as error:  # raised by the caller's objects
        raise InvalidInput("launch-grid", f"invalid grid for kernel {entry}: {exception_text(error)}") from None
    most = tuple(limit // size for limit, size in zip(MAX_GRID_CTAS, cluster, strict=True))
    if not 1 <= len(extents) <= 3 or any(not 1 <= count <= limit for count, limit in zip(blocks, most, strict=True)):
        message = f"invalid grid {extents} for kernel {entry}"
        raise InvalidInput("launch-grid", message, remedy=f"use 1 to 3 positive integers up to {most}")
    x, y, z = blocks
    if x % launch.grid.cluster:
        message = f"grid {extents} for kernel {entry}, whose tile blocks form clusters along the first axis"
        raise InvalidInput(
            "launch-grid", message, remedy=f"use a multiple of {launch.grid.cluster} as the first extent"
        )
    if launch.grid.persistent and x * y * z > MAX_TILE_PROGRAMS:
        message = f"grid {extents} is too large for persistent kernel {entry}"
        raise InvalidInput("launch-grid", message, remedy=f"use at most {MAX_TILE_PROGRAMS} tile blocks")
    return x, y, z
