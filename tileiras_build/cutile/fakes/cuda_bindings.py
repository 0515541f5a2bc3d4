"""Fake functions of ``cuda.bindings.driver`` and ``cuda.bindings.runtime`` for the emulator: device queries, memory, copies,
streams and events. Like the originals they return a status first; the other functions of the modules are unchanged.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import device_allocations, libcuda

Answers = dict[str, Callable[..., tuple[Any, ...]]]
_handles = itertools.count(0x100)
_at: dict[int, float] = {}  # the time of each recorded event
_BIG = 1 << 40  # bytes; larger allocations fail


class _Calls:
    """The functions of one of the two modules: ``prefix`` is the prefix of their names, ``success`` to ``lost`` are its statuses,
    and ``stream``, ``event`` and ``pointer`` convert integers to handles.
    """

    def __init__(
        self, prefix: str, statuses: tuple[Any, Any, Any], stream: Callable, event: Callable, pointer: Callable
    ):
        self.prefix, (self.success, self.invalid, self.lost) = prefix, statuses
        self.stream, self.event, self.pointer = stream, event, pointer

    def none(self, *_: Any, **__: Any) -> tuple[Any, ...]:
        """Do nothing: launches are synchronous."""
        return (self.success,)

    def gives(self, *values: Any) -> Callable[..., tuple[Any, ...]]:
        """A function with a constant result."""
        return lambda *_, **__: (self.success, *values)

    def allocate(self, size: int, *_: Any) -> tuple[Any, ...]:
        """Allocate memory."""
        if not 0 < size < _BIG:
            return (self.invalid if size <= 0 else self.lost), None
        return self.success, self.pointer(device_allocations.allocate(int(size)))

    def free(self, address: Any, *_: Any) -> tuple[Any, ...]:
        """Free memory."""
        return (self.success if device_allocations.free(int(address)) else self.invalid,)

    def copy(self, to: Any, source: Any, size: int, on_device: tuple[bool, bool]) -> tuple[Any, ...]:
        """Copy; device pointers must point into allocated memory."""
        places = device_allocations.address_of(to), device_allocations.address_of(source)
        wrong = (here and not device_allocations.holds(place, size) for here, place in zip(on_device, places))
        if any(wrong):
            return (self.invalid,)
        device_allocations.copy(places[0], places[1], int(size))
        return (self.success,)

    def fill(self, address: Any, value: int, width: int, count: int) -> tuple[Any, ...]:
        """Fill device memory."""
        if not device_allocations.holds(int(address), width * count):
            return (self.invalid,)
        device_allocations.fill(int(address), (value % (1 << 8 * width)).to_bytes(width, "little"), count)
        return (self.success,)

    def new_event(self, *_: Any) -> tuple[Any, ...]:
        """Create an event that is not recorded."""
        return self.success, self.event(next(_handles))

    def record(self, event: Any, *_: Any) -> tuple[Any, ...]:
        """Record an event at the current time."""
        _at[int(event)] = time.perf_counter()
        return (self.success,)

    def elapsed(self, start: Any, end: Any) -> tuple[Any, ...]:
        """Milliseconds on this machine."""
        if int(start) not in _at or int(end) not in _at:
            return self.invalid, None
        return self.success, 1e3 * (_at[int(end)] - _at[int(start)])

    def new_stream(self, *_: Any) -> tuple[Any, ...]:
        """Create a stream."""
        return self.success, self.stream(next(_handles))


_IDLE = (
    "StreamDestroy",
    "StreamSynchronize",
    "StreamQuery",
    "StreamWaitEvent",
    "EventDestroy",
    "EventSynchronize",
    "EventQuery",
)


def _shared(calls: _Calls) -> Answers:
    """The functions of both modules, by names without their prefix."""
    return dict.fromkeys(_IDLE, calls.none) | {
        "StreamCreate": calls.new_stream, "StreamCreateWithPriority": calls.new_stream, "EventCreate": calls.new_event,
        "EventCreateWithFlags": calls.new_event, "EventRecord": calls.record, "EventElapsedTime": calls.elapsed,
        "MemGetInfo": calls.gives(libcuda.MEMORY, libcuda.MEMORY), "DriverGetVersion": calls.gives(libcuda.VERSION),
    }  # fmt: skip


def of_driver(module: ModuleType) -> Answers:
    """The functions of ``cuda.bindings.driver``."""
    result = module.CUresult
    statuses = (result.CUDA_SUCCESS, result.CUDA_ERROR_INVALID_VALUE, result.CUDA_ERROR_OUT_OF_MEMORY)
    calls = _Calls("cu", statuses, module.CUstream, module.CUevent, module.CUdeviceptr)
    ways = {"HtoD": (True, False), "DtoH": (False, True), "DtoD": (True, True)}
    device, context = module.CUdevice(0), libcuda.CONTEXT
    own: Answers = {
        "Init": calls.none, "DeviceGet": calls.gives(device), "DeviceGetCount": calls.gives(1), "CtxSynchronize": calls.none,
        "DeviceGetName": lambda size, _: (calls.success, libcuda.NAME.encode()[: size - 1].ljust(size, b"\0")),
        "DeviceGetAttribute": lambda which, _: (calls.success, libcuda.attribute(int(which))),
        "DeviceTotalMem": calls.gives(libcuda.MEMORY), "DevicePrimaryCtxRetain": calls.gives(module.CUcontext(context)),
        "DevicePrimaryCtxRelease": calls.none, "CtxSetCurrent": calls.none, "CtxGetDevice": calls.gives(device),
        "MemAlloc": calls.allocate, "MemFree": calls.free, "MemAllocAsync": calls.allocate, "MemFreeAsync": calls.free,
        "GetErrorName": lambda status: (calls.success, result(status).name.encode()),
        "GetErrorString": lambda status: (calls.success, result(status).name.encode()),
    }  # fmt: skip
    for way, places in ways.items():
        own[f"Memcpy{way}"] = own[f"Memcpy{way}Async"] = lambda to, source, size, *_, places=places: calls.copy(
            to, source, size, places
        )
    for bits in (8, 16, 32):
        own[f"MemsetD{bits}"] = own[f"MemsetD{bits}Async"] = lambda at, value, count, *_, width=bits // 8: calls.fill(
            at, value, width, count
        )
    return {f"cu{name}": call for name, call in {**_shared(calls), **own}.items() if hasattr(module, f"cu{name}")}


def of_runtime(module: ModuleType) -> Answers:
    """The functions of ``cuda.bindings.runtime``."""
    error, kind = module.cudaError_t, module.cudaMemcpyKind
    statuses = (error.cudaSuccess, error.cudaErrorInvalidValue, error.cudaErrorMemoryAllocation)
    calls = _Calls("cuda", statuses, module.cudaStream_t, module.cudaEvent_t, int)
    ways = {
        int(kind.cudaMemcpyHostToDevice): (True, False), int(kind.cudaMemcpyDeviceToHost): (False, True),
        int(kind.cudaMemcpyDeviceToDevice): (True, True), int(kind.cudaMemcpyHostToHost): (False, False),
        int(kind.cudaMemcpyDefault): (False, False),
    }  # fmt: skip

    def copy(to: Any, source: Any, size: int, how: Any, *_: Any) -> tuple[Any, ...]:
        return calls.copy(to, source, size, ways[int(how)])

    def properties(device: int = 0) -> tuple[Any, ...]:
        made = module.cudaDeviceProp()
        made.name, made.totalGlobalMem, made.multiProcessorCount = (
            libcuda.NAME.encode(),
            libcuda.MEMORY,
            libcuda.SM_COUNT,
        )
        made.major, made.minor = divmod(libcuda.current_target().number, 10)
        made.sharedMemPerBlockOptin, made.warpSize = libcuda.current_target().max_shared_memory, 32
        return calls.success, made

    fill = lambda at, value, count, *_: calls.fill(at, value, 1, count)
    own: Answers = {
        "GetDeviceCount": calls.gives(1), "GetDevice": calls.gives(0), "SetDevice": calls.none, "DeviceSynchronize": calls.none,
        "InitDevice": calls.none, "DeviceGetAttribute": lambda which, _: (calls.success, libcuda.attribute(int(which))),
        "GetDeviceProperties": properties, "RuntimeGetVersion": calls.gives(libcuda.VERSION), "Malloc": calls.allocate,
        "Free": calls.free, "MallocAsync": calls.allocate, "FreeAsync": calls.free, "Memcpy": copy, "MemcpyAsync": copy,
        "Memset": fill, "MemsetAsync": fill, "StreamCreateWithFlags": calls.new_stream, "GetLastError": calls.none,
        "PeekAtLastError": calls.none, "DeviceReset": calls.none,
    }  # fmt: skip
    return {f"cuda{name}": call for name, call in {**_shared(calls), **own}.items() if hasattr(module, f"cuda{name}")}
