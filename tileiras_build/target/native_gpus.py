"""``native``: the compute capabilities of the GPUs of this machine, from the CUDA driver."""

from __future__ import annotations

import ctypes

from ..core.errors import InvalidInput

# CUdevice_attribute of cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
_MAJOR, _MINOR = 75, 76
_REMEDY = "run it on a machine with a GPU and its driver, or name the targets, such as sm=90"


def compute_capabilities() -> list[int]:
    """The compute capabilities of this machine's GPUs, major * 10 + minor, in ascending order.

    Raises InvalidInput[native-gpu] if there is no driver or no GPU.
    """
    try:
        driver = _open_driver()
    except OSError:
        raise InvalidInput(
            "native-gpu", "no CUDA driver (libcuda.so.1) was found for sm=native", remedy=_REMEDY
        ) from None
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        raise InvalidInput("native-gpu", "the CUDA driver found no GPU for sm=native", remedy=_REMEDY)
    return sorted({_capability(driver, device) for device in range(count.value)})


def _open_driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _capability(driver: ctypes.CDLL, device: int) -> int:
    value = ctypes.c_int()
    digits = []
    for attribute in (_MAJOR, _MINOR):
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            raise InvalidInput("native-gpu", f"the CUDA driver does not describe GPU {device}", remedy=_REMEDY)
        digits.append(value.value)
    return digits[0] * 10 + digits[1]
