"""Arrays in the memory of a GPU for programs over the strict driver: by the CUDA array interface, and by DLPack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cuda.bindings import driver as cuda

from tests.strict_driver.python_client import checked
from tileiras_build.cutile.fakes.array_info import describe
from tileiras_build.cutile.fakes.dlpack_capsules import capsule


class GpuArray:
    """A copy of ``host`` in the GPU's memory; ``fetch`` brings it back."""

    def __init__(self, host: np.ndarray):
        self.host = np.ascontiguousarray(host)
        self.address = int(checked(cuda.cuMemAlloc(max(self.host.nbytes, 1))))
        checked(cuda.cuMemcpyHtoD(self.address, self.host.ctypes.data, self.host.nbytes))
        self.shape, self.dtype = self.host.shape, self.host.dtype

    def fetch(self) -> np.ndarray:
        checked(cuda.cuMemcpyDtoH(self.host.ctypes.data, self.address, self.host.nbytes))
        return self.host


class Interface(GpuArray):
    """By ``__cuda_array_interface__``."""

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": None, "version": 3}  # fmt: skip


class DLPack(GpuArray):
    """By ``__dlpack__``."""

    def __dlpack__(self, **_):
        return capsule(replace(describe(self.host), address=self.address))

    def __dlpack_device__(self):
        return 2, 0
