"""Stand-ins for what programs launch kernels of CUDA Tile C++ with: classes of ``cuda.core``, functions of ``cuda.bindings``.

    nvcc -tilecubin …        with our tileiras, which under the emulator leaves an image for it (``emulator/image.py``)
    ObjectCode.from_cubin(image).get_kernel(name), LaunchConfig, launch(stream, config, kernel, *arguments)

Arguments are numbers of NumPy, pointers among them, as ``cuda.core`` takes them: the arrays that they point into are those of
PyTorch's tensors on the device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ...emulator import image
from ...errors import InvalidInput
from ...targets import Target
from ..compiled import Compiled
from ..reports import NamedArray, name_of
from . import arrays

_CONTEXT = 16  # any handle but 0
_target: Target | None = None


class Device:
    """cuda.core.Device."""

    device_id = 0

    def __init__(self, device_id: object = None):
        assert _target is not None
        self.compute_capability = _Capability(divmod(_target.number, 10))

    def set_current(self, context: object = None) -> None:
        """There is one."""

    def sync(self) -> None:
        """Launches are over when they return."""


class _Capability(tuple[int, int]):
    """cuda.core's ComputeCapability."""

    major = property(lambda self: self[0])
    minor = property(lambda self: self[1])


class LaunchConfig:
    """cuda.core.LaunchConfig, of which tiles need the grid."""

    def __init__(self, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), **others: object):
        self.grid: tuple[int, ...] = (grid,) if isinstance(grid, int) else tuple(grid)
        self.block = block


class Stream:
    """cuda.core.Stream."""

    def __init__(self, handle: int = 0):
        self.handle = handle

    @classmethod
    def from_handle(cls, handle: int) -> Stream:
        """A stream of somebody's."""
        return cls(int(handle))

    def sync(self) -> None:
        """Launches are over when they return."""


class ObjectCode:
    """cuda.core.ObjectCode of an image for the emulator."""

    def __init__(self, kernels: dict[str, Compiled]):
        self._kernels = kernels

    @classmethod
    def from_cubin(cls, module: bytes | str, **others: object) -> ObjectCode:
        """Of the image's bytes, or of its file. Raises InvalidInput[emulator-image]."""
        if isinstance(module, str):
            with open(module, "rb") as file:
                module = file.read()
        return cls(_kernels_of(module))

    def get_kernel(self, name: str | bytes) -> Compiled:
        """A kernel by its name."""
        return self._kernels[name.decode() if isinstance(name, bytes) else name]


def _kernels_of(data: bytes) -> dict[str, Compiled]:
    """The kernels of an image by their names."""
    found = image.unpack(data)
    if found is None:
        message = "a cubin of machine code cannot run in the emulator"
        remedy = (
            "let a link named tileiras to tileiras-build be first on PATH when it is made, and remove caches of cubins"
        )
        raise InvalidInput("emulator-image", message, remedy=remedy)
    ptx, manifest = found
    return {entry: Compiled(entry, manifest, ptx, None) for entry in manifest["kernels"]}


def launch(stream: object, config: LaunchConfig, kernel: Compiled, *arguments: Any) -> None:
    """cuda.core.launch. Raises InvalidInput[launch-argument] and KernelFault."""
    from .. import launching

    assert launching.session is not None
    sizes: list[int] = kernel.manifest["kernels"][kernel.entry]["param_sizes"]
    expected = len(kernel.launch.ordinary)
    if len(arguments) != expected:
        message = f"kernel {name_of(kernel.entry)} takes {expected} arguments, and {len(arguments)} were given"
        raise InvalidInput("launch-argument", message)
    params = [_packed(value, size) for value, size in zip(arguments, sizes, strict=False)]
    launching.session.device.launch_packed(kernel, config.grid, params, _pointed_into(params), stream)  # type: ignore[attr-defined]


def _packed(value: Any, size: int) -> bytes:
    """The bytes of an argument: those of a number of NumPy as they are."""
    if isinstance(value, (int, bool)):
        return int(value).to_bytes(size, "little", signed=value < 0)
    data = np.float64(value).tobytes() if isinstance(value, float) else np.asarray(value).tobytes()
    if len(data) != size:
        message = f"an argument of {len(data)} bytes was given for a parameter of {size}"
        raise InvalidInput("launch-argument", message, remedy="pass a number of NumPy of the parameter's type")
    return data


def _pointed_into(params: Sequence[bytes]) -> list[NamedArray]:
    """The tensors on the device that arguments point into, named by their places among the arguments."""
    found = []
    tensors = _tensors()
    for index, data in enumerate(params):
        address = int.from_bytes(data, "little") if len(data) == 8 else 0
        holder = next((one for one in tensors if one.base <= address < one.base + one.size), None)
        if holder is not None:
            found.append(NamedArray(f"argument {index}", holder))
    return found


def _tensors() -> list[arrays.Description]:
    if "torch" not in sys.modules:
        return []
    from .torch_tensors import living

    return [arrays.describe(tensor) for tensor in living()]


# -- cuda.bindings.driver ------------------------------------------------------------------------------
def _answers(driver: ModuleType) -> dict[str, Callable[..., tuple[Any, ...]]]:
    success, invalid = driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_INVALID_IMAGE

    def load(data: bytes) -> tuple[Any, ...]:
        found = image.unpack(data)
        return (invalid, None) if found is None else (success, list(found[1]["kernels"]))

    return {
        "cuCtxGetCurrent": lambda: (success, _CONTEXT),
        "cuModuleLoadData": load,
        "cuModuleGetFunctionCount": lambda module: (success, len(module)),
        "cuModuleEnumerateFunctions": lambda count, module: (success, module[:count]),
        "cuFuncGetName": lambda function: (success, function.encode()),
    }


class _StandIn:
    """Takes the place of attributes of a module, and gives it them back."""

    def __init__(self, name: str, attributes: Callable[[ModuleType], dict[str, Any]]):
        self._name, self._attributes = name, attributes
        self._own: dict[str, Any] = {}

    def install(self, target: Target, module: ModuleType) -> None:
        """From now on the module's attributes are ours."""
        global _target
        _target = target
        ours = self._attributes(module)
        self._own = self._own or {name: getattr(module, name) for name in ours}
        vars(module).update(ours)

    def remove(self) -> None:
        """They are the module's own."""
        if (module := sys.modules.get(self._name)) is not None:
            vars(module).update(self._own)
        self._own = {}


_CLASSES = {one.__name__: one for one in (Device, LaunchConfig, Stream, ObjectCode)} | {"launch": launch}
STAND_INS = {
    "cuda.core": _StandIn("cuda.core", lambda module: _CLASSES),
    "cuda.bindings.driver": _StandIn("cuda.bindings.driver", _answers),
}
