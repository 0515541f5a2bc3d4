"""Memory that a program has allocated through the driver: host memory, found by any address in it."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from . import array_info, mark_uninitialized

_ALIGNMENT = 512  # bytes, of the driver's allocations
_held: dict[int, array_info.ArrayDescription] = {}


def allocate(size: int) -> int:
    """The address of ``size`` new, uninitialized bytes."""
    owner = ctypes.create_string_buffer(size + _ALIGNMENT)
    address = -(-ctypes.addressof(owner) // _ALIGNMENT) * _ALIGNMENT
    _held[address] = array_info.ArrayDescription(address, (size,), (1,), "uint8", 8, address, size, owner)
    mark_uninitialized.allocated(address, size)
    return address


def free(address: int) -> bool:
    """Free memory; False if no allocation begins at the address."""
    return address == 0 or _held.pop(address, None) is not None


def holders() -> list[array_info.ArrayDescription]:
    """All device memory: allocations, and PyTorch tensors."""
    return [*_held.values(), *_tensors()]


def _tensors() -> list[array_info.ArrayDescription]:
    if "torch" not in sys.modules:
        return []
    from .torch_cuda_tensors_on_cpu import living

    return [array_info.describe(tensor) for tensor in living()]


def holds(address: int, size: int) -> bool:
    """Whether one allocation contains all these bytes."""
    return any(one.base <= address and address + size <= one.base + one.size for one in holders())


def address_of(place: Any) -> int:
    """The address of host or device memory in the forms that the bindings accept: an integer, a handle, or a buffer."""
    if hasattr(place, "__int__") and not isinstance(place, np.ndarray):
        return int(place)
    return np.frombuffer(place, np.uint8).ctypes.data if not isinstance(place, np.ndarray) else place.ctypes.data


def copy(to: int, source: int, size: int) -> None:
    """Copy bytes, which may overlap."""
    ctypes.memmove(to, source, size)


def fill(address: int, value: bytes, count: int) -> None:
    """Write a value ``count`` times."""
    ctypes.memmove(address, value * count, len(value) * count)
