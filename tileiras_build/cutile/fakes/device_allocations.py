"""Memory that a program has asked the driver for: of this process, found again by any address in it."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from . import describe_arrays, mark_uninitialized

_ALIGNMENT = 512  # bytes, as the driver gives it out
_held: dict[int, describe_arrays.ArrayDescription] = {}


def allocate(size: int) -> int:
    """The address of ``size`` new bytes, which have no values yet."""
    owner = ctypes.create_string_buffer(size + _ALIGNMENT)
    address = -(-ctypes.addressof(owner) // _ALIGNMENT) * _ALIGNMENT
    _held[address] = describe_arrays.ArrayDescription(address, (size,), (1,), "uint8", 8, address, size, owner)
    mark_uninitialized.allocated(address, size)
    return address


def free(address: int) -> bool:
    """Give memory back; False where none begins there."""
    return address == 0 or _held.pop(address, None) is not None


def holders() -> list[describe_arrays.ArrayDescription]:
    """All memory of the device: what was asked for, and PyTorch's tensors."""
    return [*_held.values(), *_tensors()]


def _tensors() -> list[describe_arrays.ArrayDescription]:
    if "torch" not in sys.modules:
        return []
    from .torch_cuda_tensors_on_cpu import living

    return [describe_arrays.describe(tensor) for tensor in living()]


def holds(address: int, size: int) -> bool:
    """Whether one piece of the device's memory has all these bytes."""
    return any(one.base <= address and address + size <= one.base + one.size for one in holders())


def address_of(place: Any) -> int:
    """The address of a host's or device's memory, as the bindings take it: a number, a handle, or anything that is a buffer."""
    if hasattr(place, "__int__") and not isinstance(place, np.ndarray):
        return int(place)
    return np.frombuffer(place, np.uint8).ctypes.data if not isinstance(place, np.ndarray) else place.ctypes.data


def copy(to: int, source: int, size: int) -> None:
    """Copy bytes, which may overlap."""
    ctypes.memmove(to, source, size)


def fill(address: int, value: bytes, count: int) -> None:
    """Write a value ``count`` times."""
    ctypes.memmove(address, value * count, len(value) * count)
