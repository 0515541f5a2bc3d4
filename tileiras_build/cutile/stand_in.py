"""What cuTile's host code wants of a GPU where there is none: a driver that answers, and arrays that say they are on a device.

cuTile's C code asks the driver a few questions before it looks into a launch's arguments, none of which matters to what it
finds out. Where the machine has no driver, ``install_driver`` lets it ask functions of this file.
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from ..runtime.arguments import ArrayView

_LOADER = "cuda.tile._load_libcuda"  # imported by cuTile's C code when it first needs the driver
_VERSION = 13050
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 6)


# ---- the driver
def _driver_version(version: int, *_: object) -> int:
    ctypes.c_int.from_address(version).value = _VERSION
    return 0


def _address_of(name: int, function: int, *_: object) -> int:
    text = ctypes.string_at(name).decode()
    found = _ANSWERS.get(text, _ANSWERS[""])
    ctypes.c_void_p.from_address(function).value = ctypes.cast(found, ctypes.c_void_p).value
    return 0


_ANSWERS = {"": _FUNCTION(lambda *_: 0), "cuDriverGetVersion": _FUNCTION(_driver_version)}
_get_address = _FUNCTION(_address_of)  # cuGetProcAddress
_place = ctypes.c_void_p(ctypes.cast(_get_address, ctypes.c_void_p).value)


def install_driver() -> None:
    """Let cuTile find a driver, unless the machine has one or cuTile has found it."""
    if _LOADER in sys.modules or _has_driver():
        return
    module = ModuleType(_LOADER)
    module.cuGetProcAddress_v2_ptrptr = ctypes.addressof(_place)  # type: ignore[attr-defined]
    sys.modules[_LOADER] = module


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


# ---- arrays: DLPack's structs, https://dmlc.github.io/dlpack/latest/c_api.html
class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_CUDA = 2  # kDLCUDA
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_SMALL_CODES = {
    "bfloat16": 4, "float8_e4m3": 8, "float8_e4m3fn": 10, "float8_e5m2": 12, "float8_e8m0fnu": 14, "float4_e2m1fn": 17,
}  # fmt: skip
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Shown:
    """An array as DLPack shows one in a GPU's memory; the array itself must live as long."""

    def __init__(self, view: ArrayView, code: int, bits: int):
        count = max(len(view.shape), 1)
        self._shape, self._strides = (ctypes.c_int64 * count)(*view.shape), (ctypes.c_int64 * count)(*view.strides)
        tensor = _Tensor(
            view.address, _CUDA, 0, len(view.shape), code, bits, 1,
            ctypes.addressof(self._shape), ctypes.addressof(self._strides), 0,
        )  # fmt: skip
        self._managed = _Managed(tensor, None, ctypes.cast(_DELETER, ctypes.c_void_p))

    def __dlpack__(self, **_: object) -> object:
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, 0


def shown_as_device(view: ArrayView) -> Shown:
    """``view`` as an array in a GPU's memory; raises InvalidInput[launch-argument] for elements that cuTile has none like."""
    dtype = view.dtype
    assert dtype is not None
    code = _SMALL_CODES.get(dtype.name, _CODES.get(dtype.kind))
    if code is None:
        raise InvalidInput("launch-argument", f"an array of {dtype.name} is no argument of a kernel")
    return Shown(view, code, _bits(dtype))


def _bits(dtype: np.dtype) -> int:
    return 4 if dtype.name == "float4_e2m1fn" else 8 * dtype.itemsize
