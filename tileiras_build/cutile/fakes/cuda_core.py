"""Fakes of what programs use to launch CUDA Tile C++ kernels: classes of ``cuda.core``, functions of ``cuda.bindings``.

    nvcc -tilecubin …        with our tileiras, which writes an image for the emulator (``simulate/emulator/ptx_bundle.py``)
    ObjectCode.from_cubin(image).get_kernel(name), LaunchConfig, launch(stream, config, kernel, *arguments)

Arguments are NumPy scalars, pointers among them, and buffers, as in ``cuda.core``. They point into PyTorch tensors on the
device, or into memory that these functions allocated (``cuda_bindings.py``).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from ...core.errors import InvalidInput
from ...simulate.emulator import ptx_bundle
from ...target.targets import Target
from ..compiled_kernel_cache import CompiledKernel
from ..kernel_fault_report import NamedArray, name_of
from . import cuda_bindings, device_allocations, libcuda, streams

_CONTEXT = 16  # any nonzero handle
_target: Target | None = None


class Device:
    """cuda.core.Device."""

    device_id, name, pci_bus_id = 0, libcuda.NAME, "0000:00:00.0"

    def __init__(self, device_id: object = None):
        assert _target is not None
        self.compute_capability = _Capability(divmod(_target.number, 10))
        self.arch = str(_target.number)

    @classmethod
    def get_all_devices(cls) -> tuple[Device, ...]:
        """A list of the single device."""
        return (cls(),)

    properties = property(lambda self: _Properties(), doc="What the device is like.")
    default_stream = property(lambda self: Stream(), doc="The stream of whoever names none.")
    memory_resource = property(lambda self: MemoryResource(), doc="Where its memory comes from.")

    def set_current(self, context: object = None) -> None:
        """Do nothing: there is one device."""

    def sync(self) -> None:
        """Do nothing: launches are synchronous."""

    def create_stream(self, obj: Any = None, options: object = None) -> Stream:
        """A new stream, or a wrapper of another object's."""
        return Stream(obj.__cuda_stream__()[1] if obj is not None else streams.Stream().number)

    def create_event(self, options: object = None) -> Event:
        """An event that is not recorded."""
        return Event()

    def allocate(self, size: int, stream: object = None) -> Buffer:
        """Allocate memory."""
        return Buffer(device_allocations.allocate(int(size)), int(size))


class _Properties:
    """cuda.core's DeviceProperties: attributes of the driver by their names in lower case."""

    def __getattr__(self, name: str) -> int:
        from cuda.bindings.driver import CUdevice_attribute as attributes

        found = getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name.upper()}", None)
        if name.startswith("_") or found is None:
            raise AttributeError(f"the device has no property {name}")
        return libcuda.attribute(int(found))


class MemoryResource:
    """cuda.core.DeviceMemoryResource."""

    device_id, is_device_accessible, is_host_accessible = 0, True, True

    def __init__(self, device_id: object = None, options: object = None): ...

    def allocate(self, size: int, stream: object = None) -> Buffer:
        """Allocate memory."""
        return Device().allocate(size)

    def deallocate(self, address: Any, size: int, stream: object = None) -> None:
        """Free memory."""
        device_allocations.free(int(address))


class Buffer:
    """cuda.core.Buffer: ``size`` bytes of device memory at ``handle``, which ``close`` frees."""

    device_id, is_device_accessible, is_host_accessible = 0, True, True

    def __init__(self, handle: int, size: int, owner: object = None):
        self.handle, self.size, self.owner = handle, size, owner

    @classmethod
    def from_handle(cls, ptr: Any, size: int, mr: object = None, owner: object = None) -> Buffer:
        """A buffer for memory that another object owns."""
        return cls(int(ptr), size, owner or ptr)

    memory_resource = property(lambda self: MemoryResource(), doc="Where it comes from.")
    is_closed = property(lambda self: self.handle == 0, doc="Whether it was given back.")

    def __int__(self) -> int:
        return self.handle

    def _bytes(self) -> np.ndarray:
        if self.is_closed:
            raise InvalidInput("launch-argument", "a Buffer is closed", remedy="close it after its last use")
        return np.ctypeslib.as_array((ctypes.c_int8 * self.size).from_address(self.handle))

    def __dlpack__(self, **named: Any) -> object:
        return self._bytes().__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._bytes().__dlpack_device__()

    def copy_to(self, dst: Buffer | None = None, *, stream: object = None) -> Buffer:
        """Copy the contents to a buffer of the same size, or to a new one."""
        made = dst if dst is not None else Device().allocate(self.size)
        made.copy_from(self)
        return made

    def copy_from(self, src: Buffer, *, stream: object = None) -> None:
        """Copy the contents of a buffer of the same size. Raises ValueError."""
        if src.size != self.size:
            raise ValueError(f"a buffer of {src.size} bytes cannot be copied to one of {self.size}")
        self._bytes()[:] = src._bytes()

    def fill(self, value: Any, *, stream: object = None) -> None:
        """Fill the buffer with a value of one, two or four bytes."""
        data = bytes([value]) if isinstance(value, int) else bytes(value)
        device_allocations.fill(self.handle, data, self.size // len(data))

    def close(self, stream: object = None) -> None:
        """Free the memory."""
        if self.owner is None:
            device_allocations.free(self.handle)
        self.handle = 0

    def __del__(self) -> None:
        self.close()


class Event:
    """cuda.core.Event."""

    is_done, is_timing_enabled = True, True

    def __init__(self) -> None:
        self._event = streams.Event()
        self.handle = id(self)

    def sync(self) -> None:
        """Do nothing: a recorded event is complete."""

    def close(self) -> None:
        """Do nothing: an event holds no resources."""

    def __sub__(self, other: Event) -> float:
        return other._event.elapsed_time(self._event)


class _Capability(tuple[int, int]):
    """cuda.core's ComputeCapability."""

    major = property(lambda self: self[0])
    minor = property(lambda self: self[1])


class LaunchConfig:
    """cuda.core.LaunchConfig; only the grid is used."""

    def __init__(self, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), **others: object):
        self.grid: tuple[int, ...] = (grid,) if isinstance(grid, int) else tuple(grid)
        self.block = block


class Stream:
    """cuda.core.Stream."""

    def __init__(self, handle: int = 0):
        self.handle = handle

    @classmethod
    def from_handle(cls, handle: int) -> Stream:
        """A wrapper of an existing stream."""
        return cls(int(handle))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    device = property(lambda self: Device(), doc="The one there is.")
    is_nonblocking, priority, is_closed = True, 0, False

    def record(self, event: Event | None = None, options: object = None) -> Event:
        """An event, recorded at the current time."""
        made = event if event is not None else Event()
        made._event.record()
        return made

    def wait(self, event_or_stream: object) -> None:
        """Do nothing: the event is complete."""

    def close(self) -> None:
        """Do nothing: a stream holds no resources."""

    def sync(self) -> None:
        """Do nothing: launches are synchronous."""


class ObjectCode:
    """cuda.core.ObjectCode of an emulator image."""

    def __init__(self, kernels: dict[str, CompiledKernel]):
        self._kernels = kernels

    @classmethod
    def from_cubin(cls, module: bytes | str, **others: object) -> ObjectCode:
        """From the image's bytes, or its file. Raises InvalidInput[emulator-image]."""
        if isinstance(module, str):
            with open(module, "rb") as file:
                module = file.read()
        return cls(_kernels_of(module))

    def get_kernel(self, name: str | bytes) -> CompiledKernel:
        """A kernel by name."""
        return self._kernels[name.decode() if isinstance(name, bytes) else name]


def _kernels_of(data: bytes) -> dict[str, CompiledKernel]:
    """The kernels of an image by name."""
    found = ptx_bundle.unpack(data)
    if found is None:
        message = "the emulator cannot run SASS"
        remedy = "put a `tileiras` symlink to tileiras-build first on PATH and clear cubin caches"
        raise InvalidInput("emulator-image", message, remedy=remedy)
    ptx, manifest = found
    return {entry: CompiledKernel(entry, manifest, ptx, None) for entry in manifest["kernels"]}


def launch(stream: object, config: LaunchConfig, kernel: CompiledKernel, *arguments: Any) -> None:
    """cuda.core.launch. Raises InvalidInput[launch-argument] and KernelFault."""
    from .. import launch_hook

    assert launch_hook.session is not None
    sizes: list[int] = kernel.manifest["kernels"][kernel.entry]["param_sizes"]
    expected = len(kernel.launch.caller_parameters)
    if len(arguments) != expected:
        message = f"kernel {name_of(kernel.entry)} takes {expected} arguments, got {len(arguments)}"
        raise InvalidInput("launch-argument", message)
    params = [_packed(value, size) for value, size in zip(arguments, sizes, strict=False)]
    launch_hook.session.device.launch_packed(kernel, config.grid, params, _pointed_into(params), stream)  # type: ignore[attr-defined]


def _packed(value: Any, size: int) -> bytes:
    """The bytes of an argument."""
    if isinstance(value, (int, bool, Buffer)):
        value = int(value)
        return value.to_bytes(size, "little", signed=value < 0)
    data = np.float64(value).tobytes() if isinstance(value, float) else np.asarray(value).tobytes()
    if len(data) != size:
        message = f"an argument has {len(data)} bytes, its parameter has {size}"
        raise InvalidInput("launch-argument", message, remedy="pass a NumPy scalar of the parameter's type")
    return data


def _pointed_into(params: Sequence[bytes]) -> list[NamedArray]:
    """The device memory that arguments point into, including tensors, named by the position of the argument."""
    found = []
    tensors = device_allocations.holders()
    for index, data in enumerate(params):
        address = int.from_bytes(data, "little") if len(data) == 8 else 0
        holder = next((one for one in tensors if one.base <= address < one.base + one.size), None)
        if holder is not None:
            found.append(NamedArray(f"argument {index}", holder))
    return found


# -- cuda.bindings.driver ------------------------------------------------------------------------------
def _answers(module: ModuleType) -> dict[str, Callable[..., tuple[Any, ...]]]:
    success, invalid = module.CUresult.CUDA_SUCCESS, module.CUresult.CUDA_ERROR_INVALID_IMAGE

    def load(data: bytes) -> tuple[Any, ...]:
        found = ptx_bundle.unpack(data)
        return (invalid, None) if found is None else (success, list(found[1]["kernels"]))

    return cuda_bindings.of_driver(module) | {
        "cuCtxGetCurrent": lambda: (success, _CONTEXT),
        "cuModuleLoadData": load,
        "cuModuleGetFunctionCount": lambda module: (success, len(module)),
        "cuModuleEnumerateFunctions": lambda count, module: (success, module[:count]),
        "cuFuncGetName": lambda function: (success, function.encode()),
        **{name: partial(_refuse, name) for name in _LAUNCHES},
    }


# How programs launch kernels that they compile from CUDA C++, by NVRTC for example.
_LAUNCHES = ("cuModuleGetFunction", "cuLibraryGetKernel", "cuLaunchKernel", "cuLaunchKernelEx")


def _refuse(name: str, *_: object, **__: object) -> NoReturn:
    remedy = "launch kernels of cuTile by ct.launch, and of CUDA Tile C++ by cuda.core, or run on a GPU"
    raise InvalidInput("cuda-driver-unsupported", f"{name} of cuda.bindings.driver needs a GPU", remedy=remedy)


class _FakeModule:
    """Replaces attributes of a module, and restores them."""

    def __init__(self, name: str, attributes: Callable[[ModuleType], dict[str, Any]]):
        self._name, self._attributes = name, attributes
        self._own: dict[str, Any] = {}

    def install(self, target: Target, module: ModuleType) -> None:
        """Replace the module's attributes."""
        global _target
        _target = target
        ours = self._attributes(module)
        self._own = self._own or {name: getattr(module, name) for name in ours}
        vars(module).update(ours)

    def remove(self) -> None:
        """Restore the module's attributes."""
        if (module := sys.modules.get(self._name)) is not None:
            vars(module).update(self._own)
        self._own = {}


_CLASSES = {one.__name__: one for one in (Buffer, Device, Event, LaunchConfig, Stream, ObjectCode)} | {
    "launch": launch, "MemoryResource": MemoryResource, "DeviceMemoryResource": MemoryResource,
}  # fmt: skip
FAKE_MODULES = {
    "cuda.core": _FakeModule("cuda.core", lambda module: _CLASSES),
    "cuda.bindings.driver": _FakeModule("cuda.bindings.driver", _answers),
    "cuda.bindings.runtime": _FakeModule("cuda.bindings.runtime", cuda_bindings.of_runtime),
}
