"""Describes arrays of this process, of any library: their memory, and the allocation that contains it."""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import InvalidInput
from .dlpack_capsules import CODES, NAME, NAMED, Managed, pointer_of

if TYPE_CHECKING:
    import torch

GUARD = 1 << 16  # bytes
_KINDS = {code: kind for kind, code in CODES.items()}
_NAMES = {code: name for name, code in reversed(NAMED.items())}


@dataclass(frozen=True)
class ArrayDescription:
    """An array: byte address, shape, strides in elements, the name ("float32") and bits of its elements, and the allocation of
    which it may be a view: ``base`` and ``size`` in bytes. ``owner`` keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    bits: int
    base: int
    size: int
    owner: object
    readonly: bool = False

    @property
    def code(self) -> int:
        """The DLDataTypeCode of its elements."""
        return NAMED.get(self.element) or CODES[np.dtype(self.element).kind]

    def index_at(self, address: int) -> tuple[int, ...] | None:
        """The index of the element at an address; None if there is none, or several."""
        index, (left, inside) = [0] * len(self.shape), divmod(8 * (address - self.address), self.bits)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis])):
            stride = self.strides[axis]
            if self.shape[axis] > 1:
                if stride <= 0:
                    return None
                index[axis], left = divmod(left, stride)
        fits = all(0 <= at < length for at, length in zip(index, self.shape, strict=True))
        return tuple(index) if fits and not inside and not left else None


def describe(array: Any) -> ArrayDescription:
    """The description of an array; raises InvalidInput[launch-argument] for other objects and for unsupported element types."""
    found = _reader(array)(array)
    if not found.address and 0 not in found.shape:
        raise InvalidInput("launch-argument", "its data pointer is null", remedy="pass an array that has memory")
    return found


def _reader(array: Any) -> Callable[[Any], ArrayDescription]:
    torch = sys.modules.get("torch")
    if isinstance(array, np.ndarray):
        return _of_numpy
    if torch is not None and isinstance(array, torch.Tensor):
        return _of_torch
    if hasattr(array, "__dlpack__"):
        return _of_dlpack
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface
    message = f"it is a {type(array).__name__}, not an array"
    raise InvalidInput("launch-argument", message, remedy="pass an array that supports DLPack")


def needs_device_view(value: object) -> bool:
    """Whether cuTile requires GPU memory for it. PyTorch tensors are excluded, as the fake tensors report a GPU themselves."""
    torch = sys.modules.get("torch")
    if isinstance(value, type) or torch is not None and isinstance(value, torch.Tensor):
        return False
    return hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")


def _of_numpy(array: np.ndarray) -> ArrayDescription:
    bits = _bits(array.dtype)
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    start, end = np.lib.array_utils.byte_bounds(whole)
    strides = tuple(step // array.itemsize for step in array.strides)
    address = array.__array_interface__["data"][0]
    name, readonly = array.dtype.name, not array.flags.writeable
    return ArrayDescription(address, array.shape, strides, name, bits, start, end - start, whole, readonly)


def _bits(kind: np.dtype) -> int:
    """The bits of an element of a DLPack type."""
    if kind.name not in NAMED and (kind.kind not in CODES or not kind.isnative):
        message = f"unsupported element type {kind.name if kind.isnative else kind.str}"
        raise InvalidInput("launch-argument", message, remedy="convert it")
    return int(kind.name[5]) if kind.name.startswith(("float4_", "float6_")) else 8 * kind.itemsize


def _of_torch(tensor: torch.Tensor) -> ArrayDescription:
    if tensor.is_meta:
        raise InvalidInput("launch-argument", "it is on the meta device, where tensors have no data")
    storage = tensor.untyped_storage()
    name = str(tensor.dtype).removeprefix("torch.")
    address, base = tensor.data_ptr(), storage.data_ptr()
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    bits = 8 * tensor.element_size()
    return ArrayDescription(address, shape, strides, name, bits, base, storage.nbytes(), storage)


def _of_dlpack(array: Any) -> ArrayDescription:
    try:
        made = array.__dlpack__()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise InvalidInput("launch-argument", f"it cannot be read as an array: {first}") from None
    tensor = Managed.from_address(pointer_of(made, NAME)).tensor
    shape = tuple(tensor.shape[: tensor.rank])
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.strides else _row_major(shape)
    address = (tensor.data or 0) + tensor.offset
    code, bits = tensor.type.code, tensor.type.bits
    name = np.dtype(f"{_KINDS[code]}{bits // 8}").name if code in _KINDS else _NAMES[code]
    return ArrayDescription(address, shape, strides, name, bits, *_extent(address, shape, strides, bits), (array, made))


def _of_interface(array: Any) -> ArrayDescription:
    found = array.__cuda_array_interface__
    try:
        kind, shape, steps = np.dtype(found["typestr"]), tuple(found["shape"]), found.get("strides")
        address, readonly = found["data"]
    except (KeyError, TypeError, ValueError) as error:
        message = f"its __cuda_array_interface__ cannot be read: {type(error).__name__}: {error}"
        raise InvalidInput("launch-argument", message) from None
    bits = _bits(kind)
    strides = _row_major(shape) if steps is None else tuple(step // kind.itemsize for step in steps)
    place = _extent(address or 0, shape, strides, bits)
    return ArrayDescription(address or 0, shape, strides, kind.name, bits, *place, array, readonly)


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def _extent(address: int, shape: tuple[int, ...], strides: tuple[int, ...], bits: int) -> tuple[int, int]:
    """The first byte of an array's elements, and their size in bytes: strides may be negative."""
    if 0 in shape:
        return address, 0
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    low, high = (sum(bound(0, one) for one in reach) for bound in (min, max))
    return address + low * bits // 8, -(-(high - low + 1) * bits // 8)


def table_of(words: list[int]) -> ArrayDescription:
    """A table of 8-byte words in this process's memory, with ``GUARD`` bytes on both sides."""
    size = 8 * len(words)
    held = mmap.mmap(-1, size + 2 * GUARD)
    held[GUARD : GUARD + size] = struct.pack(f"{len(words)}q", *words)
    inside = ctypes.c_char.from_buffer(held, GUARD)
    return ArrayDescription(
        ctypes.addressof(inside), (len(words),), (1,), "int64", 64, ctypes.addressof(inside), size, inside
    )
