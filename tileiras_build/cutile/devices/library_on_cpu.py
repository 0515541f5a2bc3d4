"""The CUDA driver of ``Library(path, device="cpu")``: launches run in the PTX emulator, on arrays of this process.

In: the PTX of a package's images, and packed parameters. Out: the arrays, written when ``launch`` returns. A package has PTX
for one GPU at most; its cubins are machine code, which nothing here runs.
"""

from __future__ import annotations

import re
import struct
import threading
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from ...core.errors import InvalidInput
from ...launch.runtime.encode_tensor_maps import SIZE, TensorMap
from ...launch.runtime.launch_config_buffer import LaunchConfigBuffer
from ...launch.runtime.loaded_kernel import LoadedKernel
from ...launch.runtime.pack_arguments import ArrayView
from ...manifest.launch_manifest import Launch
from ...simulate import emulator
from ...target.gpu_models import gpu_model
from ...target.targets import find_target
from ..fakes import array_info
from .emulator_device import view_of

_FIRST = b".version"  # the first directive of PTX
_TEXT = re.compile(rb"[\t\n\r\x20-\xff]+")  # PTX in a fat binary, up to the zero byte


@dataclass(frozen=True)
class EmulatedKernel:
    """A kernel of PTX text, and its launch manifest, which is the library's: fat binaries keep no comments."""

    ptx: str
    entry: str
    launch: Launch | None = None

    def with_manifest(self, launch: Launch) -> EmulatedKernel:
        """The kernel with its launch manifest."""
        return replace(self, launch=launch)

    @property
    def manifest(self) -> dict[str, Any]:
        """What the emulator takes from a manifest."""
        return {"kernels": {self.entry: msgspec.to_builtins(self.launch)}}


class CpuDriver:
    """Implements ``launch.runtime``'s ``Driver`` for a GPU of compute capability ``number``."""

    home_of = launch_function = None  # no stubs: ``view`` maps the arrays of a launch

    def current_device(self) -> int:
        """GPU 0."""
        return 0

    def __init__(self, number: int):
        self.number, self._arrays = number, threading.local()
        self._kernels: list[EmulatedKernel] = []

    def device(self) -> tuple[int, int]:
        """GPU 0, whose launch begins."""
        self._arrays.seen = []
        return 0, self.number

    def sm_count(self, device: int) -> int:
        """The SMs of the target's default GPU."""
        return gpu_model(find_target(f"sm_{self.number}")).sm_count

    def load(self, image: bytes) -> object:
        """The PTX text of a fat binary."""
        start = image.find(_FIRST)
        found = _TEXT.match(image, max(start, 0))
        if start < 0 or found is None:
            raise InvalidInput("library-image", "no PTX in an image of the library", remedy="reinstall the package")
        return found[0].decode()

    def unload(self, library: object) -> None:
        """Nothing: texts have no handles."""

    def kernel(self, library: object, entry: str) -> int:
        """The place of a kernel of the text."""
        self._kernels.append(EmulatedKernel(str(library), entry))
        return len(self._kernels) - 1

    def allow_shared_memory(self, kernel: object, device: int, size: int) -> None:
        """Nothing: every size that fits the GPU is allowed."""

    def prepare(self, kernel: object) -> None:
        """Nothing: the first launch parses the text."""

    def encode(self, tensor_map: TensorMap) -> bytes:
        """A placeholder: the emulator encodes the maps of a launch from its manifest."""
        return bytes(SIZE)

    def view(self, array: object, stream: int) -> ArrayView:
        """An array in this process, as if it were in the GPU's memory."""
        found = array_info.describe(array)
        self._arrays.seen.append(found)
        return view_of(found)

    def launch(self, kernel: LoadedKernel, block: LaunchConfigBuffer) -> None:
        """Run the kernel. Raises EmulatorFault where the GPU would fault."""
        memory = emulator.Memory()
        for one in self._arrays.seen:
            memory.map(one.base, one.size, one.owner)
        grid, params = kernel.layout.read(block)
        own = len(kernel.launch.caller_parameters)
        if kernel.launch.grid.persistent:
            x, y, z = (struct.unpack("<i", params[own + axis])[0] for axis in range(3))
            grid = x, y, z
        emulated = self._kernels[kernel.kernel].with_manifest(kernel.launch)
        emulator.launch(emulated, emulated.entry, grid, params[:own], memory=memory)
