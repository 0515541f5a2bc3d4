"""DLPack capsules that claim that an array of this process is on a CUDA device, as cuTile's C extension requires.

The structures are those of https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from ...target.element_types import OPERAND_TYPES

if TYPE_CHECKING:
    from .array_info import ArrayDescription

CPU, CUDA = 1, 2  # DLDeviceType
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # DLDataTypeCode by NumPy's kind
# DLDataTypeCode of the types of ml_dtypes.
NAMED = {row.numpy: row.dlpack for row in OPERAND_TYPES.values() if row.numpy is not None and row.dlpack is not None}
NAMED["float8_e4m3"] = 8  # the variant with infinities, which nothing here computes with
NAME = b"dltensor"


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device", _Device), ("rank", ctypes.c_int32), ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

_alive: dict[int, tuple] = {}  # address of a capsule's structure -> the structure and what it points to
_forget = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda address: _alive.pop(address, None) and None)


def capsule(description: ArrayDescription) -> object:
    """A DLPack capsule of an array on CUDA device 0."""
    rank = len(description.shape)
    int64_array = ctypes.c_int64 * max(rank, 1)
    shape, strides = int64_array(*description.shape), int64_array(*description.strides)
    kind = _Type(description.code, description.bits, 1)
    tensor = _Tensor(description.address, _Device(CUDA, 0), rank, kind, shape, strides, 0)
    managed = Managed(tensor, None, ctypes.cast(_forget, ctypes.c_void_p))
    address = ctypes.addressof(managed)
    _alive[address] = managed, shape, strides, description.owner
    return _new_capsule(address, NAME, None)


def claim_cuda(made: object) -> object:
    """A new capsule ``made`` of a CPU array, with its device changed to CUDA device 0."""
    managed = Managed.from_address(pointer_of(made, NAME))
    managed.tensor.device = _Device(CUDA, 0)
    return made


class DeviceArray:
    """An array of this process that claims by DLPack to be on a CUDA device."""

    __slots__ = ("description",)

    def __init__(self, description: ArrayDescription):
        self.description = description

    def __dlpack__(self, **options: object) -> object:
        """A capsule; the options (stream, version) have no effect, as launches are synchronous."""
        return capsule(self.description)

    def __dlpack_device__(self) -> tuple[int, int]:
        """CUDA device 0."""
        return CUDA, 0
