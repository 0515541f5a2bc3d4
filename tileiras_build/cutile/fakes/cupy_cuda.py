"""The fake ``cupy.cuda``: one device, its memory (of the process) and its streams."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...target.targets import Target
from . import libcuda, streams

_ALIGNMENT = 512  # bytes, of CuPy's allocations


def _target() -> Target:
    return libcuda.current_target()


class MemoryPointer:
    """cupy.cuda.MemoryPointer: an address in ``mem``, which it keeps alive."""

    device_id = 0

    def __init__(self, mem: Any, offset: int = 0):
        self.mem, self.ptr = mem, mem.ptr + offset

    @property
    def device(self) -> Device:
        """The single device."""
        return Device()

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


class Memory:
    """cupy.cuda.Memory: ``size`` bytes at ``ptr``; without an ``owner`` they are allocated."""

    device_id = 0

    def __init__(self, size: int, ptr: int | None = None, owner: object = None):
        self.size = size
        self._owner = owner if ptr is not None else ctypes.create_string_buffer(size + _ALIGNMENT)
        self.ptr = ptr if ptr is not None else -(-ctypes.addressof(self._owner) // _ALIGNMENT) * _ALIGNMENT  # type: ignore[arg-type]


def _unowned(ptr: int, size: int, owner: object, device_id: int = 0) -> Memory:
    return Memory(size, ptr, owner)


class MemoryPool:
    """cupy.cuda.MemoryPool: it holds no free blocks, as Python frees memory."""

    def __init__(self, allocator: object = None):
        self._limit = 0

    def malloc(self, size: int) -> MemoryPointer:
        """Allocate memory."""
        return MemoryPointer(Memory(size))

    def free_all_blocks(self, stream: object = None) -> None:
        """Do nothing: there are no free blocks."""

    free_all_free = free_all_blocks

    def n_free_blocks(self) -> int:
        """The number of free blocks."""
        return 0

    used_bytes = free_bytes = total_bytes = n_free_blocks

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Store a limit, which is not enforced."""
        self._limit = int(size if size is not None else (fraction or 0) * libcuda.MEMORY)

    def get_limit(self) -> int:
        """The limit in bytes, 0 without one."""
        return self._limit


class Device:
    """cupy.cuda.Device."""

    def __init__(self, device: Any = 0):
        self.id = int(device if device is not None else 0)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    compute_capability = property(lambda self: str(_target().number), doc='"90" of 9.0')
    pci_bus_id = "0000:00:00.0"
    mem_info = property(lambda self: (libcuda.MEMORY, libcuda.MEMORY), doc="Free bytes and all.")

    @property
    def attributes(self) -> dict[str, int]:
        """The device's attributes by the runtime's names."""
        properties = _properties()
        return {f"{name[0].upper()}{name[1:]}": value for name, value in properties.items() if isinstance(value, int)} | {
            "ComputeCapabilityMajor": properties["major"], "ComputeCapabilityMinor": properties["minor"],
            "MaxSharedMemoryPerBlockOptin": properties["sharedMemPerBlockOptin"],
        }  # fmt: skip

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def use(self) -> None:
        """Do nothing: there is one device."""


class Stream(streams.Stream):
    """cupy.cuda.Stream."""

    null: Stream

    def use(self) -> Stream:
        """Make it this thread's current stream."""
        self.__enter__()
        return self


def _properties(device: int = 0) -> dict[str, Any]:
    major, minor = divmod(_target().number, 10)
    return {
        "name": libcuda.NAME.encode(), "multiProcessorCount": libcuda.SM_COUNT, "major": major, "minor": minor, "warpSize": 32,
        "totalGlobalMem": libcuda.MEMORY, "sharedMemPerBlock": 48 << 10, "sharedMemPerBlockOptin": _target().max_shared_memory,
        "maxThreadsPerBlock": 1024,
    }  # fmt: skip


def _pinned(size: int) -> Any:
    return memoryview(bytearray(size))


def cuda_modules(module: Callable[..., ModuleType]) -> dict[str, ModuleType]:
    """The modules by name; ``module`` creates one from its name, its base module and its own contents."""
    nothing, does = ModuleType("nothing"), lambda value: lambda *args, **kwargs: value
    memory = does((libcuda.MEMORY, libcuda.MEMORY))
    runtime = {
        "deviceSynchronize": does(None), "streamSynchronize": does(None), "getDeviceCount": does(1), "getDevice": does(0),
        "setDevice": does(None), "runtimeGetVersion": does(libcuda.VERSION), "driverGetVersion": does(libcuda.VERSION),
        "memGetInfo": memory, "getDeviceProperties": _properties, "is_hip": False,
    }  # fmt: skip
    pool, pinned = MemoryPool(), MemoryPool()
    null = Stream()
    null.number = 0
    Stream.null = null
    of_runtime = module("cupy.cuda.runtime", nothing, runtime)
    own = {
        "Stream": Stream, "Event": streams.Event, "get_current_stream": lambda *_: streams.current_stream(), "Device": Device,
        "get_elapsed_time": lambda start, end: start.elapsed_time(end), "is_available": does(True), "runtime": of_runtime,
        "get_device_id": does(0), "MemoryPool": MemoryPool, "PinnedMemoryPool": MemoryPool, "MemoryPointer": MemoryPointer,
        "Memory": Memory, "UnownedMemory": _unowned, "alloc": pool.malloc, "alloc_pinned_memory": _pinned,
        "set_allocator": does(None), "set_pinned_memory_allocator": does(None), "get_allocator": does(pool.malloc),
        "default_pool": pool, "default_pinned_pool": pinned,
    }  # fmt: skip
    return {"cupy.cuda": module("cupy.cuda", nothing, own), "cupy.cuda.runtime": of_runtime}
