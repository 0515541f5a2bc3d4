"""A fake libcuda for cuTile's C extension, made of Python functions.

The extension imports ``cuda.tile._load_libcuda`` at its first call, and gets the address of a pointer to
``cuGetProcAddress_v2`` from it. ``install`` replaces that module; its functions describe one device of a chosen compute
capability. Launches do not use the driver (``launch_hook.py`` replaces them), so functions that start GPU work fail.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from typing import Any

from ...target.targets import Target

MODULE = "cuda.tile._load_libcuda"
SUCCESS, NOT_SUPPORTED = 0, 801  # CUresult, CUDA driver API
VERSION = 13050  # CUDA version, 1000 * major + 10 * minor
CONTEXT = 16  # any nonzero address: the only context
NAME = "CPU (emulated by tileiras_build)"
SM_COUNT = 132  # of the fake device: scripts size the grids of persistent kernels by it
MEMORY = 64 << 30  # bytes of the fake device's memory

_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_RESOLVE = ctypes.CFUNCTYPE(_INT, ctypes.c_char_p, _POINTER, _INT, ctypes.c_uint64, _POINTER)

# CUdevice_attribute: number -> value for a target. Others are 0.
ATTRIBUTES: dict[int, Callable[[Target], int]] = {
    1: lambda target: 1024,  # MAX_THREADS_PER_BLOCK
    2: lambda target: 1024,  # MAX_BLOCK_DIM_X
    3: lambda target: 1024,  # MAX_BLOCK_DIM_Y
    4: lambda target: 64,  # MAX_BLOCK_DIM_Z
    8: lambda target: 48 << 10,  # MAX_SHARED_MEMORY_PER_BLOCK
    9: lambda target: 64 << 10,  # TOTAL_CONSTANT_MEMORY
    12: lambda target: 1 << 16,  # MAX_REGISTERS_PER_BLOCK
    41: lambda target: 1,  # UNIFIED_ADDRESSING
    5: lambda target: 2**31 - 1,  # MAX_GRID_DIM_X
    6: lambda target: 65535,  # MAX_GRID_DIM_Y
    7: lambda target: 65535,  # MAX_GRID_DIM_Z
    10: lambda target: 32,  # WARP_SIZE
    16: lambda target: SM_COUNT,  # MULTIPROCESSOR_COUNT
    75: lambda target: target.number // 10,  # COMPUTE_CAPABILITY_MAJOR
    76: lambda target: target.number % 10,  # COMPUTE_CAPABILITY_MINOR
    97: lambda target: target.max_shared_memory,  # MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
}


def attribute(number: int) -> int:
    """The value of a ``CUdevice_attribute``, whose enumerators the runtime's attributes share; 0 for an unknown one."""
    value = ATTRIBUTES.get(number)
    return value(current_target()) if value else 0


# Functions without effect, as launches are synchronous.
NO_OP_FUNCTIONS = (
    "cuInit", "cuCtxSynchronize", "cuCtxPushCurrent", "cuCtxSetCurrent", "cuStreamSynchronize", "cuStreamDestroy",
    "cuStreamWaitEvent", "cuEventDestroy", "cuEventRecord", "cuEventQuery",
)  # fmt: skip


def _store(address: int, value: int | None, kind: Any = _POINTER) -> int:
    kind.from_address(address).value = value
    return SUCCESS


class FakeDriver:
    """The driver functions of one device; ``target`` may change, the functions do not."""

    def __init__(self, target: Target):
        self.target = target
        self._next = 0x100
        self._texts: dict[int, ctypes.c_char_p] = {}
        functions: dict[str, tuple[Callable[..., int], list[Any]]] = {
            "cuGetErrorString": (self._error_string, [_INT, _POINTER]),
            "cuDriverGetVersion": (lambda out: _store(out, VERSION, _INT), [_POINTER]),
            "cuDeviceGetCount": (lambda out: _store(out, 1, _INT), [_POINTER]),
            "cuDeviceGet": (lambda out, ordinal: _store(out, 0, _INT), [_POINTER, _INT]),
            "cuDeviceGetAttribute": (self._attribute, [_POINTER, _INT, _INT]),
            "cuDevicePrimaryCtxRetain": (lambda out, device: _store(out, CONTEXT), [_POINTER, _INT]),
            "cuCtxGetCurrent": (lambda out: _store(out, CONTEXT), [_POINTER]),
            "cuCtxPopCurrent": (lambda out: _store(out, CONTEXT), [_POINTER]),
            "cuCtxGetDevice": (lambda out: _store(out, 0, _INT), [_POINTER]),
            "cuCtxGetDevice_v2": (lambda out, context: _store(out, 0, _INT), [_POINTER, _POINTER]),
            "cuCtxGetId": (lambda context, out: _store(out, 1, ctypes.c_uint64), [_POINTER, _POINTER]),
            "cuPointerGetAttribute": (lambda out, which, pointer: _store(out, CONTEXT), [_POINTER, _INT, _POINTER]),
            "cuStreamGetCtx": (lambda stream, out: _store(out, CONTEXT), [_POINTER, _POINTER]),
            "cuStreamGetId": (lambda stream, out: _store(out, stream or 0, ctypes.c_uint64), [_POINTER, _POINTER]),
            "cuStreamIsCapturing": (lambda stream, out: _store(out, 0, _INT), [_POINTER, _POINTER]),
            "cuStreamCreate": (lambda out, flags: self._handle(out), [_POINTER, ctypes.c_uint]),
            "cuEventCreate": (lambda out, flags: self._handle(out), [_POINTER, ctypes.c_uint]),
        }  # fmt: skip
        self._functions = {name: _callback(*what) for name, what in functions.items()}
        self._functions |= dict.fromkeys(NO_OP_FUNCTIONS, ctypes.CFUNCTYPE(_INT)(lambda: SUCCESS))
        self._refuse = ctypes.CFUNCTYPE(_INT)(lambda: NOT_SUPPORTED)
        self._resolve = _RESOLVE(self._find)

    @property
    def address(self) -> int:
        """The address of a pointer to ``cuGetProcAddress_v2``."""
        return ctypes.addressof(self._resolve)

    def _find(self, name: bytes, out: int, version: int, flags: int, status: int) -> int:
        function = self._functions.get(name.decode(), self._refuse)
        return _store(out, ctypes.cast(function, _POINTER).value)

    def _attribute(self, out: int, attribute: int, device: int) -> int:
        value = ATTRIBUTES.get(attribute)
        return _store(out, value(self.target) if value else 0, _INT)

    def _handle(self, out: int) -> int:
        self._next += 1
        return _store(out, self._next)

    def _error_string(self, error: int, out: int) -> int:
        text = f"CUDA error {error}: not supported by the CPU device"
        kept = self._texts.setdefault(error, ctypes.c_char_p(text.encode()))
        return _store(out, ctypes.cast(kept, _POINTER).value)


def _callback(function: Callable[..., int], arguments: list[Any]) -> Any:
    return ctypes.CFUNCTYPE(_INT, *arguments)(function)


_installed: FakeDriver | None = None
_target: Target | None = None


def current_target() -> Target:
    """The target that the functions describe."""
    assert _target is not None, "scripts ask once the device is there"
    return _target


def install(target: Target) -> None:
    """Make cuTile use the fake driver for ``target``, unless it has already loaded the real one."""
    global _installed, _target
    _target = target
    if _installed is not None:
        _installed.target = target
        return
    if MODULE in sys.modules:
        return
    _installed = FakeDriver(target)
    module = types.ModuleType(MODULE, "tileiras_build's fake libcuda")
    module.cuGetProcAddress_v2_ptrptr = _installed.address  # type: ignore[attr-defined]
    sys.modules[MODULE] = module
