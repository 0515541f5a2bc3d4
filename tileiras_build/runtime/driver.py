"""The narrow seam to the CUDA driver: eight calls, made through cuda-python (``cuda.bindings``, ``cuda.core``).

``Library`` needs an object with the methods of ``Driver``; tests give it one that records. ``CudaDriver`` takes the
binding module itself as a parameter, so that its calls too are checked on machines without a GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from ..errors import InvalidInput
from .arguments import ArrayView
from .tensor_maps import SIZE, TensorMap

_PLACES = 8  # twice as many as there are multiples of 16 between two of 64
_STATIC_LIMIT = 48 * 1024  # bytes of shared memory that a kernel may take without asking
_DATA_TYPES = {
    "i8": "UINT8", "u8": "UINT8", "i16": "UINT16", "u16": "UINT16", "i32": "INT32", "u32": "UINT32", "i64": "INT64",
    "u64": "UINT64", "f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT32", "tf32": "TFLOAT32", "f64": "FLOAT64",
}  # fmt: skip
_L2_PROMOTION = {"none": "NONE", "64B": "L2_64B", "128B": "L2_128B", "256B": "L2_256B"}
_FILL = {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"}


@dataclass(frozen=True)
class LaunchConfig:
    """How a kernel is launched: blocks (of kernels for clusters: clusters), threads of a block, dynamic shared bytes, stream
    handle."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    stream: int


class Driver(Protocol):
    """What ``Library`` needs of a driver. Handles are opaque. Each call raises InvalidInput[driver] where it fails."""

    def device(self) -> tuple[int, int]:
        """(ordinal, compute capability as a number such as 90) of the current context's GPU."""

    def load(self, image: bytes) -> object:
        """A library made of a cubin, PTX text or a fat binary."""

    def unload(self, library: object) -> None:
        """Forget a library."""

    def kernel(self, library: object, entry: str) -> object:
        """A kernel of a library."""

    def allow_shared_memory(self, kernel: object, device: int, size: int) -> None:
        """Let ``kernel`` take ``size`` bytes of dynamic shared memory on a device."""

    def encode(self, tensor_map: TensorMap) -> bytes:
        """The 128 bytes of a descriptor."""

    def view(self, array: object, stream: int) -> ArrayView:
        """Look into an array that will be used on ``stream``."""

    def launch(self, kernel: object, config: LaunchConfig, params: Sequence[bytes]) -> None:
        """Enqueue a kernel."""


class CudaDriver:
    """The real driver. ``bindings`` is ``cuda.bindings.driver``.

    Raises InvalidInput[cuda-python-missing] where cuda-python is not installed.
    """

    def __init__(self, bindings=None):
        self._cuda = bindings or _import("cuda.bindings.driver")
        self._ready = False

    def device(self) -> tuple[int, int]:
        """The current context's GPU; without a context, GPU 0 and its primary context."""
        cuda = self._cuda
        if not self._ready:
            self._call("cuInit", 0)
            self._ready = True
        if not int(self._call("cuCtxGetCurrent")):
            first = self._call("cuDeviceGet", 0)
            self._call("cuCtxSetCurrent", self._call("cuDevicePrimaryCtxRetain", first))
        device = self._call("cuCtxGetDevice")
        attribute = cuda.CUdevice_attribute
        major = self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
        minor = self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
        return int(device), 10 * major + minor

    def load(self, image: bytes) -> object:
        """A library; the driver copies the image."""
        return self._call("cuLibraryLoadData", image, [], [], 0, [], [], 0)

    def unload(self, library: object) -> None:
        """Forget a library."""
        self._call("cuLibraryUnload", library)

    def kernel(self, library: object, entry: str) -> object:
        """A kernel by its entry point's name."""
        return self._call("cuLibraryGetKernel", library, entry.encode())

    def allow_shared_memory(self, kernel: object, device: int, size: int) -> None:
        """Raise the kernel's limit where ``size`` is more than every kernel may take."""
        if size > _STATIC_LIMIT:
            attribute = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuKernelSetAttribute", attribute, size, kernel, self._cuda.CUdevice(device))

    def encode(self, tensor_map: TensorMap) -> bytes:
        """``cuTensorMapEncodeTiled``.

        The driver wants a descriptor at a multiple of 64 bytes, and the bindings make it wherever Python has room, at
        multiples of 16: so try again behind what was refused, until it lies well.
        """
        held = []
        for _ in range(_PLACES):
            try:
                return self._encode(tensor_map)
            except InvalidInput as error:
                refusal = error
                held.append(self._cuda.CUtensorMap())
        raise refusal

    def _encode(self, tensor_map: TensorMap) -> bytes:
        cuda = self._cuda
        made = self._call(
            "cuTensorMapEncodeTiled",
            _member(cuda.CUtensorMapDataType, "DATA_TYPE", _DATA_TYPES[tensor_map.element]),
            len(tensor_map.shape),
            tensor_map.address,
            [cuda.cuuint64_t(length) for length in tensor_map.shape],
            [cuda.cuuint64_t(stride) for stride in tensor_map.strides],
            [cuda.cuuint32_t(length) for length in tensor_map.box],
            [cuda.cuuint32_t(step) for step in tensor_map.element_strides],
            _member(cuda.CUtensorMapInterleave, "INTERLEAVE", tensor_map.interleave.upper()),
            _member(cuda.CUtensorMapSwizzle, "SWIZZLE", tensor_map.swizzle.upper()),
            _member(cuda.CUtensorMapL2promotion, "L2_PROMOTION", _L2_PROMOTION[tensor_map.l2_promotion]),
            _member(cuda.CUtensorMapFloatOOBfill, "FLOAT_OOB_FILL", _FILL[tensor_map.fill]),
        )
        return ctypes.string_at(made.getPtr(), SIZE)

    def view(self, array: object, stream: int) -> ArrayView:
        """Through DLPack or the CUDA array interface; the array's producer makes ``stream`` wait for pending writes."""
        memory_view = _import("cuda.core.utils").StridedMemoryView
        try:
            seen = memory_view.from_any_interface(array, stream_ptr=stream)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            message = f"an argument cannot be read as an array: {error}"
            raise InvalidInput("launch-argument", message, remedy="pass an array that offers DLPack") from None
        shape = tuple(seen.shape)
        strides = tuple(seen.strides) if seen.strides is not None else row_major(shape)
        return ArrayView(seen.ptr, shape, strides, seen.device_id if seen.is_device_accessible else None)

    def launch(self, kernel: object, config: LaunchConfig, params: Sequence[bytes]) -> None:
        """``cuLaunchKernelEx``; the driver copies the parameters before it returns."""
        cuda = self._cuda
        made = cuda.CUlaunchConfig()
        made.gridDimX, made.gridDimY, made.gridDimZ = config.grid
        made.blockDimX, made.blockDimY, made.blockDimZ = config.block
        made.sharedMemBytes, made.hStream = config.shared_memory, cuda.CUstream(config.stream)
        held = [ctypes.create_string_buffer(data, len(data)) for data in params]
        pointers = (ctypes.c_void_p * max(len(held), 1))(*map(ctypes.addressof, held))
        self._call("cuLaunchKernelEx", made, cuda.CUfunction(int(kernel)), ctypes.addressof(pointers), 0)

    def _call(self, name: str, *arguments):
        """The result of a driver function; raises InvalidInput[driver] with the driver's own name for the error."""
        try:
            status, *results = getattr(self._cuda, name)(*arguments)
        except (ImportError, OSError, RuntimeError) as error:
            remedy = "install an NVIDIA driver, or run on a machine that has one"
            raise InvalidInput("driver-missing", f"no CUDA driver can be loaded: {error}", remedy=remedy) from None
        if int(status):
            raise InvalidInput("driver", f"{name} failed: {getattr(status, 'name', status)}")
        return results[0] if results else None


def _member(enumeration, group: str, name: str):
    return getattr(enumeration, f"CU_TENSOR_MAP_{group}_{name}")


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a contiguous array."""
    strides = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return tuple(strides)


def stream_handle(stream: object) -> int:
    """The driver's handle of a stream: None (the default stream), a handle, or any library's stream object."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    message = f"a {type(stream).__name__} is no stream"
    raise InvalidInput("launch-stream", message, remedy="pass a stream of cuda.core, torch or CuPy, or its handle")


def _import(name: str):
    try:
        return import_module(name)
    except ImportError as error:
        remedy = "pip install 'tileiras-build[runtime]'"
        raise InvalidInput("cuda-python-missing", f"cuda-python cannot be imported: {error}", remedy=remedy) from None
